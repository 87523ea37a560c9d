package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	. "example.com/podsequence/test/harness/builders"
)

// ripeAt is the time in these tests, with a fraction that status does not keep.
var ripeAt = time.Date(2026, 1, 1, 12, 0, 0, 500_000_000, time.UTC)

// twoTiers is a sequence of two groups by selector.
func twoTiers() *SequenceWrapper {
	return MakeSequence(oracleNamespace, "tiers").UID("tiers").Label("DB", "tier", "db").Label("App", "tier", "app")
}

var (
	tiersKey = types.NamespacedName{Namespace: oracleNamespace, Name: "tiers"}
	dbSet    = inventory.WorkloadKey{Kind: inventory.KindStatefulSet, Namespace: oracleNamespace, Name: "db"}
	appSet   = inventory.WorkloadKey{Kind: inventory.KindStatefulSet, Namespace: oracleNamespace, Name: "app"}
)

// twoPods is a sequence of two groups by name.
func twoPods(version string) *v1alpha1.PodSequence {
	ps := MakeSequence(oracleNamespace, "tiers").UID("tiers").Pods("One", "one").Pods("Two", "two").Obj()
	ps.ResourceVersion = version
	return ps
}

// set is a StatefulSet with the pods of a tier.
func set(tier, version string, pods int32) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: oracleNamespace, Name: tier, UID: types.UID(tier), ResourceVersion: version},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &pods,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"tier": tier}}},
		},
	}
}

// podOfSet is its first pod, ready.
func podOfSet(tier, version string) *corev1.Pod {
	pod := readyPod(oracleNamespace, tier+"-0", tier, version)
	pod.OwnerReferences = []metav1.OwnerReference{controllerRef("apps/v1", "StatefulSet", tier, tier)}
	return pod
}

// metadataOf is what a list of metadata has of a pod.
func metadataOf(pod *corev1.Pod) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta}
}

// unrecorded is an engine whose passes nobody records.
func unrecorded(now time.Time) *Engine {
	e := newEngine().Engine
	e.Tick(now)
	return e
}

