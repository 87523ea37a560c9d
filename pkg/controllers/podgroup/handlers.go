package podgroup

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/internal/podgroups"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

const (
	// batchPeriod is how long a group waits for more to happen to it: pods that start together cost one pass, not one each.
	batchPeriod = 20 * time.Millisecond
	// batchPerPod is how much longer it waits for each pod that it has. A pass looks at all of them: so a group costs the
	// same at most, be it small or large.
	batchPerPod = 20 * time.Microsecond
)

func (r *reconciler) enqueue(q queue, groups ...types.NamespacedName) {
	for _, group := range groups {
		if group.Name != "" {
			q.AddAfter(reconcile.Request{NamespacedName: group}, batchPeriod+time.Duration(r.sizeOf(group))*batchPerPod)
		}
	}
}

// sizeOf is how many pods a group had when it was last looked at.
func (r *reconciler) sizeOf(group types.NamespacedName) int {
	r.lock.Lock()
	defer r.lock.Unlock()
	if m, ok := r.memories[group]; ok {
		return m.size
	}
	return 0
}

// podHandler asks for the group of a pod, and for the one that it was in before. It keeps the links of the pods that there are.
func (r *reconciler) podHandler() handler.EventHandler {
	count := func(change int, object client.Object) {
		pod := object.(*corev1.Pod)
		r.links.count(change, r.options.groupOf(pod), linksOf(pod))
	}
	groupOf := func(object client.Object) types.NamespacedName { return r.options.groupOf(object.(*corev1.Pod)) }
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			count(1, e.Object)
			r.leave(e.Object)
			r.enqueue(q, groupOf(e.Object))
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			r.labels.seen(e.ObjectNew.(*corev1.Pod))
			r.leave(e.ObjectNew)
			before, after := r.options.factsOf(e.ObjectOld.(*corev1.Pod)), r.options.factsOf(e.ObjectNew.(*corev1.Pod))
			if after.differs(before) {
				count(1, e.ObjectNew)
				count(-1, e.ObjectOld)
				r.enqueue(q, before.group, after.group)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			r.labels.gone(e.Object.(*corev1.Pod))
			count(-1, e.Object)
			r.enqueue(q, groupOf(e.Object))
		},
	}
}

// leaverHandler takes the label from pods that have it and are in no group any more.
func (r *reconciler) leaverHandler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { r.leave(e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) {
			r.labels.seen(e.ObjectNew.(*corev1.Pod))
			r.leave(e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { r.labels.gone(e.Object.(*corev1.Pod)) },
	}
}

func (r *reconciler) leave(object client.Object) {
	if pod := object.(*corev1.Pod); r.options.groupOf(pod).Name == "" && r.options.isMoved(pod) {
		r.labels.want([]*corev1.Pod{pod})
	}
}

// workloadHandler asks for the groups that a workload makes pods for. A Job that comes or goes concerns the groups of all
// Jobs of its JobSet, and links them.
func (r *reconciler) workloadHandler() handler.EventHandler {
	count := func(change int, object client.Object) (siblings []types.NamespacedName) {
		job, ok := object.(*batchv1.Job)
		if !ok {
			return nil
		}
		set := jobSetOf(job).uid
		if set == "" {
			return nil
		}
		r.links.count(change, r.options.templateGroup(job), []string{string(set)})
		return r.links.groups(string(set))
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			r.enqueue(q, append(r.groupsOf(e.Object), count(1, e.Object)...)...)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, counted := workloadOf(e.ObjectOld)
			after, counts := workloadOf(e.ObjectNew)
			was, is := r.options.templateGroup(e.ObjectOld), r.options.templateGroup(e.ObjectNew)
			if before != after || counted != counts || was != is {
				count(1, e.ObjectNew)
				count(-1, e.ObjectOld)
				r.enqueue(q, append(r.groupsOf(e.ObjectNew), was)...)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			r.enqueue(q, append(r.groupsOf(e.Object), count(-1, e.Object)...)...)
		},
	}
}

// groupsOf are the groups that a workload's template names or its pods are in.
func (r *reconciler) groupsOf(workload client.Object) []types.NamespacedName {
	return append(r.links.groups(string(workload.GetUID())), r.options.templateGroup(workload))
}

// podGroupHandler asks for the groups whose pods name a PodGroup.
func (r *reconciler) podGroupHandler(q queue) func(podgroups.Reference) {
	return func(group podgroups.Reference) { r.enqueue(q, r.links.groups(group.String())...) }
}
