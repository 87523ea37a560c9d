package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	. "example.com/podsequence/test/harness/builders"
)

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
