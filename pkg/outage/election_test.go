package outage

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// leaseServer is an API server that has one Lease.
type leaseServer struct {
	lock    sync.Mutex
	lease   []byte
	renewed time.Time
}

func (s *leaseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	defer s.lock.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodGet {
		s.lease, _ = io.ReadAll(r.Body)
		s.renewed = time.Now()
	}
	if s.lease == nil {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		return
	}
	_, _ = w.Write(s.lease)
}

// With the times of the programs, a fifth as long.
func TestALeaderThatCannotReachTheAPIServerEndsBeforeItsLease(t *testing.T) {
	const leaseDuration, renewDeadline, retryPeriod = 3 * time.Second, 2 * time.Second, 400 * time.Millisecond
	api := &leaseServer{}
	server := httptest.NewServer(api)
	config := &rest.Config{Host: server.URL, Timeout: renewDeadline / 2}
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
	server.CloseClientConnections()
	server.Close()
	assert.Less(t, (<-ended).Sub(api.renewed), leaseDuration)
}
