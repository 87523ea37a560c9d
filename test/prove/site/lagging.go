package site

import (
	"context"
	"errors"
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

// StartSecondAPIServer starts an API server that can lag, if there is none, and returns when it is healthy. StopSecondAPIServer ends it.
func (s *Site) StartSecondAPIServer(ctx context.Context) (err error) {
	if s.second != nil {
		return nil
	}
	s.second = &lagging{}
	defer func() {
		if err != nil {
			s.StopSecondAPIServer()
		}
	}()
	args, err := s.secondArgs()
	if err != nil {
		return err
	}
	s.second.server = &program{
		name: secondAPIServer, dir: s.bin, file: "sandbox", args: args,
		log: filepath.Join(filepath.Dir(s.Log(controlplane.APIServer)), secondAPIServer+".log"),
	}
	s.second.server.begin()
	return s.awaitSecond(ctx)
}

// secondArgs starts the proxy of etcd, and returns the arguments of the first API server but for a port and that proxy.
func (s *Site) secondArgs() (changed []string, err error) {
	args, err := s.recordedArgs(controlplane.APIServer)
	if err != nil {
		return nil, err
	}
	etcd, err := s.EtcdConfig()
	if err != nil {
		return nil, err
	}
	if s.second.etcd, err = startEtcdProxy(etcd.Endpoints[0], etcd.TLS); err != nil {
		return nil, err
	}
	certificate := filepath.Join(s.Dir, "state", "etcd-proxy.crt")
	if err := s.second.etcd.writeCertificate(certificate); err != nil {
		return nil, err
	}
	port, err := controlplane.FreePort()
	if err != nil {
		return nil, err
	}
	s.second.url = &url.URL{Scheme: "https", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	for _, arg := range args {
		switch name, _, _ := strings.Cut(arg, "="); name {
		case "--secure-port":
			arg = name + "=" + strconv.Itoa(port)
		case "--etcd-servers":
			arg = name + "=" + s.second.etcd.server.URL
		case "--etcd-cafile":
			arg = name + "=" + certificate
		}
		changed = append(changed, arg)
	}
	return changed, nil
}

func (s *Site) awaitSecond(ctx context.Context) error {
	administrator, err := rest.HTTPClientFor(s.Config())
	if err != nil {
		return fmt.Errorf("make client of the second API server: %w", err)
	}
	ready := s.second.url.JoinPath("readyz").String()
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

// retryHealth is how often an API server that starts is asked whether it is ready.
const retryHealth = 200 * time.Millisecond

// StopSecondAPIServer points all instances at the first API server and ends the second.
func (s *Site) StopSecondAPIServer() {
	if s.second == nil {
		return
	}
	for instance := range s.trips {
		s.Return(instance)
	}
	if s.second.server != nil {
		s.second.server.end()
	}
	if s.second.etcd != nil {
		s.second.etcd.close()
	}
	s.second = nil
}

// ServeStale sends an instance of ours back in time: its watches break, and the second API server serves it, whose watches lag this
// much from now on.
func (s *Site) ServeStale(instance string, lag time.Duration) error {
	if s.second == nil {
		return errors.New("travel: there is no second API server")
	}
	if _, already := s.trips[instance]; !already {
		s.trips[instance] = Trip{Began: time.Now(), Lag: lag}
	}
	s.second.etcd.setLag(lag)
	s.proxy.route(instance, s.second.url)
	return nil
}

// Return ends the trip of an instance, and returns what it was. Its Lag is zero if there was none.
func (s *Site) Return(instance string) Trip {
	trip := s.trips[instance]
	delete(s.trips, instance)
	s.proxy.route(instance, nil)
	return trip
}

// Travelling are the instances that are served by the second API server.
func (s *Site) Travelling() []string {
	var names []string
	for name := range s.trips {
		names = append(names, name)
	}
	return names
}
