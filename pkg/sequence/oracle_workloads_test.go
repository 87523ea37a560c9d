package sequence

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

var workloadKinds = []string{
	"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController",
}

// groupCount is what a group has, in the cluster or on a node.
type groupCount struct {
	expected, ready int
	// sure is ready without the pods of workloads whose newest generation has not been seen by their controllers.
	sure      int
	satisfied bool
	// unfinished reports that it has something that has not reached what is required, whether that is needed or not.
	unfinished bool
	// nothing reports that there is nothing to expect, and that nobody said how much there should be.
	nothing bool
	// finished reports that it is satisfied because it was complete before.
	finished bool
	// butForObjects reports whether it would be satisfied if it waited for no objects.
	butForObjects bool
	// times is when each of the pods that count as done reached that; a Job that is complete counts as many times as
	// its pods would. The keys are UIDs.
	times map[string]time.Time
	// needed are those times again, but of each workload only as many as are needed of it.
	needed []time.Time
	// enough is how many of them satisfy the group.
	enough int
	// objectsSince is when the last of its objects came to be as required, and objectsNews the same if this event told of any.
	objectsSince, objectsNews time.Time
	// conditionsSince and conditionsNews are the same of the conditions of the node.
	conditionsSince, conditionsNews time.Time
}

// readySince is when the last of the pods and objects that the group needs had reached what it requires.
func (c groupCount) readySince() time.Time {
	if len(c.needed) == 0 {
		return later(c.objectsSince, c.conditionsSince)
	}
	slices.SortFunc(c.needed, time.Time.Compare)
	return later(c.objectsSince, c.conditionsSince, c.needed[min(max(c.enough, 1), len(c.needed))-1])
}

// placedIn is the first group by selector that selects the workload's pods, or -1.
func placedIn(v *view, w metav1.Object) int {
	if owner := metav1.GetControllerOf(w); owner != nil && isKind(w, "ReplicaSet") && ownerKind(owner) == "Deployment" {
		return -1
	}
	if isOurs(w.GetNamespace(), templateOf(w).Labels) || saysOnTheSide(w) || saysOnTheSide(templateOf(w)) && isKind(w, "Job") {
		return -1
	}
	for i, g := range v.Spec.PodGroups {
		if makesSense(g) && g.PodSelector != nil && v.in(i, w.GetNamespace()) && oracleSelects(g.PodSelector, templateOf(w).Labels) {
			return i
		}
	}
	return -1
}

func isKind(w metav1.Object, kind string) bool {
	return strings.HasSuffix(fmt.Sprintf("%T", w), "."+kind)
}

// ownerKind is the kind of a workload as we know it, or nothing for any other.
func ownerKind(ref *metav1.OwnerReference) string {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	switch group + " " + ref.Kind {
	case "apps Deployment", "apps ReplicaSet", "apps StatefulSet", "apps DaemonSet", "batch Job", "v1 ReplicationController":
		return ref.Kind
	}
	return ""
}

func templateOf(w metav1.Object) *corev1.PodTemplateSpec {
	switch w := w.(type) {
	case *appsv1.Deployment:
		return &w.Spec.Template
	case *appsv1.ReplicaSet:
		return &w.Spec.Template
	case *appsv1.StatefulSet:
		return &w.Spec.Template
	case *appsv1.DaemonSet:
		return &w.Spec.Template
	case *batchv1.Job:
		return &w.Spec.Template
	case *corev1.ReplicationController:
		return w.Spec.Template
	}
	panic(fmt.Sprintf("%T is no workload", w))
}

// podOwner is what a pod's controller is.
type podOwner struct {
	any     bool          // it has one
	unseen  bool          // of a kind we know, but nobody has told us of it
	object  metav1.Object // the workload, if it was seen: for a pod of a Deployment that, not its ReplicaSet
	replica *appsv1.ReplicaSet
}

func (o *oracle) findOwner(p *corev1.Pod) podOwner {
	ref := metav1.GetControllerOf(p)
	if ref == nil {
		return podOwner{}
	}
	if ownerKind(ref) == "" {
		return podOwner{any: true}
	}
	w := o.byUID[ref.UID]
	if w == nil {
		return podOwner{any: true, unseen: true}
	}
	rs, _ := w.(*appsv1.ReplicaSet)
	if rs != nil {
		if above := metav1.GetControllerOf(rs); above != nil && ownerKind(above) == "Deployment" {
			d := o.byUID[above.UID]
			return podOwner{any: true, unseen: d == nil, object: d, replica: rs}
		}
	}
	return podOwner{any: true, object: w, replica: rs}
}

