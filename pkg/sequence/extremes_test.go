package sequence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/podgroups"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
	. "example.com/podsequence/test/harness/builders"
)

// What somebody writes into a field costs what it takes to store it, whatever number it is.

var (
	extremes32 = []int32{math.MinInt32, -1, 0, 1, 2, math.MaxInt32}
	extremes64 = []int64{math.MinInt64, math.MinInt32, -1, 0, 1, math.MaxInt32, math.MaxInt64}
	// extremeTexts are durations and percentages, most of which the API server refuses today.
	extremeDurations = []v1alpha1.Duration{"", "0s", "1ns", "1h", "2562047h", "2562047h47m16.854775807s", "2562048h", "99999999999999999999999h", "-1h"}
	extremeCounts    = []string{"", "0", "1", "-1", "2147483647", "-2147483648", "0%", "100%", "-1%", "9223372036854775807%", "-9223372036854775808%", "99999999999999999999%"}
)

// allocated is how many bytes are allocated while something runs.
func allocated(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// extremeBytes is far more than a handful of objects takes, and far less than a number of theirs counted out.
const extremeBytes = 64 << 20

func TestACompleteJobOfAnyParallelismCostsNoMemory(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: oracleNamespace, Name: "one", UID: "one", ResourceVersion: "1"}}
	job.Spec.Parallelism = ptr.To[int32](math.MaxInt32)
	job.Spec.Template.Labels = map[string]string{"tier": "one"}
	done := metav1.NewTime(time.Unix(1_000_000, 0))
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: done}}

	engine := newEngine()
	engine.Tick(done.Add(time.Hour))
	engine.ApplyWorkload(job)
	var report report.Report
	bytes := allocated(func() {
		engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").
			Label("One", "tier", "one").Wait("1s").Label("Two", "tier", "two").Obj())
		report, _ = engine.Report(shopKey)
	})
	assert.Less(t, bytes, uint64(1<<20))
	assert.Equal(t, 1, report.Current, "the Job is complete")
	assert.Equal(t, done.UTC(), report.Groups[0].SatisfiedAt, "since then it is")
	status := report.Status(report.Object, done.Add(time.Hour))
	assert.EqualValues(t, math.MaxInt32, status.Groups[0].Expected)
}

func TestASumOfExpectedPodsNeverTurnsNegative(t *testing.T) {
	engine := newEngine()
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Label("One", "tier", "one").Obj())
	for i := range 3 {
		set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: oracleNamespace, Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i)), ResourceVersion: "1"}}
		set.Spec.Replicas = ptr.To[int32](math.MaxInt32)
		set.Spec.Template.Labels = map[string]string{"tier": "one"}
		engine.ApplyWorkload(set)
	}
	report, _ := engine.Report(shopKey)
	assert.Equal(t, 3*math.MaxInt32, report.Groups[0].Expected)
	assert.EqualValues(t, math.MaxInt32, report.Status(report.Object, time.Now()).Groups[0].Expected, "as much as the field takes")
}

func TestAPercentageThatOverflowsAsksForEveryMember(t *testing.T) {
	engine := newEngine()
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").
		Label("One", "tier", "one").MinAvailable("9223372036854775807%").Pods("Two", "two").Obj())
	engine.ApplyPod(makePod("not-ready", "1").Label("tier", "one").Node("node").Obj())
	for i := range 200 {
		name := fmt.Sprintf("one-%d", i)
		engine.ApplyPod(makePod(name, "1").Label("tier", "one").Node("node").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj())
	}
	two := makePod("two", "1").Obj()
	engine.ApplyPod(two)
	assert.True(t, engine.Decide(two).Held)
}

// TestExtremesInAnyFieldCostNoMemory feeds the engine with objects whose numbers are all extreme.
func TestExtremesInAnyFieldCostNoMemory(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			x := extremist{rand.New(rand.NewPCG(seed, 1))}
			began := time.Now()
			bytes := allocated(func() { x.run(t) })
			require.Less(t, bytes, uint64(extremeBytes))
			require.Less(t, time.Since(began), 30*time.Second)
		})
	}
}

type extremist struct{ *rand.Rand }

func one[T any](x extremist, of []T) T { return of[x.IntN(len(of))] }

// maybe is one of them, or nil.
func maybe[T any](x extremist, of []T) *T {
	if x.IntN(4) == 0 {
		return nil
	}
	return ptr.To(one(x, of))
}

