package deploymentcoordination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "example.com/podsequence/apis/apps/v1"
)

// long is longer ago than anything waits.
const long = -time.Hour

func TestDecide(t *testing.T) {
	type S = []v1.DeploymentState
	type M = []Member
	a, b, c := deployment("a"), deployment("b"), deployment("c")
	rolledOutBefore := record(deployment("a", changed), pending(long), onHold)
	rolledOutBefore.RolledOutTemplateHash = record(deployment("a")).TemplateHash
	waitingA, waitingB := record(deployment("a", changed), pending(long), onHold), record(deployment("b", changed), pending(long), onHold)
	waitingZ := record(deployment("z", changed), pending(long), onHold)
	activeA := record(deployment("a", changed), pending(long), started(-10*time.Second))
	for name, tc := range map[string]struct {
		active      string
		states      S
		members     M
		busy        string
		readySince  time.Duration
		spec        func(*v1.DeploymentCoordinationSpec)
		wantActive  string
		wantPause   []string
		wantUnpause []string
		wantUnmark  []string
		wantAgain   time.Duration // after noon; zero if never
	}{
		"nothing to roll out": {members: M{a, b, c}},
		"a change is paused, and waits for others that come with it": {
			states: S{record(a)}, members: M{deployment("a", changed)},
			wantPause: []string{"a"}, wantAgain: time.Second,
		},
		"a Deployment that was just created is a change": {
			members:   M{deployment("a", func(m *Member) { m.ReplicaSets = nil })},
			wantPause: []string{"a"}, wantAgain: time.Second,
		},
		"of changes that come together the first by name, not the first to come": {
			states:     S{record(deployment("a", changed), pending(-1100*time.Millisecond), onHold), record(deployment("b", changed), pending(-2*time.Second), onHold)},
			members:    M{deployment("a", changed, held), deployment("b", changed, held)},
			wantActive: "a", wantUnpause: []string{"a"},
		},
		"the others are paused before the first goes": {
			states:     S{waitingA, record(b)},
			members:    M{deployment("a", changed, held), deployment("b", changed)},
			wantActive: "a", wantPause: []string{"b"}, wantUnpause: []string{"a"},
		},
		"one rolls out, the next waits": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolling), deployment("b", changed, held)},
			wantActive: "a",
		},
		"one that is recorded as active but not unpaused yet": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", changed, held), deployment("b", changed, held)},
			wantActive: "a", wantUnpause: []string{"a"},
		},
		"when one has rolled out, it is the next one's turn": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolled), deployment("b", changed, held)},
			wantActive: "b", wantUnpause: []string{"b"},
		},
		"pods of the old template are in the way": {
			active: "a", states: S{activeA, waitingB},
			members: M{deployment("a", rolled, func(m *Member) { m.ReplicaSets[0].Status.Replicas = 1 }),
				deployment("b", changed, held)},
			wantActive: "a",
		},
		"not before the Deployment controller has seen the change": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolled, func(m *Member) { m.Deployment.Generation++ }), deployment("b", changed, held)},
			wantActive: "a",
		},
		"the wait for readiness counts from the next full second": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolled, progress("NewReplicaSetAvailable", -3*time.Second)), deployment("b", changed, held)},
			readySince: -4 * time.Second,
			spec:       func(s *v1.DeploymentCoordinationSpec) { s.MinReadySeconds = 5 },
			wantActive: "a", wantAgain: 3 * time.Second, // finished at 11:59:57 and something, plus 5 s
		},
		"the wait begins again when a pod has failed": {
			active: "a", states: S{record(deployment("a", changed), started(-20*time.Second), finished(-15*time.Second)), waitingB},
			members:    M{deployment("a", rolled), deployment("b", changed, held)},
			readySince: -2 * time.Second,
			spec:       func(s *v1.DeploymentCoordinationSpec) { s.MinReadySeconds = 5 },
			wantActive: "a", wantAgain: 4 * time.Second,
		},
		"the wait does not begin while a pod of the rollout fails": {
			active: "a", states: S{record(deployment("a", changed), started(-20*time.Second), finished(-15*time.Second)), waitingB},
			members:    M{deployment("a", rolled, failing), deployment("b", changed, held)},
			spec:       func(s *v1.DeploymentCoordinationSpec) { s.MinReadySeconds = 5 },
			wantActive: "a", wantAgain: 30 * time.Second,
		},
		"a pod that scaling adds does not matter": {
			active: "a", states: S{record(deployment("a", changed), started(-20*time.Second), finished(-15*time.Second)), waitingB},
			members:    M{deployment("a", rolled, failing), deployment("b", changed, held)},
			readySince: -15 * time.Second,
			spec:       func(s *v1.DeploymentCoordinationSpec) { s.MinReadySeconds = 5 },
			wantActive: "b", wantUnpause: []string{"b"},
		},
		"the wait is over": {
			active: "a", states: S{record(deployment("a", changed), started(-20*time.Second), finished(-6*time.Second)), waitingB},
			members:    M{deployment("a", rolled), deployment("b", changed, held)},
			readySince: -6 * time.Second,
			spec:       func(s *v1.DeploymentCoordinationSpec) { s.MinReadySeconds = 5 },
			wantActive: "b", wantUnpause: []string{"b"},
		},
		"scaling is no rollout": {
			states:  S{record(a)},
			members: M{deployment("a", failing, func(m *Member) { m.Deployment.Generation++; *m.Deployment.Spec.Replicas = 9 })},
		},
		"scaling is no rollout for one that is seen for the first time either": {
			members: M{deployment("a", failing, progress("NewReplicaSetAvailable", long))},
		},
		"a change that is taken back while it waits": {
			states: S{waitingA}, members: M{deployment("a", held)},
			wantUnpause: []string{"a"},
		},
		"a change that is taken back while it waits and a pod fails": {
			active: "b", states: S{rolledOutBefore, record(deployment("b", changed), pending(long), started(-10*time.Second))},
			members:    M{deployment("a", held, failing), deployment("b", rolling)},
			wantActive: "b", wantUnpause: []string{"a"},
		},
		"a change that is taken back when half of it has been rolled out": {
			active: "b", states: S{rolledOutBefore, record(deployment("b", changed), pending(long), started(-10*time.Second))},
			members:    M{deployment("a", rolling, held, func(m *Member) { setTemplate(m.Deployment, "first") }), deployment("b", rolling)},
			wantActive: "b",
		},
		"a rollback while active is a new rollout in the same turn, whose time it does not prolong": {
			active: "a", states: S{record(deployment("a", changed), pending(long), started(-20*time.Second)), waitingB},
			members:    M{deployment("a", rolling, func(m *Member) { setTemplate(m.Deployment, "first") }), deployment("b", changed, held)},
			spec:       func(s *v1.DeploymentCoordinationSpec) { s.RolloutTimeoutSeconds = new(int32(30)) },
			wantActive: "a", wantAgain: 11 * time.Second,
		},
		"no time passes for the active one while its owner has it paused": {
			active: "a", states: S{activeA, waitingB},
			members: M{deployment("a", rolling, pausedByItsOwner), deployment("b", changed, held)},
			spec: func(s *v1.DeploymentCoordinationSpec) {
				s.RolloutTimeoutSeconds, s.OnTimeout = new(int32(5)), v1.TimeoutSkip
			},
			wantActive: "a",
		},
		"the active one is deleted": {
			active: "a", states: S{activeA, waitingB}, members: M{deployment("b", changed, held)},
			wantActive: "b", wantUnpause: []string{"b"},
		},
		"the active one is deleted and made again: it waits like any other": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", anew, func(m *Member) { m.ReplicaSets = nil }), deployment("b", changed, held)},
			wantActive: "b", wantPause: []string{"a"}, wantUnpause: []string{"b"},
		},
		"one that its owner paused is left alone": {
			states:     S{record(deployment("a", changed), pending(long)), waitingB},
			members:    M{deployment("a", changed, pausedByItsOwner), deployment("b", changed, held)},
			wantActive: "b", wantUnpause: []string{"b"},
		},
		"the active one that its owner pauses keeps its turn": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolling, pausedByItsOwner), deployment("b", changed, held)},
			wantActive: "a",
		},
		"a mark without a pause is taken off": {
			states: S{record(a)}, members: M{deployment("a", markLeft)},
			wantUnmark: []string{"a"},
		},
		"a rollout within its time": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolling), deployment("b", changed, held)},
			spec:       func(s *v1.DeploymentCoordinationSpec) { s.RolloutTimeoutSeconds = new(int32(30)) },
			wantActive: "a", wantAgain: 21 * time.Second,
		},
		"Halt: a rollout that takes too long keeps its turn": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolling), deployment("b", changed, held)},
			spec:       func(s *v1.DeploymentCoordinationSpec) { s.RolloutTimeoutSeconds = new(int32(5)) },
			wantActive: "a",
		},
		"Halt: and loses it when it is late ready": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolled), deployment("b", changed, held)},
			spec:       func(s *v1.DeploymentCoordinationSpec) { s.RolloutTimeoutSeconds = new(int32(5)) },
			wantActive: "b", wantUnpause: []string{"b"},
		},
		"Skip: a rollout that takes too long is paused where it is": {
			active: "a", states: S{activeA, waitingB},
			members: M{deployment("a", rolling), deployment("b", changed, held)},
			spec: func(s *v1.DeploymentCoordinationSpec) {
				s.RolloutTimeoutSeconds, s.OnTimeout = new(int32(5)), v1.TimeoutSkip
			},
			wantActive: "b", wantPause: []string{"a"}, wantUnpause: []string{"b"},
		},
		"Skip: and does not come again": {
			states:  S{record(deployment("a", changed), pending(long), onHold, skipped)},
			members: M{deployment("a", rolling, heldAsSkipped)},
		},
		"Skip: until its template changes, and then waits for its turn like any other": {
			states:    S{record(deployment("a", changed), pending(long), onHold, skipped)},
			members:   M{deployment("a", rolling, heldAsSkipped, func(m *Member) { setTemplate(m.Deployment, "third") })},
			wantPause: []string{"a"}, wantAgain: time.Second,
		},
		"Skip: or its owner takes it out": {
			states:     S{record(deployment("a", changed), pending(long), onHold, skipped), waitingB},
			members:    M{deployment("a", rolling, takenOut), deployment("b", changed, held)},
			wantActive: "a", wantUnmark: []string{"a"},
		},
		"Skip: it rolls out beside the active one if its owner takes it out then": {
			active: "b", states: S{record(deployment("a", changed), pending(long), onHold, skipped), record(deployment("b", changed), pending(long), started(-time.Second))},
			members:    M{deployment("a", rolling, takenOut), deployment("b", rolling)},
			wantActive: "b", wantUnmark: []string{"a"},
		},
		"Skip: that somebody unpauses it is not enough": {
			states:    S{record(deployment("a", changed), pending(long), onHold, skipped)},
			members:   M{deployment("a", rolling, markLeft)},
			wantPause: []string{"a"},
		},
		"Skip: a rollout that exceeds its own deadline": {
			active: "a", states: S{activeA},
			members:   M{deployment("a", rolling, progress(deadlineExceeded, -time.Second))},
			spec:      func(s *v1.DeploymentCoordinationSpec) { s.OnTimeout = v1.TimeoutSkip },
			wantPause: []string{"a"},
		},
		"a deadline that was exceeded in the second in which it began again": {
			active: "a", states: S{activeA},
			members:    M{deployment("a", rolling, progress(deadlineExceeded, -10*time.Second))},
			spec:       func(s *v1.DeploymentCoordinationSpec) { s.OnTimeout = v1.TimeoutSkip },
			wantActive: "a",
		},
		"a deadline that an earlier rollout exceeded": {
			active: "a", states: S{activeA},
			members:    M{deployment("a", rolling, progress(deadlineExceeded, -time.Minute))},
			spec:       func(s *v1.DeploymentCoordinationSpec) { s.OnTimeout = v1.TimeoutSkip },
			wantActive: "a",
		},
		"an earlier failure stays on record, and nothing got on by the deadline of this rollout": {
			active: "a", states: S{record(deployment("a", changed), pending(long), started(-602*time.Second)), waitingB},
			members:    M{deployment("a", rolling, progress(deadlineExceeded, -time.Hour), deadlineOf(600)), deployment("b", changed, held)},
			spec:       func(s *v1.DeploymentCoordinationSpec) { s.OnTimeout = v1.TimeoutSkip },
			wantActive: "b", wantPause: []string{"a"}, wantUnpause: []string{"b"},
		},
		"an earlier failure stays on record, and this rollout has its time": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolling, progress(deadlineExceeded, -time.Hour), deadlineOf(600)), deployment("b", changed, held)},
			spec:       func(s *v1.DeploymentCoordinationSpec) { s.OnTimeout = v1.TimeoutSkip },
			wantActive: "a", wantAgain: 591 * time.Second,
		},
		"somebody unpauses one that waits: it is paused again": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolling), deployment("b", changed, markLeft)},
			wantActive: "a", wantPause: []string{"b"},
		},
		"somebody replaces one that waits, without our annotations: it is paused again": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolling), deployment("b", rolling)},
			wantActive: "a", wantPause: []string{"b"},
		},
		"its owner takes one that waits out of the order: it is left alone": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolling), deployment("b", changed, takenOut)},
			wantActive: "a", wantUnmark: []string{"b"},
		},
		"and first only took over the pause": {
			active: "a", states: S{activeA, record(deployment("b", changed), pending(long))},
			members:    M{deployment("a", rolling), deployment("b", changed, takenOut)},
			wantActive: "a", wantUnmark: []string{"b"},
		},
		"it was taken out, and then its pause is taken over": {
			states:  S{waitingB},
			members: M{deployment("b", changed, takenOut, pausedByItsOwner)},
		},
		"it is taken out when it has the turn anyway": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", changed, takenOut), deployment("b", changed, held)},
			wantActive: "a", wantUnmark: []string{"a"},
		},
		"and stays so": {
			active: "a", states: S{activeA, record(deployment("b", changed), pending(long), resumed)},
			members:    M{deployment("a", rolling), deployment("b", rolling)},
			wantActive: "a",
		},
		"and keeps others from starting": {
			active: "a", states: S{activeA, record(deployment("b", changed), pending(-time.Minute), resumed), record(deployment("c", changed), pending(long), onHold)},
			members:    M{deployment("a", rolled), deployment("b", rolling), deployment("c", changed, held)},
			wantActive: "b",
		},
		"and has the turn of one that has not started": {
			active: "a", states: S{activeA, record(deployment("b", changed), pending(long), resumed)},
			members:    M{deployment("a", changed, held), deployment("b", rolling)},
			wantActive: "b",
		},
		"and is paused when it is changed once more": {
			active: "a", states: S{activeA, record(deployment("b", changed), pending(long), resumed)},
			members:    M{deployment("a", rolling), deployment("b", rolling, func(m *Member) { setTemplate(m.Deployment, "third") })},
			wantActive: "a", wantPause: []string{"b"},
		},
		"its owner takes one that waits out, with another change: that has to wait": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolling), deployment("b", takenOut, func(m *Member) { setTemplate(m.Deployment, "third") })},
			wantActive: "a", wantPause: []string{"b"},
		},
		"one that its owner took out has the turn if nobody else has": {
			states:     S{waitingA, waitingB},
			members:    M{deployment("a", changed, held), deployment("b", rolling, takenOut)},
			wantActive: "b", wantUnmark: []string{"b"},
		},
		"what is paused without a reason gets one": {
			active: "a", states: S{activeA, waitingB},
			members: M{deployment("a", rolling), deployment("b", changed, held, func(m *Member) {
				delete(m.Deployment.Annotations, v1.PauseReasonAnnotation)
			})},
			wantActive: "a", wantPause: []string{"b"},
		},
		"one that was rolling when it came has the turn": {
			members:    M{deployment("a", changed), deployment("z", rolling)},
			wantActive: "z", wantPause: []string{"a"},
		},
		"one that was rolling when it came has the turn of one that has not started": {
			active: "a", states: S{activeA},
			members:    M{deployment("a", changed, held), deployment("z", rolling)},
			wantActive: "z",
		},
		"one that was rolling when it came, while another one rolls": {
			active: "a", states: S{activeA},
			members:    M{deployment("a", rolling), deployment("z", rolling)},
			wantActive: "a", wantPause: []string{"z"},
		},
		"of two that were rolling when they came the first by name goes on": {
			members:    M{deployment("y", rolling), deployment("z", rolling)},
			wantActive: "y", wantPause: []string{"z"},
		},
		"one that was not known to be rolling is no more than a change": {
			states: S{record(deployment("z"))}, members: M{deployment("z", rolling)},
			wantPause: []string{"z"}, wantAgain: time.Second,
		},
		"one that its owner had paused halfway and unpauses has the turn": {
			states:     S{waitingA, record(deployment("b", changed), pending(-time.Minute))},
			members:    M{deployment("a", changed, held), deployment("b", rolling)},
			wantActive: "b",
		},
		"who has waited longest goes first": {
			active: "b", states: S{record(deployment("a", changed), pending(-2*time.Second), onHold),
				record(deployment("b", changed), pending(long), started(-10*time.Second)), record(deployment("z", changed), pending(long), onHold)},
			members:    M{deployment("a", changed, held), deployment("b", rolled), deployment("z", changed, held)},
			wantActive: "z", wantUnpause: []string{"z"},
		},
		"a change of what waits does not cost it its place": {
			states:     S{record(deployment("a", changed), pending(-2*time.Second), onHold), waitingZ},
			members:    M{deployment("a", changed, held), deployment("z", held, func(m *Member) { setTemplate(m.Deployment, "third") })},
			wantActive: "z", wantUnpause: []string{"z"},
		},
		"one that was skipped and is changed waits anew": {
			states:     S{record(deployment("a", changed), pending(long), onHold, skipped), record(deployment("b", changed), pending(-time.Minute), onHold)},
			members:    M{deployment("a", rolling, held, func(m *Member) { setTemplate(m.Deployment, "third") }), deployment("b", changed, held)},
			wantActive: "b", wantUnpause: []string{"b"},
		},
		"another coordination has its turn": {
			states: S{waitingA}, members: M{deployment("a", changed, held)}, busy: "shop/x",
		},
		"another coordination handles it": {
			states: S{record(deployment("a", changed), pending(long))}, members: M{deployment("a", changed, elsewhere)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Coordination: coordination(tc.active, tc.states...), Members: tc.members, Busy: tc.busy, Now: noon}
			if tc.readySince != 0 {
				in.ReadySince = new(noon.Add(tc.readySince))
			}
			if tc.spec != nil {
				tc.spec(&in.Coordination.Spec)
			}
			before := in.Coordination.DeepCopy()
			got := Decide(in)

			want := ""
			if tc.wantActive != "" {
				want = "shop/" + tc.wantActive
			}
			assert.Equal(t, want, got.Status.ActiveDeployment)
			assert.Equal(t, tc.wantPause, names(got.Pause), "paused")
			assert.Equal(t, tc.wantUnpause, names(got.Unpause), "unpaused")
			assert.Equal(t, tc.wantUnmark, names(got.Unmark), "unmarked")
			if tc.wantAgain == 0 {
				assert.Zero(t, got.Again)
			} else {
				assert.Equal(t, noon.Add(tc.wantAgain), got.Again)
			}
			assert.Equal(t, before, in.Coordination, "what it was given has changed")
		})
	}
}

