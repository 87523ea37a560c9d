package podgroup

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/internal/podgroups"
)

// world is what is known of a group.
type world struct {
	options Options
	now     time.Time
	// pods are those with the group's label that are not terminating, by name.
	pods []*corev1.Pod
	// minimums of the PodGroups that pods name, as far as they are known; 0 if one asks for no number in particular.
	minimums map[podgroups.Reference]int32
	// workloads that own pods of the group, or make pods for it by their template.
	workloads map[types.UID]workload
	// absent are owners of pods that are gone or terminating: the garbage collector deletes their pods.
	absent map[types.UID]bool
	// jobs is how many Jobs there are of a JobSet, in this group or not.
	jobs map[types.UID]int
}

// decision is what to do about a group.
type decision struct {
	// why tells why the group is not ready, in words; empty if it is.
	why string
	// label are the pods to label: none if the group is not ready.
	label []*corev1.Pod
	// remove are the pods to take the label from: they were labelled for another group than they are in.
	remove   []*corev1.Pod
	problems []problem
	// again is when to decide again though nothing happens; zero for never.
	again time.Time
}

// decide is a pure function. The group is ready when no pod is missing and all run; pods that have no label yet then get
// one, be they there from the beginning or not.
func decide(w world) decision {
	var remove []*corev1.Pod
	for _, pod := range w.pods {
		if w.options.isMoved(pod) {
			remove = append(remove, pod)
		}
	}
	d := w.ready()
	d.remove = remove
	return d
}

// ready decides all but which labels to remove.
func (w world) ready() decision {
	w = w.current()
	members := w.unreplaced()
	sources, problems := w.sources(members)
	if len(sources) == 0 {
		// Nobody knows of a replacement for pods that failed: they count.
		members = w.pods
		sources = []sizing{{source: "existing pods", size: len(members)}}
	}
	d := decision{problems: problems}
	running := 0
	for _, pod := range members {
		if runs(pod) {
			running++
		}
	}
	d.problems = append(d.problems, conflicts(sources, members, running)...)
	first := sources[0]
	if running < len(members) || first.missing > 0 {
		d.why = fmt.Sprintf("%d of %d pods run%s (size by %s)", running, len(members), moreMissing(first.missing), first.source)
		if p, waits := w.notReady(members, d.why); waits {
			d.problems = append(d.problems, p)
			d.again = p.due
		}
		return d
	}
	for _, pod := range members {
		if !w.options.isLabelled(pod) {
			d.label = append(d.label, pod)
		}
	}
	return d
}

// moreMissing says how many pods are missing; empty if none is.
func moreMissing(missing int) string {
	switch missing {
	case 0:
		return ""
	case 1:
		return ", 1 more is missing"
	}
	return fmt.Sprintf(", %d more are missing", missing)
}

// unreplaced are the pods but for those that failed and have a controller: that puts another in their place.
func (w world) unreplaced() []*corev1.Pod {
	members := make([]*corev1.Pod, 0, len(w.pods))
	for _, pod := range w.pods {
		if pod.Status.Phase != corev1.PodFailed || metav1.GetControllerOfNoCopy(pod) == nil {
			members = append(members, pod)
		}
	}
	return members
}

// unseenOwners are the owners of pods that are of a kind whose size can be known, and not known.
func (w world) unseenOwners() map[types.UID]*metav1.OwnerReference {
	owners := map[types.UID]*metav1.OwnerReference{}
	for _, pod := range w.pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil {
			continue
		}
		if _, known := w.workloads[owner.UID]; known {
			continue
		}
		if kind, ok := workloadKinds[owner.Kind]; ok && kind.apiVersion == owner.APIVersion {
			owners[owner.UID] = owner
		}
	}
	return owners
}

// enter enters the workloads of a list, or the one of them that has the UID.
func (w world) enter(list client.ObjectList, only types.UID) error {
	return meta.EachListItem(list, func(object runtime.Object) error {
		if found, ok := workloadOf(object.(client.Object)); ok && (only == "" || found.uid == only) {
			w.workloads[found.uid] = found
		}
		return nil
	})
}

// uncreated returns how many Jobs each JobSet has yet to create. They may be of the group: a JobSet creates Jobs one after
// another, and some only when others are ready.
func (w world) uncreated() map[types.UID]int {
	left := map[types.UID]int{}
	known := map[types.UID]int{}
	for _, job := range w.workloads {
		if set := job.jobSet; set.uid != "" {
			known[set.uid]++
			left[set.uid] = max(left[set.uid], set.jobs)
		}
	}
	for uid := range left {
		left[uid] -= max(known[uid], w.jobs[uid])
	}
	maps.DeleteFunc(left, func(_ types.UID, n int) bool { return n <= 0 })
	return left
}

