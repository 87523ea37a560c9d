package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	. "example.com/podsequence/test/harness/builders"
)

// A name of a group may have been stored when the definition allowed anything.
func TestANameOfAGroupForgesNoLine(t *testing.T) {
	const name = "db\nReady: True"
	for scope, sequence := range map[string]*SequenceWrapper{
		"Cluster": MakeSequence(oracleNamespace, "shop").UID("shop"), "Node": MakeSequence(oracleNamespace, "shop").UID("shop").NodeScope(),
	} {
		t.Run(scope, func(t *testing.T) {
			engine := newEngine()
			engine.ApplyNode(fleetNode(1, "1"))
			ps := sequence.Label(name, "tier", "db").Label("App", "tier", "app").Obj()
			engine.ApplySequence(ps)
			app := makePod("app", "2").Label("tier", "app").NodeAffinityIn("metadata.name", []string{"node-1"}, st.NodeSelectorTypeMatchFields).Obj()
			engine.ApplyPod(app)
			message := engine.Decide(app).Message()
			require.Contains(t, message, `"db\nReady: True"`)
			assert.NotContains(t, message, "\n")
			assert.NotContains(t, engine.Decide(app).FilterMessage(), "\n")

			report, _ := engine.Report(types.NamespacedName{Namespace: oracleNamespace, Name: "shop"})
			status := report.Status(ps, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
			assert.Equal(t, `1/2 "db\nReady: True"`, status.CurrentGroup)
			assert.NotContains(t, status.Message, "\n")
			for _, condition := range status.Conditions {
				assert.NotContains(t, condition.Message, "\n", condition.Type)
			}
			assert.Equal(t, name, status.Groups[0].Name, "a field is what the spec says")
		})
	}
}
