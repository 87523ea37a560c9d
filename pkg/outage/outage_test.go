package outage

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

// network is where an API server is, or is not.
type network struct {
	err      error // nil while the API server answers
	attempts atomic.Int32
	lock     sync.Mutex
}

func (n *network) set(err error) {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.err = err
}

func (n *network) RoundTrip(*http.Request) (*http.Response, error) {
	n.attempts.Add(1)
	n.lock.Lock()
	defer n.lock.Unlock()
	if n.err != nil {
		return nil, n.err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// site is a client of an API server, and its log.
type site struct {
	network *network
	client  http.RoundTripper
	log     *bytes.Buffer
}

func newSite(err error) *site {
	s := &site{network: &network{err: err}, log: &bytes.Buffer{}}
	s.client = New(s.logger()).transport(s.network)
	return s
}

func (s *site) logger() klog.Logger {
	return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(s.log)))
}

func (s *site) request(ctx context.Context, method string) error {
	request, err := http.NewRequestWithContext(ctx, method, "https://api.example.com/api", nil)
	if err != nil {
		return err
	}
	response, err := s.client.RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

func TestReadsWaitForTheEndOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(errRefused)
		const outage = 10 * time.Minute
		began := time.Now()
		answered := make(chan time.Duration, 20)
		for range cap(answered) {
			go func() {
				assert.NoError(t, s.request(t.Context(), http.MethodGet))
				answered <- time.Since(began)
			}()
		}
		time.Sleep(outage)
		assert.Empty(t, answered)
		perSecond := float64(s.network.attempts.Load()) / outage.Seconds() / float64(cap(answered))
		assert.Less(t, perSecond, 1.0, "attempts of each request")
		s.network.set(nil)
		for range cap(answered) {
			assert.Less(t, <-answered, outage+3*time.Second)
		}
		assert.Equal(t, 1, strings.Count(s.log.String(), "Cannot reach the API server"), s.log)
		assert.Equal(t, 1, strings.Count(s.log.String(), "can be reached again"), s.log)

		s.network.set(errRefused) // and again
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, s.request(ctx, http.MethodGet), errRefused)
		assert.Equal(t, 2, strings.Count(s.log.String(), "Cannot reach the API server"), s.log)
	})
}

func TestWhatDoesNotWait(t *testing.T) {
	for name, tc := range map[string]struct {
		method string
		err    error
	}{
		"a write, which would be based on what was true before": {http.MethodPatch, errRefused},
		"a request that the API server may have got":            {http.MethodGet, &net.OpError{Op: "read", Err: errors.New("connection reset")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(tc.err)
			assert.ErrorIs(t, s.request(t.Context(), tc.method), tc.err)
			assert.EqualValues(t, 1, s.network.attempts.Load())
		})
	}
}

func TestAReadWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(errRefused)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		assert.ErrorIs(t, s.request(ctx, http.MethodGet), errRefused)
		assert.Equal(t, 5*time.Second, time.Since(began))
	})
}

func TestAwaitSaysOnceAMinuteWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(nil)
		ctx := klog.NewContext(t.Context(), s.logger())
		began := time.Now()
		ask := func(context.Context) error {
			if time.Since(began) < 150*time.Second {
				return errRefused
			}
			return nil
		}
		require.NoError(t, Await(ctx, "api.example.com", ask))
		assert.Less(t, time.Since(began), 153*time.Second)
		assert.Equal(t, 3, strings.Count(s.log.String(), "Waiting for the API server"), s.log)
		assert.Equal(t, 1, strings.Count(s.log.String(), "The API server answers"), s.log)

		s.log.Reset()
		require.NoError(t, Await(ctx, "api.example.com", func(context.Context) error { return nil }))
		assert.Empty(t, s.log.String(), "it did not have to wait")

		ended, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		assert.Error(t, Await(ended, "api.example.com", func(context.Context) error { return errRefused }))
	})
}

func TestClientsAreWrapped(t *testing.T) {
	config := &rest.Config{Host: "https://api.example.com"}
	o := New(klog.Background())
	o.Wrap(config)
	made, err := rest.TransportFor(config)
	require.NoError(t, err)
	assert.IsType(t, &transport{}, made)

	client := &http.Client{Transport: http.DefaultTransport}
	o.WrapClient(client)
	require.IsType(t, &transport{}, client.Transport)
	assert.Equal(t, http.DefaultTransport, client.Transport.(*transport).WrappedRoundTripper())
}