// superseded reports whether the Job is one of a CronJob that has a newer one.
func (o *oracle) superseded(w metav1.Object) bool {
	cron := metav1.GetControllerOf(w)
	if !isKind(w, "Job") || cron == nil || cron.Kind != "CronJob" || !strings.HasPrefix(cron.APIVersion, "batch/") {
		return false
	}
	if gone := o.unfinished[cron.UID]; gone != nil && w.GetCreationTimestamp().Time.Before(gone.GetCreationTimestamp().Time) {
		return true
	}
	for _, other := range all[*batchv1.Job](o, "Job") {
		if ref := metav1.GetControllerOf(other); ref != nil && ref.UID == cron.UID && startedAfter(other, w) {
			return true
		}
	}
	return false
}

// startedAfter reports whether one Job of a CronJob is newer than another.
func startedAfter(a, b metav1.Object) bool {
	mine, its := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	return mine.After(its.Time) || (mine.Equal(&its) && a.GetName() > b.GetName())
}

// cronJobOf is the CronJob of a Job; empty if it has none.
func cronJobOf(w metav1.Object) types.UID {
	ref := metav1.GetControllerOf(w)
	if !isKind(w, "Job") || ref == nil || ref.Kind != "CronJob" || !strings.HasPrefix(ref.APIVersion, "batch/") {
		return ""
	}
	return ref.UID
}

// noteUnfinished remembers Jobs of CronJobs that went before they were complete, as long as the CronJob has Jobs.
func (o *oracle) noteUnfinished() {
	for uid, w := range o.before {
		complete, _ := jobCompletedAt(w)
		cron := cronJobOf(w)
		if cron == "" || complete || o.byUID[uid] != nil {
			continue
		}
		if gone := o.unfinished[cron]; gone == nil || startedAfter(w, gone) {
			o.unfinished[cron] = w
		}
	}
	for cron := range o.unfinished {
		left := false
		for _, j := range all[*batchv1.Job](o, "Job") {
			left = left || cronJobOf(j) == cron
		}
		if !left {
			delete(o.unfinished, cron)
		}
	}
}

func oracleReplicas(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

func jobCompletions(j *batchv1.Job) int {
	if j.Spec.Completions == nil {
		return oracleReplicas(j.Spec.Parallelism)
	}
	return int(*j.Spec.Completions)
}

func jobCompletedAt(w metav1.Object) (bool, time.Time) {
	j, _ := w.(*batchv1.Job)
	if j == nil {
		return false, time.Time{}
	}
	complete := slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
	})
	if !complete || j.Status.CompletionTime == nil {
		return complete, time.Time{}
	}
	return true, j.Status.CompletionTime.Time
}

// wanted is how many pods the workload is to have, and whether its controller has seen its newest generation.
func wanted(w metav1.Object, required v1alpha1.RequiredStatus) (expected int, observed bool) {
	switch w := w.(type) {
	case *appsv1.Deployment:
		return oracleReplicas(w.Spec.Replicas), w.Status.ObservedGeneration >= w.Generation
	case *appsv1.ReplicaSet:
		return oracleReplicas(w.Spec.Replicas), w.Status.ObservedGeneration >= w.Generation
	case *appsv1.StatefulSet:
		return oracleReplicas(w.Spec.Replicas), w.Status.ObservedGeneration >= w.Generation
	case *corev1.ReplicationController:
		return oracleReplicas(w.Spec.Replicas), w.Status.ObservedGeneration >= w.Generation
	case *appsv1.DaemonSet:
		return int(w.Status.DesiredNumberScheduled), w.Status.ObservedGeneration >= w.Generation
	case *batchv1.Job:
		if required == v1alpha1.RequireComplete {
			return jobCompletions(w), true
		}
		return min(oracleReplicas(w.Spec.Parallelism), jobCompletions(w)), true
	}
	panic(fmt.Sprintf("%T is no workload", w))
}

