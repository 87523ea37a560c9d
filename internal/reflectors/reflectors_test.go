package reflectors

import (
	"context"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

func TestEachFailureIsReportedAndTriedAgain(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	list := func(context.Context, metav1.ListOptions) (runtime.Object, error) { return &corev1.PodList{}, nil }
	noList := func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, refused }
	noWatch := func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, refused }
	for name, tc := range map[string]struct {
		list                      cache.ListWithContextFunc
		maxDelay                  time.Duration
		failsAtLeast, failsAtMost int // in ten minutes
	}{
		"with the usual pauses":                   {noList, 0, 20, 80},
		"with short pauses":                       {noList, 5 * time.Second, 100, 400},
		"where the watch alone is refused":        {list, 0, 20, 80},
		"where it alone is refused, short pauses": {list, 5 * time.Second, 100, 400},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failures := 0
				source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{ListWithContextFunc: tc.list, WatchFuncWithContext: noWatch}, oldServer{})
				r := Reflector{
					Name: "pods", Type: &corev1.Pod{}, MaxDelay: tc.maxDelay, Source: source,
					Failed: func(_ context.Context, err error) {
						assert.ErrorIs(t, err, syscall.ECONNREFUSED)
						failures++
					},
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				r.Run(ctx, cache.NewStore(cache.MetaNamespaceKeyFunc))
				assert.Equal(t, context.DeadlineExceeded, ctx.Err(), "it goes on until the context ends")
				assert.GreaterOrEqual(t, failures, tc.failsAtLeast)
				assert.LessOrEqual(t, failures, tc.failsAtMost)
			})
		})
	}
}

// oldServer does not stream lists.
type oldServer struct{}

func (oldServer) IsWatchListSemanticsUnSupported() bool { return true }