func (x extremist) run(t *testing.T) {
	engine := newEngine()
	now := time.Unix(1_700_000_000, 0)
	engine.Tick(now)
	for i, scope := range []v1alpha1.Scope{v1alpha1.ScopeCluster, v1alpha1.ScopeNode} {
		engine.ApplySequence(x.sequence(fmt.Sprint("sequence-", i), scope))
	}
	engine.ApplyNode(fleetNode(0, "1"))
	for version := range 3 {
		for _, object := range x.workloads(fmt.Sprint(version + 1)) {
			engine.ApplyWorkload(object)
		}
		for i := range 6 {
			pod := makePod(fmt.Sprint("pod-", i), fmt.Sprint(version+1)).Label("tier", fmt.Sprint(i%3)).
				Condition(corev1.PodReady, corev1.ConditionTrue, "")
			if i%2 == 0 {
				pod.Node("node-0")
			}
			pod.Obj().Labels[podgroups.CoschedulingLabel] = "gang"
			pod.Obj().CreationTimestamp = metav1.NewTime(time.Unix(one(x, []int64{0, now.Unix(), 1 << 40}), 0))
			engine.ApplyPod(pod.Obj())
		}
		now = now.Add(time.Hour)
		engine.Tick(now)
		for i := range 2 {
			report, ok := engine.Report(types.NamespacedName{Namespace: oracleNamespace, Name: fmt.Sprint("sequence-", i)})
			require.True(t, ok)
			for _, group := range report.Status(report.Object, now).Groups {
				assert.GreaterOrEqual(t, group.Ready, int32(0))
			}
		}
		engine.NextWake()
	}
}

func (x extremist) sequence(name string, scope v1alpha1.Scope) *v1alpha1.PodSequence {
	w := MakeSequence(oracleNamespace, name).UID(name)
	for i := range 3 {
		w.Label("", "tier", fmt.Sprint(i)).Wait(string(one(x, extremeDurations))).
			Timeout(string(one(x, extremeDurations)), one(x, []v1alpha1.TimeoutPolicy{"", v1alpha1.TimeoutContinue}))
		if count := one(x, extremeCounts); count != "" {
			w.MinAvailable(count)
		}
		if x.IntN(2) == 0 {
			w.Complete()
		}
	}
	ps := w.Obj()
	ps.Spec.Scope, ps.Generation = scope, one(x, extremes64)
	ps.Status.ObservedGeneration, ps.Status.CurrentIndex = one(x, extremes64), maybe(x, extremes32)
	compiled := order.Compile(order.Stored{PodSequence: ps}, nil, time.Time{})
	for i := range ps.Spec.PodGroups {
		ps.Status.Groups = append(ps.Status.Groups, v1alpha1.GroupStatus{
			Hash: compiled.Groups[i].Hash, Expected: one(x, extremes32), Ready: one(x, extremes32),
		})
	}
	ps.Status.NodeStatus = []v1alpha1.NodeStatus{{
		NodeName: "node-0", CurrentIndex: one(x, extremes32), ReadyPodsInCurrentGroup: one(x, extremes32),
	}}
	return ps
}

func (x extremist) workloads(version string) []metav1.Object {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: oracleNamespace, Name: name, UID: types.UID(name), ResourceVersion: version, Generation: one(x, extremes64)}
	}
	tier := func() map[string]string { return map[string]string{"tier": fmt.Sprint(x.IntN(3))} }
	deployment := &appsv1.Deployment{ObjectMeta: meta("deployment")}
	deployment.Spec.Replicas, deployment.Spec.Template.Labels = maybe(x, extremes32), tier()
	deployment.Status.ObservedGeneration = one(x, extremes64)
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: meta("replicaset")}
	replicaSet.Spec.Replicas, replicaSet.Spec.Template.Labels = maybe(x, extremes32), tier()
	replicaSet.Status.ObservedGeneration = one(x, extremes64)
	controller := &corev1.ReplicationController{ObjectMeta: meta("replicationcontroller")}
	controller.Spec.Replicas, controller.Spec.Template = maybe(x, extremes32), &corev1.PodTemplateSpec{}
	controller.Spec.Template.Labels = tier()
	controller.Status.ObservedGeneration = one(x, extremes64)
	set := &appsv1.StatefulSet{ObjectMeta: meta("pod")} // whose pods are named as those that there are
	set.Spec.Replicas, set.Spec.Template.Labels = maybe(x, extremes32), tier()
	set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: one(x, extremes32)}
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: maybe(x, extremes32)}
	set.Status.ObservedGeneration = one(x, extremes64)
	daemons := &appsv1.DaemonSet{ObjectMeta: meta("daemonset")}
	daemons.Spec.Template.Labels = tier()
	daemons.Status.DesiredNumberScheduled, daemons.Status.ObservedGeneration = one(x, extremes32), one(x, extremes64)
	job := &batchv1.Job{ObjectMeta: meta("job")}
	job.Spec.Parallelism, job.Spec.Completions = maybe(x, extremes32), maybe(x, extremes32)
	job.Spec.Template.Labels = tier()
	job.Status.Succeeded = one(x, extremes32)
	if x.IntN(2) == 0 {
		job.Status.Conditions = []batchv1.JobCondition{{
			Type: one(x, []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed}), Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(time.Unix(one(x, []int64{0, 1_700_000_000, 1 << 40}), 0)),
		}}
	}
	return []metav1.Object{deployment, replicaSet, controller, set, daemons, job}
}