func names(keys []types.NamespacedName) []string {
	var names []string
	for _, key := range keys {
		names = append(names, key.Name)
	}
	return names
}

// When its owner unpauses the active Deployment, it has all its time again.
func TestTheTimeOutBeginsAnewWhenItsOwnerUnpausesTheActiveOne(t *testing.T) {
	in := Input{Coordination: coordination("a", record(deployment("a", changed), pending(long), started(-10*time.Second))), Now: noon}
	in.Coordination.Spec.RolloutTimeoutSeconds, in.Coordination.Spec.OnTimeout = new(int32(5)), v1.TimeoutSkip
	for _, step := range []struct {
		member    Member
		after     time.Duration
		wantSince *metav1.Time
		active    string
	}{
		{member: deployment("a", rolling, pausedByItsOwner), active: "shop/a"},
		{member: deployment("a", rolling, pausedByItsOwner), after: time.Hour, active: "shop/a"},
		{member: deployment("a", rolling), after: 2 * time.Hour, active: "shop/a", wantSince: at(2 * time.Hour)},
		{member: deployment("a", rolling), after: 2*time.Hour + 5*time.Second, active: "shop/a", wantSince: at(2 * time.Hour)},
		{member: deployment("a", rolling), after: 2*time.Hour + 6*time.Second},
	} {
		in.Members, in.Now = []Member{step.member}, noon.Add(step.after)
		in.Coordination.Status = Decide(in).Status
		assert.Equal(t, step.active, in.Coordination.Status.ActiveDeployment, "after %s", step.after)
		assert.Equal(t, step.wantSince, in.Coordination.Status.ActiveSince, "after %s", step.after)
	}
}

