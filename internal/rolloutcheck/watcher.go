package rolloutcheck

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// Watcher watches the Deployments of one cluster. It only ever reads.
type Watcher struct {
	client kubernetes.Interface
	stop   func()
	ended  chan struct{}

	mu      sync.Mutex
	history []change
	newest  map[types.UID]string // resource versions
	broken  error
	wake    chan struct{} // closed and replaced at each change
}

// Start returns once the watcher has seen what there is; from then on it sees every change, until it is stopped.
func Start(ctx context.Context, config *rest.Config) (*Watcher, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // a client that waits for its own limit sees late
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the watcher of rollouts: %w", err)
	}
	deployments := client.AppsV1().Deployments(metav1.NamespaceAll)
	list, err := deployments.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Deployments: %w", err)
	}
	w := &Watcher{client: client, ended: make(chan struct{}), newest: map[types.UID]string{}, wake: make(chan struct{})}
	for i := range list.Items {
		w.record(&list.Items[i], false)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	events, err := watchtools.NewRetryWatcherWithContext(running, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: deployments.Watch,
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watch Deployments: %w", err)
	}
	w.stop = cancel
	go w.run(events)
	return w, nil
}

// Stop ends the watch and returns when it has ended. Verdicts can still be asked for, but are incomplete.
func (w *Watcher) Stop() {
	w.stop()
	<-w.ended
}

func (w *Watcher) run(events watch.Interface) {
	defer close(w.ended)
	for e := range events.ResultChan() {
		if d, ok := e.Object.(*appsv1.Deployment); ok && e.Type != watch.Bookmark {
			w.record(d, e.Type == watch.Deleted)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = errors.New("the watch of Deployments has ended")
	w.signal()
}

func (w *Watcher) record(d *appsv1.Deployment, deleted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history = append(w.history, newChange(d, deleted, time.Now()))
	w.newest[d.UID] = d.ResourceVersion
	if deleted {
		delete(w.newest, d.UID)
	}
	w.signal()
}

// signal needs the lock.
func (w *Watcher) signal() {
	close(w.wake)
	w.wake = make(chan struct{})
}

// VerdictFor judges the Deployments of a namespace up to now: those that are listed now have been seen as they are.
func (w *Watcher) VerdictFor(ctx context.Context, namespace string) (Verdict, error) {
	list, err := w.client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return Verdict{}, fmt.Errorf("list Deployments: %w", err)
	}
	for {
		w.mu.Lock()
		history, behind, broken, wake := w.history, w.behind(list), w.broken, w.wake
		w.mu.Unlock()
		switch {
		case broken != nil:
			return Verdict{}, broken
		case !behind:
			return judge(history, namespace), nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return Verdict{}, fmt.Errorf("wait for the watch of Deployments to catch up: %w", ctx.Err())
		}
	}
}

// behind needs the lock. Of an object that was deleted after the list was made nothing is known any more, which is as
// well.
func (w *Watcher) behind(list *appsv1.DeploymentList) bool {
	seen := map[types.UID]bool{}
	for _, c := range w.history {
		seen[c.uid] = true
	}
	for i := range list.Items {
		d := &list.Items[i]
		version, alive := w.newest[d.UID]
		if !seen[d.UID] || alive && older(version, d.ResourceVersion) {
			return true
		}
	}
	return false
}
