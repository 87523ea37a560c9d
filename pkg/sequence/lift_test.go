package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	. "example.com/podsequence/test/harness/builders"
)

// A gate keeps a pod whatever else is known. So a sequence that is created before the gate is gone holds the pod, if the pod is older
// or not.
func TestASightingOfAPodThatHadGatesIsThatWithoutThem(t *testing.T) {
	const gate, other = "podsequence.example.com/sequence-gate", "other.example.com/gate"
	app := func(version string, gates ...string) *corev1.Pod {
		return makePod("app", version).SchedulerName(oracleScheduler).SchedulingGates(gates).Obj()
	}
	e := newEngine()
	e.ApplyNamespace(allowing("", "1"))
	e.ApplyPod(app("5", gate, other))
	assert.Equal(t, "5", e.FirstSeen(app("5", gate, other)).Version)
	first := e.FirstSeen(app("5", gate, other)).Moment

	assert.Equal(t, "5", e.FirstSeen(app("6", other)).Version, "nobody can schedule it with another gate")
	assert.Equal(t, FirstSeen{Version: "7"}, e.FirstSeen(app("7")), "the engine does not know yet that the gates are gone")
	assert.Equal(t, FirstSeen{Version: "7"}, e.Verdict(app("7")).FirstSeen)

	e.ApplyPod(app("7"))
	assert.Equal(t, "7", e.FirstSeen(app("7")).Version)
	assert.Greater(t, e.FirstSeen(app("7")).Moment, first)
	e.ApplyPod(makePod("app", "9").SchedulerName(oracleScheduler).Label("tier", "app").Obj())
	assert.Equal(t, "7", e.FirstSeen(app("7")).Version)
}

func TestWhatMustBeKnownBeforeGatesAreLifted(t *testing.T) {
	const gate = "podsequence.example.com/sequence-gate"
	tests := map[string]struct {
		scheduler string
		want      string
	}{
		"of a pod of another scheduler: what there was when it was released, for nothing holds it without its gate": {"default-scheduler", "20"},
		"of a pod of ours: what there was when it was first seen, for it can be held without its gate":              {oracleScheduler, "10"},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			e := newEngine()
			e.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("One", "one").Pods("Two", "two").Obj())
			two := makePod("two", "10").SchedulerName(test.scheduler).SchedulingGates([]string{gate}).Obj()
			e.ApplyPod(two)
			moment := e.Moment()
			changes := e.ApplyPod(makePod("one", "20").Phase(corev1.PodSucceeded).Node("n").Obj())
			for subject, question := range changes.Questions {
				e.Confirm(subject, question.Moment)
			}
			e.ApplyPod(makePod("two", "30").SchedulerName(test.scheduler).SchedulingGates([]string{gate}).Annotation("a", "b").Obj())
			e.ApplyPod(makePod("two", "31").SchedulerName(test.scheduler).SchedulingGates([]string{gate}).Label("a", "b").Obj())

			lift := e.Lift(types.NamespacedName{Namespace: oracleNamespace, Name: "two"})
			assert.Equal(t, []string{gate}, lift.Gates)
			assert.Equal(t, test.want, lift.FirstSeen.Version)
			assert.Equal(t, test.want == "20", lift.FirstSeen.Moment > moment)
		})
	}
}

// A pod that waits for a group on nodes loses its gates where nothing that it waits for is on the way, so that an autoscaler sees it.
func TestALiftedGateProvesNothingAboutNodes(t *testing.T) {
	const gate = "podsequence.example.com/sequence-gate"
	e := newEngine()
	e.ApplySequence(MakeSequence(oracleNamespace, "drivers").UID("drivers").NodeScope().Label("Driver", "tier", "driver").Pods("Application", "app").Obj())
	e.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("Application", "app").Obj())
	app := makePod("app", "10").SchedulingGates([]string{gate}).Obj()
	e.ApplyPod(app)

	lift := e.Lift(types.NamespacedName{Namespace: oracleNamespace, Name: "app"})
	assert.Equal(t, []string{gate}, lift.Gates)
	assert.Contains(t, lift.Proof, "shop/")
	assert.NotContains(t, lift.Proof, "drivers/")
	assert.Contains(t, e.Verdict(app).Proof(app), "drivers/", "that is for the binding to a node")
}

func TestALiftedGateProvesThatThePodWaitedForNothingOnNodes(t *testing.T) {
	const gate = "podsequence.example.com/sequence-gate"
	tests := map[string]struct{ suspended, proves bool }{
		"a pod of the first group was released":            {suspended: false, proves: true},
		"while the sequence is suspended the pod is tried": {suspended: true, proves: false},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			sequence := MakeSequence(oracleNamespace, "drivers").UID("drivers").NodeScope().Pods("Driver", "driver").Pods("Application", "app").Obj()
			sequence.Spec.Suspend = test.suspended
			e := newEngine()
			e.ApplySequence(sequence)
			e.ApplyPod(makePod("driver", "10").SchedulingGates([]string{gate}).Obj())

			lift := e.Lift(types.NamespacedName{Namespace: oracleNamespace, Name: "driver"})
			assert.Equal(t, []string{gate}, lift.Gates)
			assert.Equal(t, test.proves, lift.Proof != "", "proof %q", lift.Proof)
		})
	}
}

// It holds nothing, so that it releases a pod says nothing about the order.
func TestADryRunProvesNothing(t *testing.T) {
	const gate = "podsequence.example.com/sequence-gate"
	trial := MakeSequence(oracleNamespace, "trial").UID("trial").Pods("Database", "db").Pods("Application", "app").Obj()
	trial.Spec.DryRun = true
	e := newEngine()
	e.ApplySequence(trial)
	e.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("Application", "app").Obj())
	app := makePod("app", "10").SchedulingGates([]string{gate}).Obj()
	e.ApplyPod(app)

	lift := e.Lift(types.NamespacedName{Namespace: oracleNamespace, Name: "app"})
	assert.Contains(t, lift.Proof, "shop/")
	assert.NotContains(t, lift.Proof, "trial/")
	assert.Equal(t, lift.Proof, e.Verdict(app).Proof(app))
}