// What failed before it came under coordination is known to have failed.
func TestADeploymentThatCameFailing(t *testing.T) {
	failed := deployment("a", rolling, progress(deadlineExceeded, -time.Minute))
	failed.ReplicaSets[1].CreationTimestamp = *at(-time.Hour)
	in := Input{Coordination: coordination(""), Members: []Member{failed}, Now: noon}
	in.Coordination.Status = Decide(in).Status
	require.Equal(t, "shop/a", in.Coordination.Status.ActiveDeployment)
	assert.Equal(t, at(-time.Hour), in.Coordination.Status.DeploymentStates[0].LastRolloutStarted)
	progressing := meta.FindStatusCondition(Decide(in).Status.Conditions, v1.ConditionProgressing)
	assert.Equal(t, v1.ReasonProgressDeadlineExceeded, progressing.Reason)
}

// Once its writes are done, a decision has nothing left to do.
func TestADecisionIsStable(t *testing.T) {
	in := Input{Coordination: coordination(""), Now: noon, Members: []Member{deployment("a", changed), deployment("b", rolling)}}
	first := Decide(in)
	require.Equal(t, []string{"a"}, names(first.Pause))
	in.Coordination.Status = first.Status
	held(&in.Members[0])
	second := Decide(in)
	assert.Empty(t, second.Pause)
	assert.Empty(t, second.Unpause)
	assert.True(t, sameStatus(&first.Status, &second.Status), "%v", second.Status)
}
