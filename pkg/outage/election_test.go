package outage

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// leaseServer is the way to an API server that has one Lease. Once it is down no connection can be made.
type leaseServer struct {
	network
	lease   []byte
	renewed time.Time
}

func (s *leaseServer) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.network.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if r.Method != http.MethodGet {
		s.lease, _ = io.ReadAll(r.Body)
		s.renewed = time.Now()
	}
	body := s.lease
	if body == nil {
		response.StatusCode = http.StatusNotFound
		body = []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	}
	response.Header = http.Header{"Content-Type": {"application/json"}}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// The times are those of the programs, on the clock of the bubble.
func TestALeaderThatCannotReachTheAPIServerEndsBeforeItsLease(t *testing.T) {
	for name, host := range map[string]string{
		"an API server":                 "https://api.example.com",
		"one behind a proxy of several": "https://clusters.example.com/k8s/clusters/c-1",
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { leadAndLose(t, host) }) })
	}
}

func leadAndLose(t *testing.T, host string) {
	t.Helper()
	const leaseDuration, renewDeadline, retryPeriod = 15 * time.Second, 10 * time.Second, 2 * time.Second
	api := &leaseServer{}
	config := &rest.Config{Host: host, Timeout: renewDeadline / 2, Transport: api}
	config.ContentType = "application/json"
	New(klog.Background()).Wrap(config)
	lease, err := resourcelock.NewFromKubeconfig("leases", "podsequence-system", "podsequence-controller",
		resourcelock.ResourceLockConfig{Identity: "leader"}, config, renewDeadline)
	require.NoError(t, err)
	leads, ended := make(chan struct{}), make(chan time.Time, 1)
	go leaderelection.RunOrDie(t.Context(), leaderelection.LeaderElectionConfig{
		Lock: lease, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(leads) },
			OnStoppedLeading: func() { ended <- time.Now() },
		},
	})
	<-leads
	time.Sleep(2 * retryPeriod)
	api.set(errRefused)
	assert.Less(t, (<-ended).Sub(api.renewed), leaseDuration)
}