func TestWhatMustBeLookedAtBeforeAPassIsRecorded(t *testing.T) {
	tests := map[string]struct {
		play          func(e *Engine)
		wantNothing   bool
		wantPasses    []bool // of each, in the order of the groups, whether its time was over
		wantWorkloads []inventory.WorkloadKey
		wantPods      []string
	}{
		"nothing, while nothing is ripe": {
			play: func(e *Engine) {
				e.ApplyWorkload(set("db", "5", 1))
				e.ApplySequence(twoTiers().Obj())
			},
			wantNothing: true,
		},
		"nothing of a group of named pods": {
			play: func(e *Engine) {
				e.ApplyPod(readyPod(oracleNamespace, "one", "", "6"))
				e.ApplySequence(twoPods("5"))
			},
			wantPasses: []bool{false},
		},
		"the pods, too, of a group with a wait": {
			play: func(e *Engine) {
				ps := twoPods("5")
				ps.Spec.PodGroups[0].WaitDuration = "30s"
				e.ApplyPod(readyPod(oracleNamespace, "one", "", "6"))
				e.ApplySequence(ps)
				e.Tick(ripeAt.Add(time.Minute))
			},
			wantPasses: []bool{false},
			wantPods:   []string{oracleNamespace},
		},
		"the pods, too, of a group whose pods must stay ready for a while": {
			play: func(e *Engine) {
				ps := twoPods("5")
				ps.Spec.PodGroups[0].MinReadySeconds = new(int32(5))
				e.ApplyPod(readyPod(oracleNamespace, "one", "", "6"))
				e.ApplySequence(ps)
				e.Tick(ripeAt.Add(time.Minute))
			},
			wantPasses: []bool{false},
			wantPods:   []string{oracleNamespace},
		},
		"the pods, too, where the sequence may have come later": {
			play: func(e *Engine) {
				e.ApplyPod(readyPod(oracleNamespace, "one", "", "6"))
				e.ApplySequence(twoPods("7"))
			},
			wantPasses: []bool{false}, wantPods: []string{oracleNamespace},
		},
		"the workloads of a group whose pods are known from a later time": {
			play: func(e *Engine) {
				e.ApplyWorkload(set("db", "5", 1))
				e.ApplyPod(podOfSet("db", "6"))
				e.ApplySequence(twoTiers().Obj())
			},
			wantPasses: []bool{false}, wantWorkloads: []inventory.WorkloadKey{dbSet},
		},
		"the pods, too, where a workload may have come to count them later": {
			play: func(e *Engine) {
				e.ApplyWorkload(set("db", "5", 2))
				e.ApplyPod(podOfSet("db", "6"))
				e.ApplyWorkload(set("db", "7", 1))
				e.ApplySequence(twoTiers().Obj())
			},
			wantPasses: []bool{false}, wantWorkloads: []inventory.WorkloadKey{dbSet}, wantPods: []string{oracleNamespace},
		},
		"not the pods where only something else of the workload changed": {
			play: func(e *Engine) {
				e.ApplyWorkload(set("db", "5", 1))
				e.ApplyPod(podOfSet("db", "6"))
				e.ApplyWorkload(set("db", "7", 1))
				e.ApplySequence(twoTiers().Obj())
			},
			wantPasses: []bool{false}, wantWorkloads: []inventory.WorkloadKey{dbSet},
		},
		"not the pods where an event of any pod came after the workload": {
			play: func(e *Engine) {
				e.ApplyPod(podOfSet("db", "6"))
				e.ApplyWorkload(set("db", "7", 1))
				e.ApplyPod(makePod("other", "8").Obj())
				e.ApplySequence(twoTiers().Obj())
			},
			wantPasses: []bool{false}, wantWorkloads: []inventory.WorkloadKey{dbSet},
		},
		"the pods, too, where some of them were listed later than the watch goes on from": {
			play: func(e *Engine) {
				e.ApplyWorkload(set("db", "7", 1))
				e.ReplacePods([]*corev1.Pod{podOfSet("db", "5"), readyPod("elsewhere", "other", "", "8")}, "6")
				e.ApplySequence(twoTiers().Obj())
			},
			wantPasses: []bool{false}, wantWorkloads: []inventory.WorkloadKey{dbSet}, wantPods: []string{oracleNamespace},
		},
		"what all groups count that are ripe by each other": {
			play: func(e *Engine) {
				for _, tier := range []string{"app", "db"} {
					e.ApplyWorkload(set(tier, "5", 1))
					e.ApplyPod(podOfSet(tier, "6"))
				}
				e.ApplySequence(twoTiers().Obj())
			},
			wantPasses: []bool{false, false}, wantWorkloads: []inventory.WorkloadKey{appSet, dbSet},
		},
		"nothing of a group whose time is over": {
			play: func(e *Engine) {
				e.ApplyWorkload(set("db", "5", 1))
				e.ApplySequence(MakeSequence(oracleNamespace, "tiers").UID("tiers").Label("DB", "tier", "db").
					Timeout("10s", v1alpha1.TimeoutContinue).Label("App", "tier", "app").Obj())
				e.Tick(ripeAt.Add(time.Minute))
			},
			wantPasses: []bool{true},
		},
		"nothing where passes may be lost": {
			play: func(e *Engine) {
				e.ApplyWorkload(set("db", "5", 1))
				e.ApplyPod(podOfSet("db", "6"))
				e.ApplySequence(twoTiers().Mode(v1alpha1.Continuous).Obj())
			},
			wantNothing: true,
		},
		"nothing in a dry run": {
			play: func(e *Engine) {
				e.ApplyWorkload(set("db", "5", 1))
				e.ApplyPod(podOfSet("db", "6"))
				dry := twoTiers()
				dry.Spec.DryRun = true
				e.ApplySequence(dry.Obj())
			},
			wantNothing: true,
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			e := unrecorded(ripeAt)
			test.play(e)
			ripe, ok := e.Ripe(tiersKey)
			require.Equal(t, !test.wantNothing, ok)
			var passes []bool
			for _, g := range e.sequences[tiersKey].groups {
				if pass, is := ripe.Passes[g.Hash]; is {
					passes = append(passes, pass.TimedOut)
					assert.Equal(t, types.UID("tiers"), pass.UID)
				}
			}
			assert.Equal(t, test.wantPasses, passes)
			assert.Equal(t, test.wantWorkloads, ripe.Workloads)
			assert.Equal(t, test.wantPods, ripe.PodNamespaces)
		})
	}
}

