package integration

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

// expectRow waits until kubectl get prints the row of an object like this, without its name and age.
func (s *story) expectRow(object client.Object, want map[string]string) {
	s.Helper()
	cluster.Eventually(s, fmt.Sprintf("the row of %s", object.GetName()), func() error {
		row := s.Row(object).Cells
		delete(row, "Name")
		delete(row, "Age")
		if diff := cmp.Diff(want, row); diff != "" {
			return fmt.Errorf("columns (-want +got):\n%s", diff)
		}
		return nil
	})
}

func TestKubectlGetSaysWhatIsSpecialAboutASequence(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	annotated := func(key, value string) func(*builders.SequenceWrapper) {
		return func(w *builders.SequenceWrapper) { w.Annotations = map[string]string{key: value} }
	}
	for name, test := range map[string]struct {
		edit func(*builders.SequenceWrapper)
		// ready makes the pod of the first group ready.
		ready bool
		want  map[string]string // what differs from a sequence that waits for its first group
	}{
		"runs": {},
		"goes-on": {ready: true, want: map[string]string{
			"Current": "2/2 Application", "Pods": "0/1", "Message": `waiting for group 2/2 "Application": 0 of 1 pods ready`,
		}},
		"suspended": {
			edit: func(w *builders.SequenceWrapper) { w.Suspend() },
			want: map[string]string{"State": "Suspended", "Message": `waiting for group 1/2 "Database": 0 of 1 pods ready (suspended)`},
		},
		"suspended-by-annotation": {
			edit: annotated(v1alpha1.SuspendAnnotation, "true"),
			want: map[string]string{"State": "Suspended,Overridden", "Message": `waiting for group 1/2 "Database": 0 of 1 pods ready (suspended)`},
		},
		"dry-run": {
			edit: func(w *builders.SequenceWrapper) { w.Spec.DryRun = true },
			want: map[string]string{
				"State": "DryRun", "Message": `waiting for group 1/2 "Database": 0 of 1 pods ready (dry run: no pod is held, 1 would be)`,
			},
		},
		"skipped-by-annotation": {
			edit: annotated(v1alpha1.SkipAnnotation, "Database"),
			want: map[string]string{
				"State": "Overridden", "Current": "2/2 Application", "Message": `waiting for group 2/2 "Application": 0 of 1 pods ready`,
			},
		},
		"skipped": {
			edit: func(w *builders.SequenceWrapper) { w.Spec.PodGroups[0].Skip, w.Spec.PodGroups[1].Skip = true, true },
			want: map[string]string{
				"Phase": "Completed", "Ready": "True", "Current": "-", "Pods": "0/2", "Message": "all 2 groups are passed, or skipped (2 of them)",
			},
		},
		"continuous": {
			edit: func(w *builders.SequenceWrapper) { w.Mode(v1alpha1.Continuous) },
			want: map[string]string{"Mode": "Continuous"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sequence := s.sequence(name).Pods("Database", name+"-db").Pods("Application", name+"-app")
			if test.edit != nil {
				test.edit(sequence)
			}
			s.Create(sequence.Obj())
			s.createPods(s.pod(name+"-db"), s.pod(name+"-app"))
			if test.ready {
				s.awaitBound(name + "-db")
				s.makeReady(name + "-db")
			}
			want := map[string]string{
				"Phase": "InProgress", "State": "Active", "Ready": "False", "Scope": "Cluster", "Current": "1/2 Database", "Pods": "0/1",
				"Mode": "BootstrapOnly", "Message": `waiting for group 1/2 "Database": 0 of 1 pods ready`,
			}
			for column, cell := range test.want {
				want[column] = cell
			}
			s.expectRow(sequence.Obj(), want)
		})
	}
}

func TestKubectlGetShowsTheSameOfBothKindsOfSequences(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.threeTiers().Obj())
	across := s.across()
	across.Spec.Scope = v1alpha1.ScopeNode
	s.createAcross(across)
	s.expectRow(across, map[string]string{
		"Phase": "Pending", "State": "Active", "Ready": "False", "Scope": "Node", "Current": "1/2 Driver", "Pods": "0/0",
		"Mode": "Continuous", "Message": "no node takes part yet; pods without a node: 0",
	})
	for _, object := range []client.Object{s.getSequence("shop"), across} {
		row := s.Row(object)
		assert.Equal(t, []string{"Name", "Phase", "State", "Ready", "Scope", "Current", "Pods", "Age"}, row.Header)
		assert.Equal(t, []string{"Mode", "Message"}, row.Wide)
	}
}

// What an earlier release stored has no state. The controller adds it, and changes nothing else for that.
func TestASequenceWithTheStatusOfAnEarlierReleaseGetsAState(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.threeTiers().Suspend().Obj())
	s.createPods(s.pod("db"))
	s.awaitCondition("shop", v1alpha1.ConditionSuspended, "True", v1alpha1.ReasonSuspended)
	written := func() bool { return s.getSequence("shop").Status.State == "Suspended" }
	s.Await("the state", written)
	s.Await("its pod to be counted", func() bool { return s.getSequence("shop").Status.Phase == v1alpha1.PhaseInProgress })
	before := s.getSequence("shop").Status
	cluster.ChangeStatus(s.Story, s.getSequence("shop"), func(ps *v1alpha1.PodSequence) {
		ps.Status.State, ps.Status.EnforcementMode = "", ""
	})
	s.Await("the state again", written)
	assert.Equal(t, before, s.getSequence("shop").Status)
}
