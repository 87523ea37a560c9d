// Package outage makes a program outlast an API server that cannot be reached: it waits for one at its start, and continues
// within seconds when one returns.
package outage

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// tryAgain is how long to wait before the next attempt to reach an API server. Reflectors, left to themselves, wait for up to a
// minute.
var tryAgain = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 6, Cap: 2 * time.Second}

// sayAgain is how long Await waits with the same words in the log.
const sayAgain = time.Minute

// Await asks until an answer comes, or the context ends. It logs the first failure, and then one a minute.
func Await(ctx context.Context, host string, ask func(context.Context) error) error {
	logger := klog.FromContext(ctx)
	begin, said := time.Now(), time.Time{}
	err := tryAgain.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err := ask(ctx)
		if err != nil && ctx.Err() == nil && time.Since(said) >= sayAgain {
			logger.Error(err, "Waiting for the API server", "apiServer", host)
			said = time.Now()
		}
		return err == nil, nil
	})
	if err == nil && !said.IsZero() {
		logger.Info("The API server answers", "apiServer", host, "waited", time.Since(begin).Round(time.Millisecond))
	}
	return err
}

// Outage is what the clients of a process know about the reach of their API server.
type Outage struct {
	logger klog.Logger

	lock  sync.Mutex
	since time.Time     // when the outage began; zero if there is none
	over  chan struct{} // closed when the outage ends
}

// New returns an Outage, which reports the beginning and the end of each outage to the logger.
func New(logger klog.Logger) *Outage { return &Outage{logger: logger} }

// Wrap makes clients of the config hold back their reads while the API server cannot be reached. To a reflector a long outage
// then looks like one slow request: it does not back off for longer and longer, and continues as soon as the API server returns.
func (o *Outage) Wrap(config *rest.Config) { config.Wrap(o.transport) }

// WrapClient does the same for an HTTP client that nobody uses yet.
func (o *Outage) WrapClient(client *http.Client) { client.Transport = o.transport(client.Transport) }

func (o *Outage) transport(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{outage: o, next: next}
}

type transport struct {
	outage *Outage
	next   http.RoundTripper
}

// leases is the group whose reads are never held back. A leader that cannot renew its Lease tries to give it back before it ends, and
// that begins with a read: it would end when the next one leads already. A proxy of several API servers puts a prefix before it.
const leases = "/apis/coordination.k8s.io/"

// RoundTrip holds a read back until the API server can be reached, or the context of the request ends. A write fails at once, as
// without an Outage: what it was based on may have changed by then.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet && !strings.Contains(request.URL.Path, leases) {
		return t.read(request)
	}
	// As little as possible on the stack: each binding has a goroutine of its own, whose stack would be copied once more.
	response, err := t.next.RoundTrip(request)
	if err == nil {
		t.outage.end()
	}
	return response, err
}

func (t *transport) read(request *http.Request) (*http.Response, error) {
	ctx, delay := request.Context(), tryAgain.DelayFunc()
	for {
		var handshake handshake
		response, err := t.next.RoundTrip(request.WithContext(handshake.traced(ctx)))
		if err == nil {
			t.outage.end()
			return response, nil
		}
		if ctx.Err() != nil || !(isDial(err) || handshake.broke.Load()) {
			return nil, err
		}
		timer := time.NewTimer(delay())
		select {
		case <-timer.C:
		case <-t.outage.begin(err):
		case <-ctx.Done():
			timer.Stop()
			return nil, err
		}
		timer.Stop()
	}
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// isDial reports whether a request failed because there was no connection to send it on.
func isDial(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && operation.Op == "dial"
}

// handshake is that of the connection which is made for a request, if one is. A load balancer without an API server behind it accepts
// connections, and closes them.
type handshake struct {
	broke atomic.Bool // it ended without a word: that one side does not trust the other is no outage
}

func (h *handshake) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
		var operation *net.OpError
		isReset := errors.As(err, &operation) && operation.Op != "remote error" && operation.Op != "local error"
		h.broke.Store(errors.Is(err, io.EOF) || isReset)
	}})
}

// begin returns what is closed at the end of the outage that err is a sign of.
func (o *Outage) begin(err error) <-chan struct{} {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.since.IsZero() {
		o.since, o.over = time.Now(), make(chan struct{})
		o.logger.Error(err, "Cannot reach the API server; waiting for it")
	}
	return o.over
}

func (o *Outage) end() {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.since.IsZero() {
		return
	}
	o.logger.Info("The API server can be reached again", "unreachableFor", time.Since(o.since).Round(time.Millisecond))
	o.since = time.Time{}
	close(o.over)
}
