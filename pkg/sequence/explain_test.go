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
