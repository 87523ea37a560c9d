package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
)

// Whoever does what is advised must not find the pod held by what nobody lifts.
func TestWhatCannotBeHeldIsToldWhatWouldHoldIt(t *testing.T) {
	ours := []string{"podsequence-scheduler"}
	for name, tc := range map[string]struct {
		sequence   order.Sequence
		schedulers []string
		want       string
	}{
		"both hold it": {
			sequence: order.Sequence{Gate: "g", GateAllowed: true}, schedulers: ours,
			want: "web cannot be held: set schedulerName to podsequence-scheduler, or add the scheduling gate g, in the pod template",
		},
		"the gate is not allowed": {
			sequence: order.Sequence{Gate: "other.io/g"}, schedulers: ours,
			want: "web cannot be held: set schedulerName to podsequence-scheduler in the pod template",
		},
		"the gate is not allowed, and there is no scheduler": {
			sequence: order.Sequence{Gate: "other.io/g"},
			want:     "web cannot be held: correct schedulingGateName, then add that scheduling gate in the pod template",
		},
		"no gate holds it for nodes": {
			sequence: order.Sequence{Gate: "g", GateAllowed: true, PerNode: true}, schedulers: ours,
			want: "web cannot be held: set schedulerName to podsequence-scheduler in the pod template",
		},
		"no gate holds it for nodes, and there is no scheduler": {
			sequence: order.Sequence{Gate: "g", GateAllowed: true, PerNode: true},
			want:     "web cannot be held: podsequence-scheduler is not part of this installation: install it, or use scope Cluster",
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, Ungoverned([]string{"web"}, &tc.sequence, tc.schedulers).Message)
		})
	}
}

// The definitions allow fewer. They may have allowed more when the sequence was stored.
func TestMessagesOfMoreObjectsThanAllowedAreCut(t *testing.T) {
	groups := []v1alpha1.GroupStatus{{Objects: make([]v1alpha1.ObjectStatus, 3*maxObjectMessages)}}
	for i := range groups[0].Objects {
		groups[0].Objects[i].Message = "message"
	}
	require.NotPanics(t, func() { CutObjectMessages(groups) })
	assert.Equal(t, "...", groups[0].Objects[0].Message)
}
