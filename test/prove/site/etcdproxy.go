package site

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
	"time"
)

// etcdWatch is what an API server calls to watch etcd.
const etcdWatch = "/etcdserverpb.Watch/Watch"

// etcdProxy stands between etcd and an API server, and delays the watches of that API server. So the API server lags: its cache is
// of a while ago, and so is what it answers from it. All else is passed on at once.
type etcdProxy struct {
	server *httptest.Server
	lag    atomic.Int64
}

// startEtcdProxy starts a proxy of the etcd at an address, of which it is a client.
func startEtcdProxy(address string, client *tls.Config) (*etcdProxy, error) {
	target, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read address of etcd: %w", err)
	}
	p := &etcdProxy{}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: true}, // as gRPC asks for
		FlushInterval: -1,
		ModifyResponse: func(response *http.Response) error {
			if response.Request.URL.Path == etcdWatch {
				response.Body = newLateBody(response.Body, func() time.Duration { return time.Duration(p.lag.Load()) }, func() {})
			}
			return nil
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	p.server = httptest.NewUnstartedServer(forward)
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.server.StartTLS()
	return p, nil
}

// writeCertificate writes what clients of the proxy trust.
func (p *etcdProxy) writeCertificate(path string) error {
	content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write certificate of the proxy of etcd: %w", err)
	}
	return nil
}

func (p *etcdProxy) setLag(by time.Duration) { p.lag.Store(int64(by)) }

func (p *etcdProxy) close() {
	p.server.CloseClientConnections()
	p.server.Close()
}
