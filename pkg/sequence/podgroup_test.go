package sequence

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/podgroups"
	"example.com/podsequence/pkg/sequence/spec"
	. "example.com/podsequence/test/harness/builders"
)

func trainers() podgroups.Reference {
	return podgroups.Reference{
		Kind: podgroups.Coscheduling, NamespacedName: types.NamespacedName{Namespace: oracleNamespace, Name: "trainers"},
	}
}

// worker is a ready pod of the PodGroup.
func worker(name, version string) *st.PodWrapper {
	return makePod(name, version).Label("tier", "train").Label(podgroups.CoschedulingLabel, "trainers").Node("n").
		Condition(corev1.PodReady, corev1.ConditionTrue, "")
}

func TestAGroupExpectsWhatThePodGroupOfItsPodsAsksFor(t *testing.T) {
	sequence := MakeSequence(oracleNamespace, "train").UID("train").Label("Trainers", "tier", "train").Label("Report", "tier", "report").Obj()
	report := makePod("report", "1").Label("tier", "report").Obj()
	held := func(e answering) bool { return e.Decide(report).Held }

	t.Run("so many of its pods must be ready", func(t *testing.T) {
		engine := newEngine()
		engine.ApplyPodGroup(trainers(), 3, "")
		engine.ApplySequence(sequence)
		engine.ApplyPod(report)
		engine.ApplyPod(worker("w-0", "1").Obj())
		engine.ApplyPod(worker("w-1", "1").Obj())
		assert.Equal(t, `waiting for group 1/2 "Trainers" of PodSequence shop/train: 2 of 3 pods ready`, engine.Decide(report).Message())
		changes := engine.ApplyPod(worker("w-2", "1").Obj())
		assert.False(t, held(engine))
		assert.Len(t, changes.Released, 1)
	})
	t.Run("a PodGroup that comes, or asks for more, after its pods", func(t *testing.T) {
		engine := newEngine()
		engine.ApplySequence(sequence)
		engine.ApplyPod(report)
		engine.ApplyPod(makePod("w-0", "1").Label("tier", "train").Label(podgroups.CoschedulingLabel, "trainers").Node("n").Obj())
		engine.ApplyPodGroup(trainers(), 2, "")
		engine.ApplyPod(worker("w-0", "2").Obj())
		assert.True(t, held(engine))
		assert.Len(t, engine.ApplyPodGroup(trainers(), 1, "").Released, 1, "it asks for less")
	})
	t.Run("one that is gone asks for nothing", func(t *testing.T) {
		engine := newEngine()
		engine.ApplyPodGroup(trainers(), 2, "")
		engine.ApplySequence(sequence)
		engine.ApplyPod(report)
		engine.ApplyPod(worker("w-0", "1").Obj())
		assert.True(t, held(engine))
		engine.ApplyPodGroup(trainers(), 0, "")
		assert.False(t, held(engine))
		assert.Len(t, engine.podGroups, 1, "pods name it still")
		engine.RemovePod(worker("w-0", "1").Obj())
		assert.Empty(t, engine.podGroups)
	})
	t.Run("a pod that leaves the gang counts for it no more", func(t *testing.T) {
		engine := newEngine()
		engine.ApplyPodGroup(trainers(), 2, "")
		engine.ApplySequence(sequence)
		engine.ApplyPod(report)
		engine.ApplyPod(worker("w-0", "1").Obj())
		engine.ApplyPod(makePod("w-1", "1").Label("tier", "train").Node("n").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj())
		assert.True(t, held(engine), "two are ready, but only one of the gang")
		engine.ApplyPod(worker("w-1", "2").Obj())
		assert.False(t, held(engine))
	})
	t.Run("minAvailable says otherwise", func(t *testing.T) {
		engine := newEngine()
		engine.ApplyPodGroup(trainers(), 8, "")
		few := sequence.DeepCopy()
		few.Spec.PodGroups[0].MinAvailable = new(intstr.FromInt32(1))
		engine.ApplySequence(few)
		engine.ApplyPod(worker("w-0", "1").Obj())
		assert.False(t, held(engine))
	})
}

