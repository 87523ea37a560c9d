package outage

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
)

// Before an API server there often is a load balancer. It accepts connections while no API server does, and closes or resets them.
func TestALoadBalancerWithoutAnAPIServerIsAnOutage(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	for name, end := range map[string]func(*net.TCPConn){
		"closes": func(c *net.TCPConn) { _ = c.CloseWrite() },
		"resets": func(c *net.TCPConn) { _ = c.SetLinger(0) },
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer func() { _ = listener.Close() }()
			address := listener.Addr().String()
			attempts := make(chan struct{}, 100)
			go func() {
				for {
					connection, err := listener.Accept()
					if err != nil {
						return
					}
					attempts <- struct{}{}
					end(connection.(*net.TCPConn))
					_ = connection.Close()
				}
			}()
			answered := make(chan error, 1)
			go func() { answered <- get(t.Context(), server, "https://"+address) }()
			<-attempts
			<-attempts
			assert.Empty(t, answered)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			assert.Error(t, get(ctx, server, "https://"+address), "it waits no longer than its context")
		})
	}
}

// Waiting does not mend this.
func TestAnAPIServerThatIsNotTrustedIsNoOutage(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	_, err = New(klog.Background()).transport(&http.Transport{}).RoundTrip(request)
	var untrusted *tls.CertificateVerificationError
	assert.ErrorAs(t, err, &untrusted)

	asking := httptest.NewUnstartedServer(http.NotFoundHandler())
	asking.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}
	asking.StartTLS()
	defer asking.Close()
	assert.ErrorContains(t, get(t.Context(), asking, asking.URL), "remote error: tls")
}

func get(ctx context.Context, trusted *httptest.Server, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := New(klog.Background()).transport(trusted.Client().Transport).RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}
