package kueue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/sequence"
)

const heldMessage = `Its pods are held by PodSequence shop/shop until group 1/2 "Database" is passed.`

var (
	shop   = types.NamespacedName{Namespace: "shop", Name: "shop"}
	isHeld = sequence.Hold{Sequence: shop, Group: `group 1/2 "Database"`, Groups: []int{0}}
	isTurn = sequence.Hold{}
	ours   = sets.New("sequence")
)

// made is a Workload with edits.
func made(edits ...func(*workload)) *workload {
	w := &workload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "api", Generation: 2}}
	for _, edit := range edits {
		edit(w)
	}
	return w
}

func checked(state, message string) func(*workload) {
	return func(w *workload) {
		w.Status.AdmissionChecks = append(w.Status.AdmissionChecks, checkState{"sequence", state, message})
	}
}

func with(condition string, status metav1.ConditionStatus, reason, message string) func(*workload) {
	return func(w *workload) {
		w.Status.Conditions = append(w.Status.Conditions, metav1.Condition{Type: condition, Status: status, Reason: reason, Message: message})
	}
}

func has(condition string) func(*workload) { return with(condition, metav1.ConditionTrue, "R", "") }

func state(state, message string) []checkState { return []checkState{{"sequence", state, message}} }

func TestDecide(t *testing.T) {
	out := &metav1.Condition{Type: "Requeued", Status: metav1.ConditionFalse, Reason: ReasonWaits, Message: heldMessage, ObservedGeneration: 2}
	in := &metav1.Condition{Type: "Requeued", Status: metav1.ConditionTrue, Reason: ReasonTurn, Message: messageReady, ObservedGeneration: 2}
	gone := &metav1.Condition{
		Type: "Requeued", Status: metav1.ConditionTrue, Reason: ReasonTurn, Message: "The check that kept it from the queue is gone.", ObservedGeneration: 2,
	}
	waits := with("Requeued", metav1.ConditionFalse, ReasonWaits, heldMessage)
	for name, tc := range map[string]struct {
		workload *workload
		hold     sequence.Hold
		want     decision
	}{
		"a Workload that nobody asks about": {made(), isHeld, decision{}},
		"a check of somebody else": {made(func(w *workload) {
			w.Status.AdmissionChecks = []checkState{{"provisioning", "Pending", ""}}
		}), isHeld, decision{}},
		"one that must wait": {made(checked("Pending", "")), isHeld, decision{state("Retry", heldMessage), out}},
		"one that must wait, and Kueue has reserved quota": {
			made(checked("Pending", ""), has("QuotaReserved")), isHeld, decision{state("Retry", heldMessage), out},
		},
		"one that is held already": {made(checked("Retry", heldMessage), waits), isHeld, decision{}},
		"one that is held by another group now": {
			made(checked("Retry", "Its pods are held by ..."), with("Requeued", metav1.ConditionFalse, ReasonWaits, "Its pods are held by ...")),
			isHeld, decision{state("Retry", heldMessage), out},
		},
		"one that Kueue has put back into the queue": {
			made(checked("Retry", heldMessage), with("Requeued", metav1.ConditionTrue, "BackoffFinished", "")), isHeld, decision{queue: out},
		},
		"one that Kueue itself keeps from the queue": {
			made(checked("Pending", ""), with("Requeued", metav1.ConditionFalse, "LocalQueueStopped", "")), isHeld, decision{checks: state("Retry", heldMessage)},
		},
		"its turn, at once":                    {made(checked("Pending", "")), isTurn, decision{checks: state("Ready", messageReady)}},
		"its turn, after it was held":          {made(checked("Retry", heldMessage), waits), isTurn, decision{state("Ready", messageReady), in}},
		"its turn, and Kueue resets its check": {made(checked("Pending", ""), waits), isTurn, decision{state("Ready", messageReady), in}},
		"its turn, and Kueue keeps it from the queue": {
			made(checked("Retry", heldMessage), with("Requeued", metav1.ConditionFalse, "Deactivated", "")), isTurn, decision{checks: state("Ready", messageReady)},
		},
		"its turn, as is known":              {made(checked("Ready", messageReady)), isTurn, decision{}},
		"it was free and must wait now":      {made(checked("Ready", messageReady)), isHeld, decision{state("Retry", heldMessage), out}},
		"it runs: nobody stops what started": {made(checked("Ready", messageReady), has("QuotaReserved"), has("Admitted")), isHeld, decision{}},
		"it runs when the check is added": {
			made(checked("Pending", ""), has("QuotaReserved"), has("Admitted")), isHeld, decision{checks: state("Ready", messageAdmitted)},
		},
		"Kueue is evicting it":             {made(checked("Pending", ""), has("QuotaReserved"), has("Admitted"), has("Evicted")), isHeld, decision{}},
		"Kueue has evicted it":             {made(checked("Pending", ""), has("Evicted")), isHeld, decision{state("Retry", heldMessage), out}},
		"it is finished":                   {made(checked("Pending", ""), has("Finished")), isHeld, decision{}},
		"it is not active":                 {made(checked("Pending", ""), func(w *workload) { w.Spec.Active = new(false) }), isHeld, decision{}},
		"it is being deleted":              {made(checked("Pending", ""), func(w *workload) { w.DeletionTimestamp = &metav1.Time{} }), isHeld, decision{}},
		"its queue has no such check more": {made(waits), isHeld, decision{queue: gone}},
		"its queue never had the check":    {made(with("Requeued", metav1.ConditionFalse, "Deactivated", "")), isTurn, decision{}},
		"its queue has other checks as well": {made(checked("Pending", ""), func(w *workload) {
			w.Status.AdmissionChecks = append(w.Status.AdmissionChecks, checkState{"x", "Pending", ""})
		}), isTurn, decision{checks: state("Ready", messageReady)}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, decide(tc.workload, ours, tc.hold, ""))
		})
	}
}

func TestDecidedTwiceIsDecidedOnce(t *testing.T) {
	w := made(checked("Pending", ""))
	for _, hold := range []sequence.Hold{isHeld, isTurn, isHeld} {
		d := decide(w, ours, hold, " See X.")
		assert.False(t, d.empty())
		w.Status.AdmissionChecks = d.checks
		if d.queue != nil {
			w.Status.Conditions = []metav1.Condition{*d.queue}
		}
		assert.True(t, decide(w, ours, hold, " See X.").empty())
		assert.Contains(t, w.Status.AdmissionChecks[0].Message, " See X.")
	}
}