// newest is the ReplicaSet of a Deployment's present template, or nil.
func (o *oracle) newest(d *appsv1.Deployment) *appsv1.ReplicaSet {
	var sets []*appsv1.ReplicaSet
	for _, rs := range all[*appsv1.ReplicaSet](o, "ReplicaSet") {
		if ref := metav1.GetControllerOf(rs); ref != nil && ref.UID == d.UID && rs.DeletionTimestamp == nil {
			sets = append(sets, rs)
		}
	}
	return deploymentutil.FindNewReplicaSet(d, sets)
}

// isCurrent reports whether the pod is one of its workload's newest revision.
func (o *oracle) isCurrent(p *corev1.Pod, by podOwner) bool {
	switch w := by.object.(type) {
	case *appsv1.Deployment:
		newest := o.newestOf[w.UID]
		return newest != nil && by.replica != nil && newest.UID == by.replica.UID
	case *appsv1.StatefulSet:
		rolling := w.Spec.UpdateStrategy.RollingUpdate
		if w.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType || w.Status.UpdateRevision == "" ||
			(rolling != nil && rolling.Partition != nil && *rolling.Partition > 0) {
			return true
		}
		return p.Labels[appsv1.ControllerRevisionHashLabelKey] == w.Status.UpdateRevision
	case *appsv1.DaemonSet:
		if allAreCurrent(w) {
			return true
		}
		generation := w.Annotations[appsv1.DeprecatedTemplateGeneration]
		for _, sibling := range o.pods { // which hash is the newest
			if metav1.IsControlledBy(sibling, w) && o.selected.Has(sibling.UID) && sibling.Labels["pod-template-generation"] == generation &&
				isOfHash(p, sibling.Labels["controller-revision-hash"]) {
				return true
			}
		}
		return p.Labels["pod-template-generation"] == generation
	}
	return true
}

// allAreCurrent reports whether all pods of a DaemonSet count as being of its newest revision.
func allAreCurrent(w *appsv1.DaemonSet) bool {
	_, ok := w.Annotations[appsv1.DeprecatedTemplateGeneration]
	desired := w.Status.DesiredNumberScheduled
	return !ok || w.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType ||
		(desired > 0 && w.Status.UpdatedNumberScheduled >= desired && w.Status.ObservedGeneration >= w.Generation)
}

// readyAtMost is how many pods of a DaemonSet are ready, at most.
func (o *oracle) readyAtMost(w *appsv1.DaemonSet, ready int) int {
	if ready = min(ready, int(w.Status.NumberReady)); !allAreCurrent(w) {
		ready = min(ready, int(w.Status.UpdatedNumberScheduled))
	}
	return ready
}

// waitsForNode reports whether a DaemonSet wants no pods, and would want some if a node were ready: one that it selects would get a pod but
// for taints that go away by themselves, or there is none that it selects.
func (o *oracle) waitsForNode(w metav1.Object) bool {
	ds, ok := w.(*appsv1.DaemonSet)
	if !ok || ds.Status.DesiredNumberScheduled > 0 {
		return false
	}
	selected := false
	for _, node := range o.nodes {
		bare, ready := node.DeepCopy(), node.DeepCopy()
		bare.Spec.Taints, ready.Spec.Taints = nil, nil
		for _, taint := range node.Spec.Taints {
			if !goesAway(taint.Key) {
				ready.Spec.Taints = append(ready.Spec.Taints, taint)
			}
		}
		if should, _ := daemon.NodeShouldRunDaemonPod(klog.Background(), ready, ds); should {
			return true
		}
		// A node of the control plane that keeps these pods away is no place for them, and says nothing about nodes that will join.
		for _, taint := range node.Spec.Taints {
			if taint.Key == "node-role.kubernetes.io/control-plane" {
				bare.Spec.Taints = append(bare.Spec.Taints, taint)
			}
		}
		should, _ := daemon.NodeShouldRunDaemonPod(klog.Background(), bare, ds)
		selected = selected || should
	}
	return !selected
}

// goesAway reports whether a taint is of a node that is not ready, or not yet.
func goesAway(key string) bool {
	family, _, _ := strings.Cut(key, "/")
	switch family {
	case "node.kubernetes.io", "node.cloudprovider.kubernetes.io", "startup-taint.cluster-autoscaler.kubernetes.io":
		return true
	}
	return strings.HasPrefix(key, "karpenter.sh/unregistered")
}

