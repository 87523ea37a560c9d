package site

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// upstream is an API server that writes a line to each watcher whenever the test says so.
func upstream(t *testing.T) (p *proxy, lines, killed chan string) {
	t.Helper()
	lines, killed = make(chan string), make(chan string, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			lines <- r.URL.Path
		}
		w.WriteHeader(http.StatusOK)
		for r.URL.Query().Has("watch") {
			_ = http.NewResponseController(w).Flush()
			select {
			case line := <-lines:
				_, _ = w.Write([]byte(line + "\n"))
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	p, err := startProxy(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}}, func(instance string) { killed <- instance })
	require.NoError(t, err)
	t.Cleanup(p.close)
	return p, lines, killed
}

// ask is an instance of a program that asks for something.
func ask(t *testing.T, p *proxy, path string) *http.Response {
	t.Helper()
	response, err := request(t, p, http.MethodGet, path)
	require.NoError(t, err)
	return response
}

func request(t *testing.T, p *proxy, method, path string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, p.server.URL+"/instance-1"+path, nil)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	t.Cleanup(client.CloseIdleConnections)
	response, err := client.Do(request)
	if err == nil {
		t.Cleanup(func() { _ = response.Body.Close() })
	}
	return response, err
}

func TestAWatchIsAsLateAsItsResourceAsksFor(t *testing.T) {
	p, lines, _ := upstream(t)
	const late = 300 * time.Millisecond
	p.setDelay("pods", late)
	pods := bufio.NewScanner(ask(t, p, "/api/v1/pods?watch=1").Body)
	for _, line := range []string{"one", "two"} {
		began := time.Now()
		lines <- line
		require.True(t, pods.Scan())
		assert.Equal(t, line, pods.Text())
		assert.GreaterOrEqual(t, time.Since(began), late)
	}
	p.allow()
	lines <- "three"
	require.True(t, pods.Scan())
	assert.Equal(t, "three", pods.Text())
}

func TestAWatchBreaksAndAnotherDoesNot(t *testing.T) {
	p, lines, _ := upstream(t)
	pods := bufio.NewScanner(ask(t, p, "/api/v1/pods?watch=1").Body)
	lines <- "pod"
	require.True(t, pods.Scan())
	p.cut("pods")
	assert.False(t, pods.Scan())

	nodes := bufio.NewScanner(ask(t, p, "/api/v1/nodes?watch=1").Body)
	p.cut("pods")
	// The broken watch may still be there, and take a line to nowhere.
	written := make(chan struct{})
	go func() {
		defer close(written)
		for range 2 {
			select {
			case lines <- "node":
			case <-t.Context().Done():
			}
		}
	}()
	require.True(t, nodes.Scan())
	assert.Equal(t, "node", nodes.Text())
}

func TestRequestsAreRefusedButForLeases(t *testing.T) {
	p, _, _ := upstream(t)
	p.setRefusal(http.StatusForbidden)
	assert.Equal(t, http.StatusForbidden, ask(t, p, "/api/v1/pods").StatusCode)
	assert.Equal(t, http.StatusOK, ask(t, p, "/apis/coordination.k8s.io/v1/namespaces/x/leases/y").StatusCode)
	p.allow()
	assert.Equal(t, http.StatusOK, ask(t, p, "/api/v1/pods").StatusCode)
}

func TestAnInstanceIsKilledAroundOneWrite(t *testing.T) {
	p, lines, killed := upstream(t)
	const path = "/api/v1/namespaces/shop/pods/db/binding"
	for sentence, after := range map[string]bool{"before": false, "after": true} {
		t.Run(sentence, func(t *testing.T) {
			p.setAmbush(&Ambush{Write: Write{Method: http.MethodPost, Resource: "pods/binding"}, After: after, Times: 1})
			assert.Equal(t, http.StatusOK, ask(t, p, "/api/v1/pods").StatusCode)
			forwarded := make(chan string, 1)
			go func() { forwarded <- <-lines }()
			_, err := request(t, p, http.MethodPost, path)
			assert.Error(t, err, "it got an answer")
			assert.Equal(t, "instance-1", <-killed)
			if !after {
				_, err := request(t, p, http.MethodPost, path+"-again") // the ambush is over
				assert.NoError(t, err)
			}
			want := path
			if !after {
				want += "-again"
			}
			assert.Equal(t, want, <-forwarded)
		})
	}
}

func TestWhatIsWritten(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/shop/pods/db":                                             "pods",
		"/api/v1/namespaces/shop/pods/db/binding":                                     "pods/binding",
		"/apis/scheduling.example.com/v1alpha1/namespaces/shop/podsequences/s/status": "podsequences/status",
		"/apis/scheduling.example.com/v1alpha1/clusterpodsequences/s/status":          "clusterpodsequences/status",
		"/apis/events.k8s.io/v1/namespaces/shop/events":                               "events",
		"/api/v1/namespaces/shop":                                                     "namespaces",
		"/version":                                                                    "",
	} {
		assert.Equal(t, want, written(path), path)
	}
}

func TestAnInstanceIsServedByAnotherAPIServer(t *testing.T) {
	p, lines, _ := upstream(t)
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(other.Close)
	p.transport.TLSClientConfig.RootCAs.AddCert(other.Certificate())
	to, err := url.Parse(other.URL)
	require.NoError(t, err)
	pods := bufio.NewScanner(ask(t, p, "/api/v1/pods?watch=1").Body)
	lines <- "pod"
	require.True(t, pods.Scan())

	p.route("instance-2", to)
	lines <- "pod"
	require.True(t, pods.Scan(), "that of another instance breaks not")
	p.route("instance-1", to)
	assert.False(t, pods.Scan())
	assert.Equal(t, http.StatusTeapot, ask(t, p, "/api/v1/pods").StatusCode)
	p.route("instance-1", nil)
	assert.Equal(t, http.StatusOK, ask(t, p, "/api/v1/pods").StatusCode)
}
