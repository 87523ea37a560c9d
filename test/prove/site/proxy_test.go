package site

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// upstream is an API server that has a line for each watcher whenever the test says so.
func upstream(t *testing.T) (p *proxy, lines chan string) {
	t.Helper()
	lines = make(chan string)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	}})
	require.NoError(t, err)
	t.Cleanup(p.close)
	return p, lines
}

func ask(t *testing.T, p *proxy, path string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, p.server.URL+path, nil)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := client.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() {
		client.CloseIdleConnections()
		_ = response.Body.Close()
	})
	return response
}

func TestAWatchIsAsLateAsItsResourceAsksFor(t *testing.T) {
	p, lines := upstream(t)
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
	p, lines := upstream(t)
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
	p, _ := upstream(t)
	p.setRefusal(http.StatusForbidden)
	assert.Equal(t, http.StatusForbidden, ask(t, p, "/api/v1/pods").StatusCode)
	assert.Equal(t, http.StatusOK, ask(t, p, "/apis/coordination.k8s.io/v1/namespaces/x/leases/y").StatusCode)
	p.allow()
	assert.Equal(t, http.StatusOK, ask(t, p, "/api/v1/pods").StatusCode)
}
