package site

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// secondAPIServer is the name of the one that lags.
const secondAPIServer = "kube-apiserver-2"

// lagging is a second API server of the same cluster, whose watches of etcd may be late.
type lagging struct {
	etcd   *etcdProxy
	server *program
	url    *url.URL
}

// Trip is a time during which an instance of ours was served by an API server that lagged.
type Trip struct {
	Began time.Time
	Lag   time.Duration
}

// startLagging starts an API server that can lag, and returns when it is healthy.
func startLagging(ctx context.Context, s *Site) (_ *lagging, err error) {
	l := &lagging{}
	defer func() {
		if err != nil {
			l.end()
		}
	}()
	args, err := l.args(s)
	if err != nil {
		return nil, err
	}
	l.server = &program{
		name: secondAPIServer, dir: s.bin, file: "sandbox", args: args,
		log: filepath.Join(filepath.Dir(s.Log(controlplane.APIServer)), secondAPIServer+".log"),
	}
	l.server.begin()
	if err := l.await(ctx, s.Config()); err != nil {
		return nil, err
	}
	return l, nil
}

// args starts the proxy of etcd, and returns the arguments of the first API server but for a port and that proxy.
func (l *lagging) args(s *Site) (changed []string, err error) {
	args, err := recordedArgs(s.Dir, controlplane.APIServer)
	if err != nil {
		return nil, err
	}
	etcd, err := s.EtcdConfig()
	if err != nil {
		return nil, err
	}
	if l.etcd, err = startEtcdProxy(etcd.Endpoints[0], etcd.TLS); err != nil {
		return nil, err
	}
	certificate := filepath.Join(s.Dir, "state", "etcd-proxy.crt")
	if err := l.etcd.writeCertificate(certificate); err != nil {
		return nil, err
	}
	port, err := controlplane.FreePort()
	if err != nil {
		return nil, err
	}
	l.url = &url.URL{Scheme: "https", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	for _, arg := range args {
		switch name, _, _ := strings.Cut(arg, "="); name {
		case "--secure-port":
			arg = name + "=" + strconv.Itoa(port)
		case "--etcd-servers":
			arg = name + "=" + l.etcd.server.URL
		case "--etcd-cafile":
			arg = name + "=" + certificate
		}
		changed = append(changed, arg)
	}
	return changed, nil
}

func (l *lagging) await(ctx context.Context, config *rest.Config) error {
	administrator, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("make client of the second API server: %w", err)
	}
	ready := l.url.JoinPath("readyz").String()
	err = wait.PollUntilContextTimeout(ctx, retryHealth, startTimeout, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, ready, nil)
		if err != nil {
			return false, err
		}
		response, err := administrator.Do(request)
		if err != nil {
			return false, nil // it does not listen yet
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("wait for the second API server: %w", err)
	}
	return nil
}

func (l *lagging) end() {
	if l.server != nil {
		l.server.end()
	}
	if l.etcd != nil {
		l.etcd.close()
	}
}

// retryHealth is how often an API server that starts is asked whether it is ready.
const retryHealth = 200 * time.Millisecond
