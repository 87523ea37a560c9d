package reflectors

import (
	"context"
	"errors"
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
	for name, tc := range map[string]struct {
		maxDelay                  time.Duration
		failsAtLeast, failsAtMost int // in ten minutes
	}{
		"with the usual pauses": {0, 20, 80},
		"with short pauses":     {5 * time.Second, 100, 200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refused := errors.New("refused")
				failures := 0
				r := Reflector{
					Name: "pods", Type: &corev1.Pod{}, MaxDelay: tc.maxDelay,
					Source: &cache.ListWatch{
						ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, refused },
						WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, refused },
					},
					Failed: func(_ context.Context, err error) {
						assert.ErrorIs(t, err, refused)
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
