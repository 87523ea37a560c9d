package report

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/readiness"
)

// What tenants write into names and annotations reaches status, conditions and events. Other programs print these.
func TestMessagesArePrintableWhateverObjectsSay(t *testing.T) {
	const hostile = "x\x1b[2J\u009b1m\n\u202e\u200b\x7f"
	group := Group{Title: hostile, Expected: 2, Released: true, Current: true, Members: []string{"a"}, Progress: "0 of 2 pods ready: " + hostile}
	failed := group
	failed.Failure = &order.Problem{Reason: v1alpha1.ReasonJobFailed, Message: hostile}
	problems := []order.Problem{{Reason: v1alpha1.ReasonInvalidSpec, Message: hostile}}
	reports := map[string]Report{
		"waiting":          {Groups: []Group{group}, Problems: problems},
		"failed":           {Groups: []Group{failed}},
		"refused":          {Groups: []Group{group}, Refused: true, Problems: problems},
		"on nodes":         {PerNode: true, Groups: []Group{group}, Nodes: []Node{{Name: "a", Group: &group}}, Problems: problems},
		"failed on nodes":  {PerNode: true, Groups: []Group{failed}, Nodes: []Node{{Name: "a", Group: &failed}}},
		"long, in the end": {PerNode: true, Groups: []Group{failed}, Nodes: []Node{{Name: "a", Group: &Group{Failure: &order.Problem{Message: strings.Repeat("ä", 200) + hostile}}}}},
	}
	for name, r := range reports {
		t.Run(name, func(t *testing.T) {
			status := r.Status(&v1alpha1.PodSequence{}, time.Unix(1000, 0))
			texts := []string{status.Message, status.CurrentGroup}
			conditions := status.Conditions
			for _, node := range status.NodeStatus {
				conditions = slices.Concat(conditions, node.Conditions)
			}
			require.NotEmpty(t, conditions)
			for _, condition := range conditions {
				texts = append(texts, condition.Message)
			}
			for _, text := range texts {
				assertPrintable(t, text)
				stored, err := json.Marshal(text)
				require.NoError(t, err)
				assert.NotContains(t, string(stored), `\ufffd`, "it is stored as it was written")
			}
		})
	}
	for reason := range HeldUntilSelected + 1 {
		decision := Decision{Held: true, Reason: reason, Groups: 2, Title: hostile, Others: []string{hostile}, Node: hostile, Need: readiness.Need{}}
		assertPrintable(t, decision.Message())
		assertPrintable(t, decision.MessageNow())
	}
}

func assertPrintable(t *testing.T, text string) {
	t.Helper()
	assert.Negative(t, strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", text)
}