func TestAPassIsRecordedOnlyIfWhatWasLookedAtIsAsItIsKnown(t *testing.T) {
	// looked is what there is where nothing has changed.
	looked := func() Looked {
		return Looked{
			Workloads: []metav1.Object{set("db", "7", 1)},
			Pods:      []metav1.PartialObjectMetadata{metadataOf(podOfSet("db", "6"))},
		}
	}
	tests := map[string]struct {
		meanwhile func(e *Engine)
		look      func(l *Looked)
		want      bool
	}{
		"nothing has changed": {want: true},
		"a workload has changed in what does not count": {
			look: func(l *Looked) { l.Workloads = []metav1.Object{set("db", "9", 1)} }, want: true,
		},
		"a workload wants more pods": {
			look: func(l *Looked) { l.Workloads = []metav1.Object{set("db", "9", 2)} },
		},
		"a workload has another template, which its controller has seen": {
			look: func(l *Looked) {
				rolled := set("db", "9", 1)
				rolled.Generation, rolled.Status.ObservedGeneration = 2, 2
				l.Workloads = []metav1.Object{rolled}
			},
		},
		"a workload wants more pods, as the engine knows by now": {
			meanwhile: func(e *Engine) { e.ApplyWorkload(set("db", "9", 2)) },
			look:      func(l *Looked) { l.Workloads = []metav1.Object{set("db", "9", 2)} },
		},
		"a workload is gone": {look: func(l *Looked) { l.Workloads = nil }},
		"a workload was made again": {
			look: func(l *Looked) {
				again := set("db", "9", 1)
				again.UID = "again"
				l.Workloads = []metav1.Object{again}
			},
		},
		"a workload has come that nobody asked for": {
			meanwhile: func(e *Engine) {
				another := set("db", "9", 0)
				another.Name, another.UID = "another", "another"
				e.ApplyWorkload(another)
			},
		},
		"a pod has changed": {
			look: func(l *Looked) { l.Pods[0].ResourceVersion = "9" },
		},
		"a pod was made again": {
			look: func(l *Looked) { l.Pods[0].UID = "again" },
		},
		"a pod has come": {
			look: func(l *Looked) { l.Pods = append(l.Pods, metadataOf(podOfSet("app", "9"))) },
		},
		"a pod of the group is gone": {look: func(l *Looked) { l.Pods = nil }},
		"a pod is known as of later than it was looked at": {
			meanwhile: func(e *Engine) { e.ApplyPod(podOfSet("db", "9")) }, want: true,
		},
		"the group is not ready any more": {
			meanwhile: func(e *Engine) { e.RemovePod(podOfSet("db", "9")) },
		},
		"the pass is recorded already": {
			meanwhile: func(e *Engine) {
				ripe, _ := e.Ripe(tiersKey)
				recorded := twoTiers()
				recorded.ResourceVersion, recorded.Status.Passes = "9", ripe.Passes
				e.ApplySequence(recorded.Obj())
			},
		},
		"the sequence was made again": {
			meanwhile: func(e *Engine) { e.ApplySequence(twoTiers().UID("again").Obj()) },
		},
		"the sequence is gone": {
			meanwhile: func(e *Engine) { e.RemoveSequence(tiersKey, "9") },
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			e := unrecorded(ripeAt)
			e.ApplyPod(podOfSet("db", "6"))
			e.ApplyWorkload(set("db", "7", 1))
			e.ApplySequence(twoTiers().Obj())
			ripe, ok := e.Ripe(tiersKey)
			require.True(t, ok)
			require.Equal(t, []string{oracleNamespace}, ripe.PodNamespaces)
			l := looked()
			if test.look != nil {
				test.look(&l)
			}
			if test.meanwhile != nil {
				test.meanwhile(e)
			}
			assert.Equal(t, test.want, e.Agrees(ripe, l))
		})
	}
}