// isOfHash reports whether a pod that a DaemonSet made has this hash.
func isOfHash(p *corev1.Pod, hash string) bool {
	_, made := p.Labels["pod-template-generation"]
	return made && hash != "" && p.Labels["controller-revision-hash"] == hash
}

// namespaceGoes reports whether the namespace of a workload is being deleted.
func (o *oracle) namespaceGoes(w metav1.Object) bool {
	namespace := o.objects["Namespace"][w.GetNamespace()]
	return namespace != nil && namespace.GetDeletionTimestamp() != nil
}

// needsNone reports whether the group is satisfied whatever there is of it.
func needsNone(g v1alpha1.PodGroup) bool {
	return g.MinAvailable != nil && g.MinAvailable.Type == intstr.Int && g.MinAvailable.IntVal <= 0
}

// count is what group i has in the whole cluster.
func (o *oracle) count(v *view, i int) groupCount {
	g := v.Spec.PodGroups[i]
	if !makesSense(g) {
		return o.finish(v, i, groupCount{}) // if it was passed, as status may say, it stays so
	}
	if len(g.Pods) > 0 {
		return o.countNames(v, i)
	}
	c := groupCount{times: map[string]time.Time{}}
	reliable, anything, short, going := true, false, false, false

	for uid, in := range v.placedIn {
		w := o.byUID[uid]
		job, _ := w.(*batchv1.Job)
		if in != i || o.superseded(w) || job != nil && v.isOver(i, failedAt(job)) {
			continue
		}
		anything = true
		complete, at := jobCompletedAt(w)
		going = going || (w.GetDeletionTimestamp() != nil && !complete) || (v.cluster != nil && o.namespaceGoes(w))
		expected, observed := wanted(w, requirementOf(g))
		claimed, ordinals := sets.New[string](), ordinalsOf(w)
		for name := range ordinals {
			for j, earlier := range v.Spec.PodGroups[:i] {
				if slices.Contains(earlier.Pods, name) && v.in(j, w.GetNamespace()) {
					claimed.Insert(name)
				}
			}
		}
		ready, times := 0, []time.Time{}
		for _, p := range o.pods {
			by := o.ownerOf[p]
			in, member := v.groupOf[oracleKey(p)]
			if !member || by.object == nil || by.object.GetUID() != uid || !o.isCurrent(p, by) || (ordinals != nil && !ordinals.Has(p.Name)) {
				continue
			}
			if in < i && endOf(p) != corev1.PodFailed {
				claimed.Insert(p.Name)
			}
			if ok, at := o.done(p, g); in == i && ok {
				ready++
				c.times[string(p.UID)] = at
				times = append(times, at)
			}
		}
		if ds, ok := w.(*appsv1.DaemonSet); ok && requirementOf(g) == v1alpha1.RequireReady && g.RequiredCondition == "" {
			ready = o.readyAtMost(ds, ready)
		}
		need := max(0, expected-claimed.Len())
		slices.SortFunc(times, time.Time.Compare)
		if _, ok := w.(*appsv1.DaemonSet); ok && requirementOf(g) == v1alpha1.RequireReady && g.RequiredCondition == "" {
			times = times[max(0, len(times)-need):] // the earliest may be those that do not count
		}
		if complete {
			ready, times = expected, nil
			for n := range need {
				c.times[fmt.Sprint(uid, "/", n)] = at
				times = append(times, at)
			}
		}
		slices.SortFunc(times, time.Time.Compare)
		c.needed = append(c.needed, times[:min(need, len(times))]...)
		short = short || ready < need || (isKind(w, "Job") && requirementOf(g) == v1alpha1.RequireComplete && !complete)
		reliable = reliable && observed && !o.waitsForNode(w)
		c.unfinished = c.unfinished || !observed
		c.expected += need
		c.ready += min(ready, need)
		if observed {
			c.sure += min(ready, need)
		}
	}

	for _, p := range o.pods {
		if in, member := v.groupOf[oracleKey(p)]; !member || in != i {
			continue
		}
		by := o.ownerOf[p]
		if by.object != nil {
			if in, placed := v.placedIn[by.object.GetUID()]; placed && in == i {
				continue // counted with its workload, or not at all
			}
		}
		if by.unseen {
			done, _ := o.done(p, g)
			anything, reliable, c.unfinished = true, false, c.unfinished || !done
			c.expected++
			continue
		}
		if by.any && endOf(p) == corev1.PodFailed && !oracleIsStatic(p) {
			continue // it is replaced
		}
		anything = true
		c.expected++
		if ok, at := o.done(p, g); ok {
			c.ready++
			c.sure++
			c.times[string(p.UID)] = at
			c.needed = append(c.needed, at)
		} else {
			short = true
		}
	}
	for _, f := range v.memory.failures {
		if in := o.groupOfFailure(v, f); in == i {
			anything, short = true, true
			c.expected += max(1, int(f.Pods))
		}
	}

	if g.ExpectedPods > 0 {
		c.expected, anything = max(c.expected, int(g.ExpectedPods)), true
	}
	switch {
	case g.MinAvailable == nil:
		c.satisfied = anything && reliable && !short && c.ready >= int(g.ExpectedPods)
		c.enough = math.MaxInt
	case g.MinAvailable.Type == intstr.Int:
		c.enough = g.MinAvailable.IntValue()
		c.satisfied = c.sure >= c.enough
	default:
		c.enough = percentOf(g.MinAvailable, c.expected)
		c.satisfied = anything && reliable && c.ready >= c.enough
	}
	c.satisfied, c.unfinished = c.satisfied && (!going || needsNone(g)), c.unfinished || short
	c.nothing = !anything && (g.MinAvailable == nil || g.MinAvailable.Type == intstr.String)
	return o.finish(v, i, c)
}

