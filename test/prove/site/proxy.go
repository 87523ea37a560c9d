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
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// proxy stands between our programs and the API server.
type proxy struct {
	server    *httptest.Server
	transport *http.Transport

	mu      sync.Mutex
	delays  map[string]time.Duration
	refusal int
	watches map[*lateBody]watch // those that are open
	routes  map[string]*url.URL // of instances that another API server serves
	writes  map[Write]bool      // that were made
	ambush  *ambush
	kill    func(instance string)
}

// watch is whose it is and what of.
type watch struct{ instance, resource string }

// instanceKey is of the instance in the context of its requests.
type instanceKey struct{}

func instanceOf(r *http.Request) string {
	instance, _ := r.Context().Value(instanceKey{}).(string)
	return instance
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
	p := &proxy{delays: map[string]time.Duration{}, watches: map[*lateBody]watch{}, routes: map[string]*url.URL{}, writes: map[Write]bool{}, kill: kill}
	p.transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 100}
	forward := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(p.targetOf(instanceOf(r.In), target)) },
		Transport:      p.transport,
		FlushInterval:  -1, // watches are streams
		ModifyResponse: p.slowDown,
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:       log.New(io.Discard, "", 0), // streams that break are what we want
	}
	// Over TLS: clients send no token otherwise.
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		instance, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		r.URL.Path, r.URL.RawPath = "/"+path, ""
		r = r.WithContext(context.WithValue(r.Context(), instanceKey{}, instance))
		if code := p.refusalOf(r); code != 0 {
			refuse(w, code)
			return
		}
		springs, after := p.spring(r)
		if !springs {
			forward.ServeHTTP(w, r)
			return
		}
		if after {
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

// allow ends delays, refusals and ambushes.
func (p *proxy) allow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.delays)
	p.refusal, p.ambush = 0, nil
}

// cut breaks the open watches of a resource.
func (p *proxy) cut(resource string) {
	p.cutIf(func(w watch) bool { return w.resource == resource })
}

func (p *proxy) cutIf(chosen func(watch) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for body, of := range p.watches {
		if chosen(of) {
			body.cut()
		}
	}
}

// route makes another API server serve an instance from now on, or the first one again if it is nil. The watches of the instance
// break.
func (p *proxy) route(instance string, to *url.URL) {
	p.mu.Lock()
	if to == nil {
		delete(p.routes, instance)
	} else {
		p.routes[instance] = to
	}
	p.mu.Unlock()
	p.cutIf(func(w watch) bool { return w.instance == instance })
}

func (p *proxy) targetOf(instance string, first *url.URL) *url.URL {
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.routes[instance]; other != nil {
		return other
	}
	return first
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
	of := watch{instance: instanceOf(response.Request), resource: resourceOf(response.Request.URL.Path)}
	var body *lateBody
	body = newLateBody(response.Body, func() time.Duration { return p.delayOf(of.resource) }, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watches, body)
	})
	p.mu.Lock()
	p.watches[body] = of
	p.mu.Unlock()
	response.Body = body
	return nil
}

// resourceOf is the resource of a collection, which is what is watched.
func resourceOf(path string) string {
	return path[strings.LastIndex(path, "/")+1:]
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

// argsBehind are the arguments of one instance: with ports of its own, and the proxy in place of the API server.
func (p *proxy) argsBehind(instance string, args []string) (changed []string, url string, err error) {
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		port, err := controlplane.FreePort()
		if err != nil {
			return nil, "", err
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		switch name {
		case "--secure-port":
			value, url = strconv.Itoa(port), "https://"+address
		case "--metrics-bind-address":
			value, url = address, "https://"+address
		case "--health-probe-bind-address":
			value = address
		case "--kubeconfig":
			value, err = p.kubeconfig(value, instance)
		case "--config":
			value, err = p.schedulerConfig(value, instance)
		}
		if err != nil {
			return nil, "", err
		}
		changed = append(changed, name+"="+value)
	}
	return changed, url, nil
}

// schedulerConfig writes a copy of a scheduler's configuration whose kubeconfig names the proxy.
func (p *proxy) schedulerConfig(path, instance string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read scheduler configuration: %w", err)
	}
	original := filepath.Join(filepath.Dir(path), "podsequence-scheduler.kubeconfig")
	behind, err := p.kubeconfig(original, instance)
	if err != nil {
		return "", err
	}
	path = filepath.Join(filepath.Dir(path), instance+".yaml")
	changed := strings.ReplaceAll(string(content), original, behind)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		return "", fmt.Errorf("write scheduler configuration: %w", err)
	}
	return path, nil
}

// setAmbush ends the ambush that there is, and lays another one unless it is nil. It returns how often the old one killed.
func (p *proxy) setAmbush(next *Ambush) (killed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ambush != nil {
		killed = p.ambush.killed
	}
	p.ambush = nil
	if next != nil {
		p.ambush = &ambush{Ambush: *next}
	}
	return killed
}

// spring notes what is written, and reports whether the request runs into the ambush.
func (p *proxy) spring(r *http.Request) (springs, after bool) {
	if r.Method == http.MethodGet {
		return false, false
	}
	program := instanceOf(r)
	if number := strings.LastIndex(program, "-"); number >= 0 {
		program = program[:number]
	}
	made := Write{Program: program, Method: r.Method, Resource: written(r.URL.Path)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes[made] = true
	if p.ambush == nil || !p.ambush.springs(made, r.URL.Path) {
		return false, false
	}
	return true, p.ambush.After
}

// made are the kinds of writes that were made.
func (p *proxy) made() []Write {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Keys(p.writes), func(a, b Write) int {
		return strings.Compare(a.Program+a.Resource+a.Method, b.Program+b.Resource+b.Method)
	})
}