// Of named pods that are known as of later than the sequence there is nothing to look at.
func TestAPassIsNotRecordedOfAPodThatIsNotReadyAnyMore(t *testing.T) {
	e := unrecorded(ripeAt)
	e.ApplyPod(readyPod(oracleNamespace, "one", "", "6"))
	e.ApplySequence(twoPods("5"))
	ripe, ok := e.Ripe(tiersKey)
	require.True(t, ok)
	assert.True(t, e.Agrees(ripe, Looked{}))
	e.ApplyPod(makePod("one", "7").Node("node").Obj())
	assert.False(t, e.Agrees(ripe, Looked{}))
}

// The other group may have become ripe by an event that nobody has looked at yet.
func TestAPassIsRecordedThoughAnotherGroupHasBecomeRipe(t *testing.T) {
	e := unrecorded(ripeAt)
	e.ApplyWorkload(set("db", "5", 1))
	e.ApplyPod(podOfSet("db", "6"))
	e.ApplySequence(twoTiers().Obj())
	ripe, ok := e.Ripe(tiersKey)
	require.True(t, ok)
	e.ApplyWorkload(set("app", "7", 1))
	e.ApplyPod(podOfSet("app", "8"))
	assert.True(t, e.Agrees(ripe, Looked{Workloads: []metav1.Object{set("db", "5", 1)}}))
	both, ok := e.Ripe(tiersKey)
	require.True(t, ok)
	assert.Len(t, both.Passes, 2)
	assert.False(t, e.Agrees(both, Looked{Workloads: []metav1.Object{set("db", "5", 1)}}), "the other workload was not there")
}

// Groups by name have no workloads that would not agree.
func TestAPassIsNotRecordedOfAGroupThatIsNotRipeAnyMoreThoughAnotherIs(t *testing.T) {
	e := unrecorded(ripeAt)
	e.ApplyPod(readyPod(oracleNamespace, "one", "", "1"))
	e.ApplyPod(readyPod(oracleNamespace, "two", "", "2"))
	e.ApplySequence(shop().Obj())
	ripe, ok := e.Ripe(shopKey)
	require.True(t, ok)
	require.Len(t, ripe.Passes, 2)
	assert.True(t, e.Agrees(ripe, Looked{}))
	e.ApplyPod(makePod("two", "3").Node("node").Obj())
	still, ok := e.Ripe(shopKey)
	require.True(t, ok)
	require.Len(t, still.Passes, 1)
	assert.False(t, e.Agrees(ripe, Looked{}))
}

// A pod that a group names may be a member of an earlier group, which is passed already.
func TestAPassIsNotRecordedOfANamedPodOfAnEarlierGroupThatIsGone(t *testing.T) {
	e := unrecorded(ripeAt)
	e.ApplyWorkload(set("db", "5", 1))
	e.ApplyPod(podOfSet("db", "6"))
	tiers := MakeSequence(oracleNamespace, "tiers").UID("tiers").Label("DB", "tier", "db").Pods("Two", "db-0").Pods("Three", "three")
	e.ApplySequence(tiers.Obj().DeepCopy())
	tiers.ResourceVersion, tiers.PodSequence.Generation = "9", 2
	tiers.Status.Passes = map[string]v1alpha1.GroupPass{e.sequences[tiersKey].groups[0].Hash: {UID: "tiers", At: metav1.NewTime(ripeAt)}}
	e.ApplySequence(tiers.Obj())
	ripe, ok := e.Ripe(tiersKey)
	require.True(t, ok)
	require.Len(t, ripe.Passes, 1)
	require.Equal(t, []string{oracleNamespace}, ripe.PodNamespaces)
	assert.True(t, e.Agrees(ripe, Looked{Pods: []metav1.PartialObjectMetadata{metadataOf(podOfSet("db", "6"))}}))
	assert.False(t, e.Agrees(ripe, Looked{}))
}

