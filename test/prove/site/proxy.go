package site

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// proxy stands between our programs and the API server.
type proxy struct {
	server *httptest.Server

	mu      sync.Mutex
	delays  map[string]time.Duration
	refusal int
	watches map[*lateBody]string // those that are open, with their resources
	ambush  *ambush
	kill    func(instance string)
}

// ambush waits for a write, to kill the instance that makes it.
type ambush struct {
	after    bool   // the API server has done what it asks for
	method   string // of HTTP
	resource string // with its subresource, such as pods/binding
}

// startProxy starts a proxy that kills instances as it is told here. Each instance has a path of its own.
func startProxy(config *rest.Config, kill func(instance string)) (*proxy, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("read address of the API server: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(config.CAData) {
		return nil, errors.New("read certificates of the API server: there are none")
	}
	p := &proxy{delays: map[string]time.Duration{}, watches: map[*lateBody]string{}, kill: kill}
	forward := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 100},
		FlushInterval:  -1, // watches are streams
		ModifyResponse: p.slowDown,
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:       log.New(io.Discard, "", 0), // streams that break are what we want
	}
	// Over TLS: clients send no token otherwise.
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		instance, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		r.URL.Path, r.URL.RawPath = "/"+path, ""
		if code := p.refusalOf(r); code != 0 {
			refuse(w, code)
			return
		}
		a := p.spring(r)
		if a == nil {
			forward.ServeHTTP(w, r)
			return
		}
		if a.after {
			forward.ServeHTTP(httptest.NewRecorder(), r)
		}
		p.kill(instance)
		panic(http.ErrAbortHandler) // nobody gets an answer
	}))
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.server.StartTLS()
	return p, nil
}

func (p *proxy) close() {
	p.allow()
	p.server.CloseClientConnections()
	p.server.Close()
}

func (p *proxy) setDelay(resource string, by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delays[resource] = by
}

func (p *proxy) delayOf(resource string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delays[resource]
}

func (p *proxy) setRefusal(code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusal = code
}

// setAmbush has the instance killed that is the next to make such a write.
func (p *proxy) setAmbush(a *ambush) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ambush = a
}

// spring returns the ambush that a request runs into, and ends it.
func (p *proxy) spring(r *http.Request) *ambush {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.ambush
	if a == nil || r.Method != a.method || written(r.URL.Path) != a.resource {
		return nil
	}
	p.ambush = nil
	return a
}

// allow ends delays, refusals and ambushes.
func (p *proxy) allow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.delays)
	p.refusal, p.ambush = 0, nil
}

// cut breaks the open watches of a resource.
func (p *proxy) cut(resource string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for body, of := range p.watches {
		if of == resource {
			body.cut()
		}
	}
}

func (p *proxy) refusalOf(r *http.Request) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.Contains(r.URL.Path, "/leases") {
		return 0
	}
	return p.refusal
}

// refuse answers as the API server does.
func refuse(w http.ResponseWriter, code int) {
	reasons := map[int]metav1.StatusReason{
		http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusConflict: metav1.StatusReasonConflict,
		http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusInternalServerError: metav1.StatusReasonInternalError,
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{ // whoever asked may be gone
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reasons[code], Message: "refused by the plan",
	})
}

// slowDown replaces what a watch brings by the same, later.
func (p *proxy) slowDown(response *http.Response) error {
	if response.StatusCode != http.StatusOK || !response.Request.URL.Query().Has("watch") {
		return nil
	}
	resource := resourceOf(response.Request.URL.Path)
	body := newLateBody(response.Body, func() time.Duration { return p.delayOf(resource) })
	p.mu.Lock()
	p.watches[body] = resource
	p.mu.Unlock()
	body.closed = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watches, body)
	}
	response.Body = body
	return nil
}

// resourceOf is the resource of a collection, which is what is watched.
func resourceOf(path string) string {
	return path[strings.LastIndex(path, "/")+1:]
}

// written is the resource of an object, with its subresource: that of /api/v1/namespaces/shop/pods/db/status is pods/status.
func written(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	const core, group = 2, 3 // what comes before: api/VERSION, or apis/GROUP/VERSION
	skip := core
	if parts[0] == "apis" {
		skip = group
	}
	if len(parts) <= skip {
		return ""
	}
	parts = parts[skip:]
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	const subresource = 2 // behind the resource and the name
	if len(parts) > subresource {
		return parts[0] + "/" + parts[subresource]
	}
	return parts[0]
}

// kubeconfig writes a copy that names the proxy as the server.
func (p *proxy) kubeconfig(original, instance string) (string, error) {
	config, err := clientcmd.LoadFromFile(original)
	if err != nil {
		return "", fmt.Errorf("read kubeconfig: %w", err)
	}
	for _, c := range config.Clusters {
		c.Server, c.CertificateAuthority = p.server.URL+"/"+instance, ""
		c.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	}
	path := filepath.Join(filepath.Dir(original), instance+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("write kubeconfig: %w", err)
	}
	return path, nil
}

// lateBody delivers what another brings, in the same order, as late as its delay says at that time.
type lateBody struct {
	source io.ReadCloser
	delay  func() time.Duration
	closed func()

	chunks chan chunk
	rest   []byte
	err    error           // comes after the rest
	ctx    context.Context // of the watch
	stop   context.CancelFunc
	once   sync.Once
}

type chunk struct {
	bytes   []byte
	arrived time.Time
	err     error
}

func newLateBody(source io.ReadCloser, delay func() time.Duration) *lateBody {
	b := &lateBody{source: source, delay: delay, chunks: make(chan chunk, 1024)}
	b.ctx, b.stop = context.WithCancel(context.Background())
	go b.fetch()
	return b
}

// fetch reads the source, so that it is known when everything arrived.
func (b *lateBody) fetch() {
	for {
		buffer := make([]byte, 32<<10)
		n, err := b.source.Read(buffer)
		select {
		case b.chunks <- chunk{bytes: buffer[:n], arrived: time.Now(), err: err}:
		case <-b.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// Read implements io.Reader.
func (b *lateBody) Read(into []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.rest, b.err = b.next()
	}
	n := copy(into, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *lateBody) next() ([]byte, error) {
	select {
	case c := <-b.chunks:
		select {
		case <-time.After(time.Until(c.arrived.Add(b.delay()))):
		case <-b.ctx.Done():
			return nil, io.ErrUnexpectedEOF
		}
		return c.bytes, c.err
	case <-b.ctx.Done():
		return nil, io.ErrUnexpectedEOF
	}
}

// cut breaks the stream: what was not delivered is lost.
func (b *lateBody) cut() { b.stop() }

// Close implements io.Closer.
func (b *lateBody) Close() error {
	b.stop()
	b.once.Do(b.closed)
	return b.source.Close()
}
