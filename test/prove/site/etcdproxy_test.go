package site

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOnlyWatchesOfEtcdAreLate(t *testing.T) {
	etcd := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, 2, r.ProtoMajor, "gRPC needs it")
		_, _ = w.Write([]byte("line\n"))
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	}))
	etcd.EnableHTTP2 = true
	etcd.StartTLS()
	t.Cleanup(etcd.Close)
	roots := x509.NewCertPool()
	roots.AddCert(etcd.Certificate())
	p, err := startEtcdProxy(etcd.URL, &tls.Config{RootCAs: roots})
	require.NoError(t, err)
	t.Cleanup(p.close)
	call := func(method string) time.Duration {
		began := time.Now()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.server.URL+method, http.NoBody)
		require.NoError(t, err)
		response, err := p.server.Client().Do(request)
		require.NoError(t, err)
		lines := bufio.NewScanner(response.Body)
		require.True(t, lines.Scan())
		assert.Equal(t, "line", lines.Text())
		took := time.Since(began)
		assert.False(t, lines.Scan())
		assert.Equal(t, "0", response.Trailer.Get("Grpc-Status"))
		require.NoError(t, response.Body.Close())
		return took
	}
	p.setLag(time.Hour)
	call("/etcdserverpb.KV/Range")
	const late = 300 * time.Millisecond
	p.setLag(late)
	assert.GreaterOrEqual(t, call(etcdWatch), late)
}