// counts are what the groups have in the whole cluster. The last of several, if it selects everything and nothing is left for it, is
// satisfied when the others are.
func (o *oracle) counts(v *view) []groupCount {
	var counts []groupCount
	last, others := len(v.Spec.PodGroups)-1, true
	for i, g := range v.Spec.PodGroups {
		c := o.count(v, i)
		isRest := i > 0 && i == last && g.PodSelector != nil && len(g.PodSelector.MatchLabels)+len(g.PodSelector.MatchExpressions) == 0
		c.satisfied = c.satisfied || isRest && c.nothing && others && makesSense(g)
		c = o.addObjects(v, i, c)
		others = others && (c.satisfied || g.Skip)
		counts = append(counts, c)
	}
	return counts
}

// ordinalsOf are the names of the pods that a StatefulSet is to have; nil for any other workload.
func ordinalsOf(w metav1.Object) sets.Set[string] {
	s, ok := w.(*appsv1.StatefulSet)
	if !ok {
		return nil
	}
	names, start := sets.New[string](), 0
	if s.Spec.Ordinals != nil {
		start = int(s.Spec.Ordinals.Start)
	}
	for n := range oracleReplicas(s.Spec.Replicas) {
		names.Insert(s.Name + "-" + strconv.Itoa(start+n))
	}
	return names
}

// percentOf rounds up.
func percentOf(percent *intstr.IntOrString, expected int) int {
	n, err := strconv.Atoi(strings.TrimSuffix(percent.StrVal, "%"))
	if err != nil {
		panic(err)
	}
	return (expected*n + 99) / 100
}

func (o *oracle) countNames(v *view, i int) groupCount {
	g := v.Spec.PodGroups[i]
	names := sets.New(g.Pods...)
	c := groupCount{times: map[string]time.Time{}, expected: names.Len(), enough: names.Len()}
	for _, p := range o.pods {
		if !names.Has(p.Name) || !v.in(i, p.Namespace) || p.DeletionTimestamp != nil || isOurs(p.Namespace, p.Labels) {
			continue
		}
		ok, at := o.done(p, g)
		if c.unfinished = c.unfinished || !ok; ok {
			c.ready++
			c.sure++
			c.times[string(p.UID)] = at
			c.needed = append(c.needed, at)
		}
	}
	if g.MinAvailable != nil {
		c.enough = g.MinAvailable.IntValue()
		if g.MinAvailable.Type == intstr.String {
			c.enough = percentOf(g.MinAvailable, c.expected)
		}
	}
	c.satisfied = c.ready >= c.enough
	return o.finish(v, i, c)
}