// uncreatedPods returns how many pods are to come of Jobs that their JobSet has yet to create. A Job has as many as another
// of the same replicated Job, and at least one if there is no other.
func (w world) uncreatedPods() int {
	left := w.uncreated()
	if len(left) == 0 {
		return 0
	}
	type part struct {
		set        types.UID
		replicated string
	}
	missing, desired := map[part]int{}, map[part]int{}
	for _, job := range w.workloads {
		p := part{job.jobSet.uid, job.jobSet.replicated}
		if _, seen := desired[p]; !seen {
			missing[p] = job.jobSet.replicas
		}
		missing[p]--
		desired[p] = max(desired[p], job.desired)
	}
	pods := 0
	add := func(jobs, each int) { pods = min(pods+jobs*each, math.MaxInt32) }
	for _, p := range slices.SortedFunc(maps.Keys(desired), func(a, b part) int { return cmp.Compare(a.replicated, b.replicated) }) {
		jobs := min(left[p.set], max(0, missing[p]))
		left[p.set] -= jobs
		add(jobs, desired[p])
	}
	for _, jobs := range left {
		add(jobs, 1)
	}
	return pods
}

// notReady returns the problem that a group is not ready; waits is false if no pod waits for the label. The problem is
// confirmed at once if pods wait for what does not come by itself.
func (w world) notReady(members []*corev1.Pod, why string) (p problem, waits bool) {
	p = problem{kind: notReady, reason: EventNotReady}
	say := func(format string, args ...any) func() string {
		return func() string { return "the group is not ready: " + why + ". " + fmt.Sprintf(format, args...) }
	}
	if job, failed := w.failedJob(); failed {
		for _, pod := range w.pods {
			if !w.options.isLabelled(pod) {
				p.pod, p.subject = pod, string(job.uid)+" failed"
				p.note = say("%s has failed and creates no more pods: delete it, or create another Job in its place", job.name)
				return p, true
			}
		}
		return p, false
	}
	// waiting is a pod without the label, failed and stopped are what it waits for: pods that had the label before they failed or
	// stopped keep it, and the others wait for them all the same.
	var waiting, failed, stopped *corev1.Pod
	var newest time.Time
	for _, pod := range members {
		isLabelled := w.options.isLabelled(pod)
		switch {
		case pod.Status.Phase == corev1.PodFailed && (failed == nil || w.options.isLabelled(failed) && !isLabelled):
			failed = pod
		case !runs(pod) && (stopped == nil || w.options.isLabelled(stopped) && !isLabelled):
			stopped = pod
		}
		if isLabelled {
			continue
		}
		if waiting == nil || runs(waiting) && !runs(pod) {
			waiting = pod
		}
		if created := pod.CreationTimestamp.Time; created.After(newest) {
			newest = created
		}
	}
	switch {
	case waiting == nil:
		return p, false
	case failed != nil:
		p.pod, p.subject = failed, string(failed.UID)+" failed"
		p.note = say("Pod %s has failed: delete it, and create another if it is needed", failed.Name)
		return p, true
	case stopped != nil:
		p.pod = waiting
		p.note = say("Pod %s is %s: look at its events", stopped.Name, stopped.Status.Phase)
	default:
		p.pod = waiting
		p.note = say("Create the missing pods, or look at the events of the workload that should")
	}
	if newest.After(w.now) {
		newest = w.now // by a clock that is ahead of ours
	}
	if due := newest.Add(notReadyAfter); due.After(w.now) {
		p.unconfirmed, p.due = true, due
	}
	return p, true
}

// failedJob returns the first Job by name that failed and is still counted.
func (w world) failedJob() (first workload, found bool) {
	for _, job := range w.workloads {
		if job.failed && job.desired > 0 && (!found || job.name < first.name) {
			first, found = job, true
		}
	}
	return first, found
}

// current returns the world without earlier runs of the same work: their Jobs, the pods of these, and those of owners that
// are gone.
func (w world) current() world {
	isEarlier := w.earlierRuns()
	c := w
	c.workloads = maps.Clone(w.workloads)
	maps.DeleteFunc(c.workloads, func(_ types.UID, workload workload) bool { return isEarlier(workload) })
	c.pods = slices.DeleteFunc(slices.Clone(w.pods), func(pod *corev1.Pod) bool {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil {
			return false
		}
		workload, known := w.workloads[owner.UID]
		return known && isEarlier(workload) || w.absent[owner.UID]
	})
	return c
}

