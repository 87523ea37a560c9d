package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
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
			app := makePod("app", "4").Label("tier", "app").NodeAffinityIn("metadata.name", []string{"node-1"}, st.NodeSelectorTypeMatchFields).Obj()
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

func TestHeldPodsAreToldWhenTheGroupThatTheyWaitForIsTooLate(t *testing.T) {
	engine := newEngine()
	start := time.Unix(1_700_000_000, 0)
	engine.Tick(start)
	shop := MakeSequence(oracleNamespace, "shop").UID("shop").Label("Database", "tier", "db").Timeout("10s", v1alpha1.TimeoutFail).Label("App", "tier", "app").Obj()
	shop.CreationTimestamp = metav1.NewTime(start)
	engine.ApplySequence(shop)
	engine.ApplyPod(makePod("db", "2").Label("tier", "db").Obj())
	app := makePod("app", "3").Label("tier", "app").Obj()
	engine.ApplyPod(app)
	require.NotContains(t, engine.Decide(app).Message(), "timeout")

	assert.Equal(t, []types.NamespacedName{shopKey}, engine.Tick(start.Add(12*time.Second)).Advanced)
	assert.Contains(t, engine.Decide(app).Message(), "within its timeout")
	assert.Empty(t, engine.Tick(start.Add(13*time.Second)).Advanced, "once")

	later := shop.DeepCopy()
	later.Generation, later.ResourceVersion, later.Spec.PodGroups[0].Timeout = 2, "4", "1h"
	assert.Contains(t, engine.ApplySequence(later).Advanced, shopKey)
	assert.NotContains(t, engine.Decide(app).Message(), "timeout")
}
