package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// asItIs is a status as this release writes and reads it.
func asItIs(status v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus { return status }

// withoutMemory is a status as an earlier release finds it: its definition of the kind prunes what it does not know.
func withoutMemory(status v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus {
	status.Memory = nil
	return status
}

// A pass on record holds whichever release wrote status, though nothing of the group is left.
func TestAPassOnRecordHoldsWhicheverReleaseWroteIt(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	shop := func() *v1alpha1.PodSequence {
		w := MakeSequence(oracleNamespace, "shop").UID("shop").Label("Migration", "tier", "migrate").Label("App", "tier", "app")
		w.CreationTimestamp = metav1.NewTime(now)
		return w.Obj()
	}
	engine := newEngine()
	engine.Tick(now)
	engine.ApplySequence(shop())
	engine.ApplyPod(makePod("migrate", "1").Label("tier", "migrate").Node("node-0").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj())
	status, _ := statusSize(t, engine, "shop")
	require.NotNil(t, status.Groups[0].PassedAt)
	require.NotEmpty(t, status.Memory.Groups[0].Hash)

	cut := func(status v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus {
		status = *status.DeepCopy()
		status.Memory.Groups = nil
		return status
	}
	memoryAlone := func(status v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus {
		status = *status.DeepCopy()
		for i := range status.Groups {
			status.Groups[i].Hash = ""
		}
		return status
	}
	wiped := func(v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus { return v1alpha1.PodSequenceStatus{} }
	for name, test := range map[string]struct {
		write func(v1alpha1.PodSequenceStatus) v1alpha1.PodSequenceStatus
		holds bool
	}{
		"this release":                       {asItIs, true},
		"an earlier release, or a roll-back": {withoutMemory, true},
		"a release that writes memory alone": {memoryAlone, true},
		"a part of the memory is lost":       {cut, true},
		"status was wiped":                   {wiped, false},
	} {
		t.Run(name, func(t *testing.T) {
			ps := shop()
			ps.Status = test.write(status)
			engine := newEngine()
			engine.Tick(now.Add(time.Hour))
			engine.ApplySequence(ps)
			app := makePod("app", "1").Label("tier", "app").Obj()
			engine.ApplyPod(app)
			assert.Equal(t, !test.holds, engine.Decide(app).Held)
		})
	}
}
