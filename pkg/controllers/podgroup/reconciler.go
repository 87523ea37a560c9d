package podgroup

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/internal/podgroups"
)

// podGroupReader is what is known of PodGroups: a podgroupwatch.Watcher.
type podGroupReader interface {
	Minimum(podgroups.Reference) (minimum int32, known bool)
	Ask(context.Context, podgroups.Reference) (minimum int32, exists bool, err error)
}

// reconciler labels the pods of groups.
type reconciler struct {
	options   Options
	pods      client.Reader // of labelled pods, stripped
	workloads client.Reader
	podGroups podGroupReader
	live      client.Reader // asks the API server itself
	labels    *labeller
	recorder  events.EventRecorder
	clock     clock.PassiveClock

	links links

	lock sync.Mutex
	// memories of groups that have pods. Each is used by one reconcile at a time.
	memories map[types.NamespacedName]*memory
}

// memory is what is remembered of a group. To lose it costs some requests and repeats some events.
type memory struct {
	published map[string]string // the subject of the problem that was published, by kind
	size      int               // how many pods the group has. reconciler.lock guards it
	// asked are the answers of the API server in this round, see confirm.
	asked answers
}

// Reconcile labels one group if it is ready.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	group := request.NamespacedName
	w, err := r.gather(ctx, group)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(w.pods) == 0 {
		r.forget(group)
		states.Forget(group)
		return reconcile.Result{}, nil
	}
	m := r.remember(group, len(w.pods))
	d := decide(w)
	r.labels.want(d.remove)
	if len(d.label) == 0 {
		m.asked = answers{} // by the time that there is something to label they are old
	} else {
		found, more, err := r.confirm(ctx, m, group, w)
		if err != nil {
			m.asked = answers{}
			return reconcile.Result{}, err
		}
		if more {
			return nextTurn, nil
		}
		if found {
			d = decide(w)
		}
	}
	countGroup(group, d.why == "")
	r.publish(ctx, m, d.problems)
	if len(d.label) > 0 {
		klog.FromContext(ctx).V(3).Info("All pods of the group run, will label them", "labels", len(d.label))
	}
	r.labels.want(d.label)
	if d.again.IsZero() {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: d.again.Sub(w.now)}, nil
}

// nextTurn asks for another look at a group after all others that wait.
var nextTurn = reconcile.Result{RequeueAfter: time.Nanosecond}

func (r *reconciler) remember(group types.NamespacedName, size int) *memory {
	r.lock.Lock()
	defer r.lock.Unlock()
	m, ok := r.memories[group]
	if !ok {
		m = &memory{published: map[string]string{}}
		r.memories[group] = m
	}
	m.size = size
	return m
}

func (r *reconciler) forget(group types.NamespacedName) {
	r.lock.Lock()
	defer r.lock.Unlock()
	delete(r.memories, group)
}