// A Job was complete, and before that was recorded another one came: the group is not complete, whatever becomes of them.
func TestAGroupThatWasNotPassedIsNotCompleteOnceItsJobsAreGone(t *testing.T) {
	job := func(name, version string, conditions ...batchv1.JobCondition) *batchv1.Job {
		return &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: oracleNamespace, Name: name, UID: types.UID(name), ResourceVersion: version},
			Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"tier": "db"}}}},
			Status:     batchv1.JobStatus{Conditions: conditions},
		}
	}
	e := unrecorded(ripeAt)
	first := job("first", "5", batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(ripeAt)})
	second := job("second", "7")
	e.ApplyWorkload(first)
	e.ApplySequence(MakeSequence(oracleNamespace, "tiers").UID("tiers").Label("DB", "tier", "db").Complete().Label("App", "tier", "app").Obj())
	_, ok := e.Ripe(tiersKey)
	require.True(t, ok)
	e.ApplyWorkload(second)
	e.RemoveWorkload(first)
	e.RemoveWorkload(second)
	_, ok = e.Ripe(tiersKey)
	assert.False(t, ok)
}

// While the workloads were read, one wanted more pods for a moment. The pods that are known are from before that.
func TestAPassIsNotRecordedByPodsOlderThanAChangeOfAWorkloadDuringTheLook(t *testing.T) {
	e := unrecorded(ripeAt)
	e.ApplyWorkload(set("db", "5", 1))
	e.ApplyPod(podOfSet("db", "8"))
	e.ApplySequence(twoTiers().Obj())
	ripe, ok := e.Ripe(tiersKey)
	require.True(t, ok)
	require.Empty(t, ripe.PodNamespaces)
	e.ApplyWorkload(set("db", "7", 2)) // before its first pod was ready; the watch of StatefulSets was behind
	_, ok = e.Ripe(tiersKey)
	require.False(t, ok)
	e.ApplyWorkload(set("db", "10", 1)) // at 9 the pod has broken, which no watch has brought yet
	assert.False(t, e.Agrees(ripe, Looked{Workloads: []metav1.Object{set("db", "10", 1)}}))
}

// A node was deleted and made again, and the pod that ran there was deleted in between: the watch of pods has not brought that yet.
func TestPodsAreLookedAtIfTheirNodeCameBackLater(t *testing.T) {
	e := unrecorded(ripeAt)
	n := st.MakeNode().Name("node").UID("first").Obj()
	n.ResourceVersion = "3"
	e.ReplaceNodes([]*corev1.Node{n}, "3")
	e.ApplyWorkload(set("db", "4", 1))
	e.ApplyPod(podOfSet("db", "8"))
	e.RemoveNode("node")
	e.ApplySequence(twoTiers().Obj())
	_, ok := e.Ripe(tiersKey)
	require.False(t, ok, "its node is gone")
	again := st.MakeNode().Name("node").UID("second").Obj()
	again.ResourceVersion = "12"
	e.ApplyNode(again) // at 11 its pod was deleted
	ripe, ok := e.Ripe(tiersKey)
	require.True(t, ok)
	assert.Equal(t, []string{oracleNamespace}, ripe.PodNamespaces)
	assert.False(t, e.Agrees(ripe, Looked{Workloads: []metav1.Object{set("db", "4", 1)}}))
}