func TestAGangThatIsSplitOverGroupsIsReported(t *testing.T) {
	native := func(p *st.PodWrapper) *corev1.Pod {
		pod := p.Obj()
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("gang")}
		return pod
	}
	problems := func(e answering) []spec.Problem {
		report, ok := e.Report(types.NamespacedName{Namespace: oracleNamespace, Name: "shop"})
		require.True(t, ok)
		return report.Problems
	}
	engine := newEngine()
	engine.ApplySequence(shop().Obj())
	engine.ApplyPod(native(makePod("one", "1")))
	assert.Empty(t, problems(engine))
	engine.ApplyPod(native(makePod("two", "1")))
	assert.Equal(t, []spec.Problem{{
		Reason: v1alpha1.ReasonGangSplit,
		Message: "PodGroup gang has pods in several groups: its pods are scheduled together, so these groups wait for each other; " +
			"put all its pods into one group",
	}}, problems(engine))
	engine.ApplyPod(makePod("two", "2").Obj())
	assert.Empty(t, problems(engine))

	engine.ApplyPod(makePod("one", "3").Label(podgroups.CoschedulingLabel, "gang").Obj())
	engine.ApplyPod(makePod("two", "3").Label(podgroups.CoschedulingLabel, "gang").Obj())
	assert.Empty(t, problems(engine), "Coscheduling does not wait for pods that are gated")

	gang := podgroups.Reference{Kind: podgroups.Coscheduling, NamespacedName: types.NamespacedName{Namespace: oracleNamespace, Name: "gang"}}
	engine.ApplyPodGroup(gang, 1, "")
	assert.Empty(t, problems(engine), "each group has as many as it asks for")
	engine.ApplyPodGroup(gang, 2, "")
	require.Len(t, problems(engine), 1)
	assert.Contains(t, problems(engine)[0].Message, "wait for each other", "the first group has too few")
}

// The scheduler holds all of a tree of PodGroups while one of its pods is gated.
func TestACompositePodGroupThatIsSplitOverGroupsIsReported(t *testing.T) {
	native := func(name string) podgroups.Reference {
		return podgroups.Reference{Kind: podgroups.Native, NamespacedName: types.NamespacedName{Namespace: oracleNamespace, Name: name}}
	}
	member := func(name, group string) *corev1.Pod {
		pod := makePod(name, "2").Obj()
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new(group)}
		return pod
	}
	engine := newEngine()
	problems := func() []spec.Problem {
		report, _ := engine.Report(shopKey)
		return report.Problems
	}
	engine.ApplySequence(shop().Obj())
	engine.ApplyPodGroup(native("leader"), 1, "root")
	engine.ApplyPod(member("one", "leader"))
	engine.ApplyPod(member("two", "worker"))
	assert.Empty(t, problems(), "these are two PodGroups")
	assert.True(t, engine.ApplyPodGroup(native("worker"), 0, "other").Sequences.Has(shopKey))
	assert.Empty(t, problems(), "of two CompositePodGroups")
	engine.ApplyPodGroup(native("worker"), 0, "root")
	assert.Equal(t, []spec.Problem{{
		Reason: v1alpha1.ReasonGangSplit,
		Message: "CompositePodGroup root has pods in several groups: its pods are scheduled together, so these groups wait for each other; " +
			"put all its pods into one group",
	}}, problems())
	engine.ApplyPodGroup(native("worker"), 0, "")
	assert.Empty(t, problems())
	engine.RemovePod(member("two", "worker"))
	assert.Len(t, engine.podGroups, 1, "nobody names the other any more")
}

func TestAGangOfWhichALaterGroupHasTooFewIsReported(t *testing.T) {
	engine := newEngine()
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Label("Servers", "role", "server").Label("Clients", "role", "client").Obj())
	gang := podgroups.Reference{Kind: podgroups.Coscheduling, NamespacedName: types.NamespacedName{Namespace: oracleNamespace, Name: "gang"}}
	engine.ApplyPodGroup(gang, 2, "")
	member := func(name, role string) {
		engine.ApplyPod(makePod(name, "1").Label("role", role).Label(podgroups.CoschedulingLabel, "gang").Node("n").
			Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj())
	}
	member("server-0", "server")
	member("server-1", "server")
	member("client-0", "client")
	report, _ := engine.Report(shopKey)
	require.Len(t, report.Problems, 1)
	assert.Equal(t, spec.Problem{
		Reason: v1alpha1.ReasonGangSplit,
		Message: "PodGroup gang has pods in several groups: each of these groups needs as many of its pods as it asks for, and one has fewer; " +
			"put all its pods into one group",
	}, report.Problems[0])
	member("client-1", "client")
	report, _ = engine.Report(shopKey)
	assert.Empty(t, report.Problems)
}

