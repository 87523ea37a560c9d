package integration

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
)

// proxy stands between one process and the API server: it keeps a record of what the process writes, and can hold back or
// refuse what it asks for.
type proxy struct {
	*httptest.Server

	mu sync.Mutex
	// meddle, if set, may answer a request in the API server's place, or hold it back; it reports whether it answered.
	meddle func(w http.ResponseWriter, r *http.Request) bool
	writes []string
	asks   []*http.Request
	// identity is the certificate with which the process shows who it is, if it has no token.
	identity tls.Certificate
}

func (e *environment) startProxy(t *testing.T) *proxy {
	t.Helper()
	config := e.Config()
	target, err := url.Parse(config.Host)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(config.CAData))

	p := &proxy{}
	identity := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &p.identity, nil }
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, GetClientCertificate: identity}, MaxIdleConnsPerHost: 100}
	forward.FlushInterval = -1 // watches are streams
	forward.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }

	// Over TLS: clients send no token otherwise.
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		meddle := p.meddle
		p.asks = append(p.asks, r)
		if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/leases") && !strings.Contains(r.URL.Path, "reviews") {
			p.writes = append(p.writes, r.Method+" "+r.URL.Path)
		}
		p.mu.Unlock()
		if meddle == nil || !meddle(w, r) {
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

// set makes the proxy meddle with requests from now on, and breaks all connections, so that watches begin anew.
func (p *proxy) set(meddle func(w http.ResponseWriter, r *http.Request) bool) {
	p.mu.Lock()
	p.meddle = meddle
	p.mu.Unlock()
	p.CloseClientConnections()
}

// written are the writes so far, leases and reviews of access excepted.
func (p *proxy) written() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.writes)
}

// asked counts the requests so far for which this is true.
func (p *proxy) asked(what func(*http.Request) bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	count := 0
	for _, r := range p.asks {
		if what(r) {
			count++
		}
	}
	return count
}

// through makes an instance of a program talk to the API server by way of the proxy.
func (p *proxy) through(t *testing.T) func(args []string) []string {
	t.Helper()
	dir := t.TempDir()
	return func(args []string) []string {
		for i, arg := range args {
			name, path, _ := strings.Cut(arg, "=")
			switch name {
			case "--kubeconfig":
				args[i] = name + "=" + p.kubeconfig(t, dir, path)
			case "--config":
				config, err := os.ReadFile(path)
				require.NoError(t, err)
				original := path[:strings.LastIndex(path, string(filepath.Separator))+1] + "podsequence-scheduler.kubeconfig"
				require.Contains(t, string(config), original)
				changed := strings.ReplaceAll(string(config), original, p.kubeconfig(t, dir, original))
				path = filepath.Join(dir, "scheduler-config.yaml")
				require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
				args[i] = name + "=" + path
			}
		}
		return args
	}
}

// kubeconfig is a copy that names the proxy as the server.
func (p *proxy) kubeconfig(t *testing.T, dir, original string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(original)
	require.NoError(t, err)
	for _, c := range config.Clusters {
		c.Server, c.CertificateAuthority = p.URL, ""
		c.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	}
	for _, user := range config.AuthInfos {
		if len(user.ClientCertificateData) > 0 {
			p.identity, err = tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData)
			require.NoError(t, err)
		}
	}
	path := filepath.Join(dir, filepath.Base(original))
	require.NoError(t, clientcmd.WriteToFile(*config, path))
	return path
}