// earlierRuns returns a function that reports whether a workload is of an earlier run. A run is a Job, or all Jobs of one
// owner. It is an earlier one if it had ended when a Job of another run was created: the two never ran together. Of a
// CronJob's Jobs all but the newest are, ended or not. That a JobSet has fewer Jobs than it says is no sign that it goes on:
// when it completes or fails, it deletes those that run.
func (w world) earlierRuns() func(workload) bool {
	newestOf := map[types.UID]workload{} // by CronJob
	ends := map[types.UID]int64{}        // by run
	// The newest Job, and the newest of another run than that: one of them is not of the run that is asked about.
	var newest, next workload
	for _, job := range w.workloads {
		if job.run == "" {
			continue
		}
		if job.cronJob != "" && job.isNewer(newestOf[job.cronJob]) {
			newestOf[job.cronJob] = job
		}
		if !job.complete && !job.failed {
			ends[job.run] = math.MaxInt64
		} else if end, seen := ends[job.run]; !seen || job.ended > end {
			ends[job.run] = job.ended
		}
		switch {
		case job.run == newest.run && job.isNewer(newest):
			newest = job
		case job.run != newest.run && job.isNewer(newest):
			newest, next = job, newest
		case job.run != newest.run && job.isNewer(next):
			next = job
		}
	}
	return func(asked workload) bool {
		if asked.cronJob != "" && newestOf[asked.cronJob].uid != asked.uid {
			return true
		}
		other := newest
		if other.run == asked.run {
			other = next
		}
		return asked.run != "" && other.run != "" && ends[asked.run] <= other.created
	}
}

// sources are what says how many pods the group has, in the order in which they count. members are those that are
// counted; what is said on others holds as well.
func (w world) sources(members []*corev1.Pod) (found []sizing, problems []problem) {
	size, problems := w.annotated()
	if size > 0 {
		found = append(found, sizing{"annotation " + SizeAnnotation, size, max(0, size-len(members))})
	}
	for _, kind := range []podgroups.Kind{podgroups.Coscheduling, podgroups.Native} {
		if s, ok := w.grouped(kind, members); ok {
			found = append(found, s)
		}
	}
	if s, ok := w.owned(members); ok {
		found = append(found, s)
	}
	return found, problems
}

// annotated returns the size that the first pod by name gives of those that give one, 0 if none does.
func (w world) annotated() (size int, problems []problem) {
	var first *corev1.Pod
	invalid, others := map[string]bool{}, map[int]bool{}
	for _, pod := range w.pods {
		text, ok := pod.Annotations[SizeAnnotation]
		if !ok {
			continue
		}
		n := sizeOf(text)
		switch {
		case n == 0 && !invalid[text]:
			invalid[text] = true
			problems = append(problems, invalidSize(pod, text))
		case n == 0:
		case first == nil:
			size, first = n, pod
		case n != size && !others[n]:
			others[n] = true
			problems = append(problems, otherSize(first, size, pod, n))
		}
	}
	return size, problems
}

// grouped counts each PodGroup by itself: more pods in one do not make up for a gap in another. Pods of none count one each.
func (w world) grouped(kind podgroups.Kind, members []*corev1.Pod) (sizing, bool) {
	s := sizing{source: string(kind)}
	wanted := map[podgroups.Reference]int{}
	for _, pod := range w.pods {
		for _, group := range podgroups.Of(pod) {
			if minimum := w.minimums[group]; group.Kind == kind && minimum > 0 {
				wanted[group] = int(minimum)
			}
		}
	}
	there := map[podgroups.Reference]int{}
	for _, pod := range members {
		counted := false
		for _, group := range podgroups.Of(pod) {
			if _, ok := wanted[group]; ok {
				there[group]++
				counted = true
			}
		}
		if !counted {
			s.size++
		}
	}
	for group, want := range wanted {
		s.size += want
		s.missing += max(0, want-there[group])
	}
	return s, len(wanted) > 0
}

// owned counts each workload by itself, as grouped does PodGroups. So many Jobs of one group are added up.
func (w world) owned(members []*corev1.Pod) (sizing, bool) {
	s := sizing{source: "Jobs, StatefulSets and ReplicaSets"}
	type podCount struct{ active, succeeded int }
	there := map[types.UID]podCount{}
	for _, pod := range members {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil {
			s.size++
			continue
		}
		if _, known := w.workloads[owner.UID]; !known {
			s.size++
			continue
		}
		t := there[owner.UID]
		if pod.Status.Phase == corev1.PodSucceeded {
			t.succeeded++
		} else {
			t.active++
		}
		there[owner.UID] = t
	}
	wants := false
	for uid, workload := range w.workloads {
		s.size += workload.desired
		wants = wants || workload.desired > 0
		if t := there[uid]; !workload.complete {
			s.missing += workload.missing(t.active, t.succeeded)
		}
	}
	uncreated := w.uncreatedPods()
	s.size += uncreated
	s.missing += uncreated
	return s, wants
}

// notReadyAfter is how long the newest pod without the label must have waited before that is reported.
const notReadyAfter = time.Minute

// sizing is what one source says of how many pods a group has.
type sizing struct {
	source string
	size   int
	// missing is how many of them are not there.
	missing int
}

// sizeOf reads an annotation: 0 if it is no size.
func sizeOf(text string) int {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0
	}
	return int(n)
}