// Another sequence that has the pods must not change how they count here.
func TestAnotherSequenceLeavesThePodGroupsCounts(t *testing.T) {
	reference := podgroups.Reference{Kind: podgroups.Coscheduling, NamespacedName: types.NamespacedName{Namespace: oracleNamespace, Name: "g"}}
	member := func(version string, ready corev1.ConditionStatus) *corev1.Pod {
		return makePod("p", version).Label("tier", "one").Label(podgroups.CoschedulingLabel, "g").Node("n").
			Condition(corev1.PodReady, ready, "").Obj()
	}
	two := makePod("two", "2").Obj()
	given := func(minimum int) answering {
		engine := newEngine()
		engine.ApplySequence(MakeSequence(oracleNamespace, "first").UID("first").Label("One", "tier", "one").Pods("Two", "two").Mode(v1alpha1.Continuous).Obj())
		engine.ApplyPod(two)
		engine.ApplyPod(member("3", corev1.ConditionFalse))
		engine.ApplySequence(MakeSequence(oracleNamespace, "second").UID("second").Pods("All", "p").Obj())
		engine.ApplyPodGroup(reference, minimum, "")
		engine.ApplyPod(member("4", corev1.ConditionTrue))
		return engine
	}
	t.Run("one of three is not enough", func(t *testing.T) {
		decision := given(3).Decide(two)
		require.True(t, decision.Held)
		assert.Contains(t, decision.Message(), "1 of 3 pods ready")
	})
	t.Run("all of one are", func(t *testing.T) { assert.False(t, given(1).Decide(two).Held) })
}

func TestAPodGroupOfACompleteJobAsksForNoMore(t *testing.T) {
	reference := podgroups.Reference{Kind: podgroups.Coscheduling, NamespacedName: types.NamespacedName{Namespace: oracleNamespace, Name: "g"}}
	engine := newEngine()
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Label("Train", "job", "j").Complete().Label("App", "tier", "app").Mode(v1alpha1.Continuous).Obj())
	engine.ApplyPodGroup(reference, 2, "")
	job := &batchv1.Job{}
	job.Namespace, job.Name, job.UID, job.ResourceVersion = oracleNamespace, "j", "j", "3"
	job.Spec.Template.Labels = map[string]string{"job": "j", podgroups.CoschedulingLabel: "g"}
	job.Spec.Parallelism, job.Spec.Completions = ptr.To(int32(2)), ptr.To(int32(2))
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	engine.ApplyWorkload(job)
	for _, name := range []string{"j-0", "j-1"} {
		pod := makePod(name, "4").Label("job", "j").Label(podgroups.CoschedulingLabel, "g").Node("n").Phase(corev1.PodSucceeded).Obj()
		pod.OwnerReferences = []metav1.OwnerReference{controllerRef("batch/v1", "Job", "j", "j")}
		engine.ApplyPod(pod)
	}
	app := makePod("app", "8").Label("tier", "app").Obj()
	engine.ApplyPod(app)
	require.False(t, engine.Decide(app).Held)
	engine.RemovePod(makePod("j-0", "9").Obj()) // collected with its node
	assert.False(t, engine.Decide(app).Held)
}

// Coscheduling waits until as many pods as it asks for can be placed at once.
func TestACoschedulingGroupThatIsSplitOverGroupsIsReported(t *testing.T) {
	reference := podgroups.Reference{Kind: podgroups.Coscheduling, NamespacedName: types.NamespacedName{Namespace: oracleNamespace, Name: "g"}}
	tests := map[string]struct {
		minimum int
		want    bool
	}{
		"the first group has too few of its pods": {2, true},
		"the first group has enough":              {1, false},
		"how many it asks for is not known":       {0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Label("Leader", "role", "leader").Label("Worker", "role", "worker").Obj())
			engine.ApplyPodGroup(reference, test.minimum, "")
			for _, role := range []string{"leader", "worker"} {
				engine.ApplyPod(makePod(role, "2").Label("role", role).Label(podgroups.CoschedulingLabel, "g").Obj())
			}
			report, _ := engine.Report(shopKey)
			reported := slices.ContainsFunc(report.Problems, func(p spec.Problem) bool { return p.Reason == v1alpha1.ReasonGangSplit })
			assert.Equal(t, test.want, reported)
		})
	}
}
