package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/test/harness/health"
)

// Tools that know nothing of sequences must neither wait for one that will not complete, nor give up one that may.
func TestWhatToolsSayOfASequence(t *testing.T) {
	waiting := Group{Title: "One", Expected: 2, Ready: 1, Released: true, Members: []string{"a", "b"}, Progress: "1 of 2 pods ready"}
	satisfied := Group{Title: "One", Expected: 2, Ready: 2, Released: true, Satisfied: true, Members: []string{"a", "b"}}
	passed, again := satisfied, waiting
	passed.Passed, again.Passed = true, true
	failed := waiting
	failed.Failure = &order.Problem{Reason: v1alpha1.ReasonPodFailed, Message: "pod a failed"}
	problem := func(reason string) []order.Problem { return []order.Problem{{Reason: reason, Message: "change it"}} }
	unfinished := func(change func(*Report)) Report {
		r := Report{Groups: []Group{waiting, {Title: "Two"}}}
		change(&r)
		return r
	}
	finished := func(change func(*Report)) Report {
		r := Report{Groups: []Group{passed, passed}, Current: 2}
		change(&r)
		return r
	}
	perNode := func(nodes ...Node) Report {
		return Report{PerNode: true, Groups: []Group{waiting}, Nodes: nodes}
	}
	asItIs := func(*Report) {}

	for name, test := range map[string]struct {
		report Report
		want   health.Health
		stall  string // reason of Stalled; empty if there is no such condition
	}{
		"no pods yet":        {report: Report{Groups: []Group{{Title: "One", Released: true}}}, want: health.InProgress},
		"a group waits":      {report: unfinished(asItIs), want: health.InProgress},
		"a pass is recorded": {report: unfinished(func(r *Report) { r.Groups[0].Recording = true }), want: health.InProgress},
		"the last group's wait": {
			report: Report{Groups: []Group{satisfied}, Current: 0}, want: health.InProgress,
		},
		"completed": {report: finished(asItIs), want: health.Current},
		"completed, and a pod restarts": {
			report: finished(func(r *Report) { r.Groups[1] = again }), want: health.InProgress,
		},
		"completed, and its Job is cleaned up": {
			report: finished(func(r *Report) {
				r.Groups[0] = Group{Title: "One", Released: true, Satisfied: true, Passed: true, Completed: true}
			}), want: health.Current,
		},
		"a pod has failed":      {report: unfinished(func(r *Report) { r.Groups[0] = failed }), want: health.Failed, stall: "PodFailed"},
		"suspended":             {report: unfinished(func(r *Report) { r.Suspended = true }), want: health.Suspended},
		"suspended and failed":  {report: unfinished(func(r *Report) { r.Suspended, r.Groups[0] = true, failed }), want: health.Failed, stall: "PodFailed"},
		"suspended, all passed": {report: finished(func(r *Report) { r.Suspended = true }), want: health.Current},
		"not allowed": {
			report: unfinished(func(r *Report) { r.Refused, r.Problems = true, problem(v1alpha1.ReasonNamespaceNotAllowed) }),
			want:   health.Failed, stall: "NamespaceNotAllowed",
		},
		"a gate that is not allowed": {
			report: unfinished(func(r *Report) { r.Problems = problem(v1alpha1.ReasonGateNotAllowed) }),
			want:   health.Failed, stall: "GateNotAllowed",
		},
		"a scope that is not supported": {
			report: unfinished(func(r *Report) { r.Problems = problem(v1alpha1.ReasonUnsupportedScope) }),
			want:   health.Failed, stall: "UnsupportedScope",
		},
		"a gang in two groups": {
			report: unfinished(func(r *Report) { r.Problems = problem(v1alpha1.ReasonGangSplit) }), want: health.Failed, stall: "GangSplit",
		},
		"a spec that cannot be read": {
			report: unfinished(func(r *Report) { r.Problems = problem(v1alpha1.ReasonInvalidSpec) }), want: health.Failed, stall: "InvalidSpec",
		},
		"pods that nobody can hold": {
			report: unfinished(func(r *Report) { r.Problems = problem(v1alpha1.ReasonUngovernedPods) }), want: health.InProgress,
		},
		"pods that nobody could hold, completed": {
			report: finished(func(r *Report) { r.Problems = problem(v1alpha1.ReasonUngovernedPods) }), want: health.Current,
		},
		"a name in two groups": {
			report: unfinished(func(r *Report) { r.Problems = problem(v1alpha1.ReasonAmbiguousMembership) }), want: health.InProgress,
		},
		"went on without a group that was too late": {
			report: unfinished(func(r *Report) { r.Problems = problem(v1alpha1.ReasonPodsReadyTimeout) }), want: health.InProgress,
		},
		"no node takes part": {report: perNode(), want: health.InProgress},
		"a node waits":       {report: perNode(Node{Name: "n", Group: &waiting}), want: health.InProgress},
		"all nodes are completed": {
			report: perNode(Node{Name: "n", Current: 1, Completed: true}), want: health.Current,
		},
		"a node has failed, another waits": {
			report: perNode(Node{Name: "n", Group: &failed}, Node{Name: "o", Group: &waiting}), want: health.Failed, stall: "PodFailed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.report.Generation = 3
			ps := &v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "order", Generation: 3}}
			ps.Status = test.report.Status(ps, time.Unix(1000, 0))
			health.Check(t, test.want, ps)

			conditions := ps.Status.Conditions
			assert.Equal(t, ps.Status.Phase == v1alpha1.PhaseCompleted, meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionCompleted))
			stalled := meta.FindStatusCondition(conditions, v1alpha1.ConditionStalled)
			if test.stall == "" {
				assert.Nil(t, stalled)
			} else {
				assert.Equal(t, test.stall, stalled.Reason)
				assert.Nil(t, meta.FindStatusCondition(conditions, v1alpha1.ConditionReconciling))
			}
			assert.Equal(t, conditions, test.report.Status(ps, time.Unix(2000, 0)).Conditions, "nothing has changed")

			ps.Generation++
			health.Check(t, health.InProgress, ps)
			ps.DeletionTimestamp = &metav1.Time{Time: time.Unix(3000, 0)}
			assert.Equal(t, "Terminating", health.Of(t, ps).Kstatus.String())
		})
	}
}

func TestASequenceRecovers(t *testing.T) {
	ps := &v1alpha1.PodSequence{}
	r := Report{Groups: []Group{{Title: "One", Released: true, Failure: &order.Problem{Reason: v1alpha1.ReasonPodFailed, Message: "pod a failed"}}}}
	ps.Status = r.Status(ps, time.Unix(1000, 0))
	health.Check(t, health.Failed, ps)
	r.Groups[0].Failure = nil
	ps.Status = r.Status(ps, time.Unix(2000, 0))
	health.Check(t, health.InProgress, ps)
	r.Groups[0].Satisfied, r.Groups[0].Passed, r.Current = true, true, 1
	ps.Status = r.Status(ps, time.Unix(3000, 0))
	health.Check(t, health.Current, ps)
	assert.Nil(t, meta.FindStatusCondition(ps.Status.Conditions, v1alpha1.ConditionStalled))
	assert.Nil(t, meta.FindStatusCondition(ps.Status.Conditions, v1alpha1.ConditionReconciling))
}

// The API server gives a new object this status: nobody takes it for ready before the controller has seen it.
func TestANewSequenceIsNotReady(t *testing.T) {
	ps := &v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	ps.Status.ObservedGeneration = -1
	assert.Contains(t, health.Check(t, health.InProgress, ps), "has not seen this object yet")
}
