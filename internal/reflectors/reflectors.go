// Package reflectors runs the reflectors of client-go so that each failure is reported to who needs what they bring. A
// cache.Reflector that runs by itself only logs it.
//
// Informers report failures as well, but for refused watches, see reported, and since client-go 0.36 they replace their store in one step
// (AtomicFIFO). What they still lack (0.37):
//
//   - A handler gets a list object by object, first what is gone, and is not told where the list ends, nor its version.
//   - A handler gets no bookmarks, and of what is gone since the last list not the version in which that was found out.
//   - Handlers run behind the store, in goroutines of their own, so the version of the store says nothing about them.
//   - The longest pause after a failure is 30 seconds and cannot be set.
//   - Every object is kept, though definitions and podgroupwatch keep a word or a number of each.
//
// Package feed needs the first four, definitions and podgroupwatch need to know where a list ends.
package reflectors

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// Reflector lists and watches objects of one type.
type Reflector struct {
	Name   string // for the log of client-go
	Source cache.ListerWatcher
	Type   any
	// MaxDelay is the longest pause after a failure, 30 seconds if it is zero.
	MaxDelay time.Duration
	// Failed is called with each error.
	Failed func(ctx context.Context, err error)
}

// Run keeps the store up to date until the context ends, however often the watch breaks.
func (r Reflector) Run(ctx context.Context, store cache.ReflectorStore) {
	backoff := wait.Backoff{Duration: 200 * time.Millisecond, Cap: 30 * time.Second, Steps: 10, Factor: 2, Jitter: 0.2}
	if r.MaxDelay > 0 {
		backoff.Cap = r.MaxDelay
	}
	again := backoff // for watches that it begins again by itself, see reported
	reflector := cache.NewReflectorWithOptions(r.reported(), r.Type, store, cache.ReflectorOptions{Name: "podsequence/" + r.Name, Backoff: &again})
	_ = backoff.DelayWithReset(clock.RealClock{}, 2*time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil && ctx.Err() == nil {
			r.Failed(ctx, err)
		}
		return false, nil
	})
}

// reported is the source with a report of each watch that is refused in a way that a cache.Reflector does not return: it begins such a watch
// again by itself (isWatchErrorRetriable in k8s.io/client-go 0.37).
func (r Reflector) reported() cache.ListerWatcher {
	source := cache.ToListerWatcherWithContext(r.Source)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: source.ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			watching, err := source.WatchWithContext(ctx, options)
			if (utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)) && ctx.Err() == nil {
				r.Failed(ctx, err)
			}
			return watching, err
		},
	}, r.Source)
}
