package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	. "example.com/podsequence/internal/testing"
)

func TestPlacesSayWhatEachSequenceDoesByItself(t *testing.T) {
	onNodes := MakeSequence(oracleNamespace, "csi").UID("csi").Label("Driver", "app", "driver").Label("App", "tier", "app").NodeScope().Obj()
	tests := map[string]struct {
		sequence *SequenceWrapper
		wantHeld []bool // by csi, and by the sequence
	}{
		"only the sequence of scope Node holds the pod": {
			MakeSequence(oracleNamespace, "shop").UID("shop").Label("App", "tier", "app"), []bool{true, false},
		},
		"both hold the pod": {
			MakeSequence(oracleNamespace, "shop").UID("shop").Pods("One", "one").Label("App", "tier", "app"), []bool{true, true},
		},
		"the pod waits for nothing in one of two sequences of scope Node": {
			MakeSequence(oracleNamespace, "shop").UID("shop").NodeScope().Label("App", "tier", "app"), []bool{true, false},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			engine.ApplyNode(fleetNode(1, "1"))
			engine.ApplySequence(onNodes)
			engine.ApplySequence(test.sequence.Obj())
			engine.ApplyPod(driver(1, "2", corev1.ConditionFalse))
			app := makePod("app", "4").Label("tier", "app").Obj()
			engine.ApplyPod(app)

			places := engine.Places(app)
			require.Len(t, places, 2)
			for i, want := range test.wantHeld {
				assert.Equal(t, want, places[i].Decision.Held, "%s", places[i].Sequence)
				if want {
					assert.Equal(t, places[i].Sequence, places[i].Decision.Sequence)
				}
			}
			engine.ApplyPod(driver(1, "5", corev1.ConditionTrue))
			assert.False(t, engine.Places(app)[0].Decision.Held, "the driver is ready")
		})
	}
}

// A held pod is written to once for each group that it waits for. So its message must stay true when pods match the group later.
func TestAHeldPodIsNotWrittenToAgainWhenPodsMatchItsGroupLater(t *testing.T) {
	engine := newEngine()
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Label("Database", "tier", "db").Label("App", "tier", "app").Obj())
	app := makePod("app", "2").Label("tier", "app").Obj()
	changes := engine.ApplyPod(app)
	require.Len(t, changes.Held, 1)
	require.Contains(t, engine.Decide(app).Message(), "no pod matched it when this was written")

	changes = engine.ApplyPod(makePod("db", "3").Label("tier", "db").Obj())
	assert.Empty(t, changes.Held)
	assert.Empty(t, changes.Advanced)
	report, ok := engine.Report(shopKey)
	require.True(t, ok)
	assert.Equal(t, "0 of 1 pods ready", report.Groups[0].Progress, "status is written anew")
}
