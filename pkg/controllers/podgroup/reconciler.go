package podgroup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/internal/podgroups"
	"example.com/podsequence/internal/printable"
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

// confirm asks the API server for what pods refer to and the caches do not have: it may just not have come yet. It reports
// whether it learned anything, and whether more is to be asked in the next turn.
func (r *reconciler) confirm(ctx context.Context, m *memory, group types.NamespacedName, w world) (found, more bool, err error) {
	if m.asked.minimums == nil {
		m.asked = answers{
			map[podgroups.Reference]int32{}, map[types.UID]workload{}, map[podgroups.Reference]bool{}, map[types.UID]bool{},
		}
	}
	questions := 0
	for _, pod := range w.pods {
		for _, reference := range podgroups.Of(pod) {
			if _, known := w.minimums[reference]; known || m.asked.absentGroups[reference] {
				continue
			}
			if _, known := m.asked.minimums[reference]; known {
				continue
			}
			if questions++; questions > questionsInATurn {
				return false, true, nil
			}
			minimum, exists, err := r.podGroups.Ask(ctx, reference)
			switch {
			case err != nil:
				return false, false, err
			case exists:
				m.asked.minimums[reference] = minimum
			default:
				m.asked.absentGroups[reference] = true
			}
		}
	}
	for uid, owner := range w.unseenOwners() {
		if _, known := m.asked.workloads[uid]; known || m.asked.absentWorkloads[uid] {
			continue
		}
		if questions++; questions > questionsInATurn {
			return false, true, nil
		}
		list := workloadKinds[owner.Kind].list()
		err := r.live.List(ctx, list, client.InNamespace(group.Namespace), client.MatchingFields{metav1.ObjectNameField: owner.Name})
		if err != nil {
			return false, false, fmt.Errorf("ask for %s %s: %w", owner.Kind, owner.Name, err)
		}
		answered := world{workloads: map[types.UID]workload{}}
		if err := answered.enter(list, uid); err != nil {
			return false, false, err
		}
		maps.Copy(m.asked.workloads, answered.workloads)
		m.asked.absentWorkloads[uid] = len(answered.workloads) == 0
	}
	// What a cache has by now is newer.
	for reference, minimum := range m.asked.minimums {
		if _, known := w.minimums[reference]; !known {
			w.minimums[reference], found = minimum, true
		}
	}
	for uid, answer := range m.asked.workloads {
		if _, known := w.workloads[uid]; !known {
			w.workloads[uid], found = answer, true
		}
	}
	for uid, absent := range m.asked.absentWorkloads {
		if absent {
			w.absent[uid], found = true, true
		}
	}
	m.asked = answers{}
	return found, false, nil
}

// gather learns what the caches know of a group. The pods belong to the cache: read only.
func (r *reconciler) gather(ctx context.Context, group types.NamespacedName) (world, error) {
	w := world{
		options: r.options, now: r.clock.Now(), minimums: map[podgroups.Reference]int32{},
		workloads: map[types.UID]workload{}, absent: map[types.UID]bool{}, jobs: map[types.UID]int{},
	}
	var pods corev1.PodList
	err := r.pods.List(ctx, &pods, client.InNamespace(group.Namespace), client.MatchingFields{byGroup: group.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return world{}, fmt.Errorf("list pods: %w", err)
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			w.pods = append(w.pods, &pods.Items[i])
		}
	}
	if len(w.pods) == 0 {
		return w, nil
	}
	slices.SortFunc(w.pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, pod := range w.pods {
		for _, reference := range podgroups.Of(pod) {
			if minimum, known := r.podGroups.Minimum(reference); known {
				w.minimums[reference] = minimum
			}
		}
	}
	return w, r.gatherWorkloads(ctx, group, w)
}

// gatherWorkloads enters the workloads that own pods of the group, and those that make pods for it but have none yet.
func (r *reconciler) gatherWorkloads(ctx context.Context, group types.NamespacedName, w world) error {
	for _, kind := range workloadKinds {
		list := kind.list()
		err := r.workloads.List(ctx, list, client.InNamespace(group.Namespace), client.MatchingFields{byTemplate: group.Name}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return fmt.Errorf("list workloads: %w", err)
		}
		if err := w.enter(list, ""); err != nil {
			return err
		}
	}
	for uid, owner := range w.unseenOwners() {
		object := workloadKinds[owner.Kind].object()
		err := r.workloads.Get(ctx, types.NamespacedName{Namespace: group.Namespace, Name: owner.Name}, object, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("get %s %s: %w", owner.Kind, owner.Name, err)
		}
		switch found, ok := workloadOf(object); {
		case found.uid != uid: // the cache lacks it, or has another of its name
		case ok:
			w.workloads[uid] = found
		default:
			w.absent[uid] = true
		}
	}
	for _, job := range w.workloads {
		set := job.jobSet.uid
		if _, counted := w.jobs[set]; counted || set == "" {
			continue
		}
		var jobs batchv1.JobList
		err := r.workloads.List(ctx, &jobs, client.InNamespace(group.Namespace), client.MatchingFields{byJobSet: string(set)}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return fmt.Errorf("list Jobs of a JobSet: %w", err)
		}
		w.jobs[set] = 0
		for i := range jobs.Items {
			if jobs.Items[i].DeletionTimestamp == nil {
				w.jobs[set]++
			}
		}
	}
	return nil
}

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

// publish publishes the first problem of each kind, unless one of the kind was published and lasts. What it remembers of a
// group is bounded, whatever is written on its pods.
func (r *reconciler) publish(ctx context.Context, m *memory, problems []problem) {
	lasts := map[string]bool{} // by kind
	for _, p := range problems {
		if subject, ok := m.published[p.kind]; ok && subject == p.subject {
			lasts[p.kind] = true
		}
	}
	for kind := range m.published {
		if !lasts[kind] {
			delete(m.published, kind)
		}
	}
	for _, p := range problems {
		if _, ok := m.published[p.kind]; ok || p.unconfirmed {
			continue
		}
		m.published[p.kind] = p.subject
		note := printable.Line(p.note())
		klog.FromContext(ctx).V(2).Info("The pod group has a problem", "reason", p.reason, "note", note)
		r.recorder.Eventf(p.pod, nil, corev1.EventTypeWarning, p.reason, "Observe", "%s", note)
	}
}

// The indexes of caches: pods by the group that they are in, workloads by the group that their template names and by the
// UID of their JobSet.
const (
	byGroup    = "podgroup.group"
	byTemplate = "podgroup.template"
	byJobSet   = "podgroup.jobSet"
)

func notEmpty(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

const (
	// batchPeriod is how long a group waits for more to happen to it: pods that start together cost one pass, not one each.
	batchPeriod = 20 * time.Millisecond
	// batchPerPod is how much longer it waits for each pod that it has. A pass looks at all of them: so a group costs the
	// same at most, be it small or large.
	batchPerPod = 20 * time.Microsecond
)

// questionsInATurn is how much one group asks the API server for before other groups have their turn.
const questionsInATurn = 50

// answers are what the API server said on what the caches do not have. They are kept until all is asked that a group needs:
// its pods may name as many owners and PodGroups that do not exist as there are pods.
type answers struct {
	minimums  map[podgroups.Reference]int32
	workloads map[types.UID]workload
	// absent are those that do not exist.
	absentGroups    map[podgroups.Reference]bool
	absentWorkloads map[types.UID]bool
}
