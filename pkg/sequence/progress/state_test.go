package progress

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
)

var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// at is so many seconds after the epoch.
func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// facts are those of groups that nothing is recorded of. ready holds since when groups are satisfied, by group.
type facts struct {
	ready    map[int]int
	passed   map[int]v1alpha1.GroupPass
	recorded map[int]v1alpha1.GroupStatus
	origin   Origin
}

func (f facts) Readiness(group int) Readiness {
	seconds, ready := f.ready[group]
	return Readiness{Satisfied: ready, Since: at(seconds)}
}

func (f facts) IsAbsent(int) bool { return false }

func (f facts) Recorded(group int) v1alpha1.GroupStatus { return f.recorded[group] }

func (f facts) RecordedPass(group int) (v1alpha1.GroupPass, bool) {
	pass, recorded := f.passed[group]
	return pass, recorded
}

// passed are records of passes of some groups.
func passed(groups ...int) map[int]v1alpha1.GroupPass {
	passes := map[int]v1alpha1.GroupPass{}
	for _, group := range groups {
		passes[group] = v1alpha1.GroupPass{At: metav1.NewTime(at(1))}
	}
	return passes
}

func (f facts) Origin(int) Origin { return f.origin }

// diamond is a sequence in which group 3 waits for groups 1 and 2, and these for group 0.
func diamond() *order.Sequence {
	return &order.Sequence{Groups: []*order.Group{
		{}, {Awaited: 0b1, Direct: 0b1}, {Awaited: 0b1, Direct: 0b1}, {Awaited: 0b111, Direct: 0b110},
	}}
}

func TestAdvance(t *testing.T) {
	tests := map[string]struct {
		edit                                            func(*Domain, *State)
		facts                                           facts
		wantPassed, wantReached, wantReleased, wantRipe order.GroupSet
	}{
		"at first only what waits for nothing": {
			wantReached: 0b1, wantReleased: 0b1,
		},
		"a group that is ready is not passed before that is recorded": {
			facts: facts{ready: map[int]int{0: 0}}, wantReached: 0b1, wantReleased: 0b1, wantRipe: 0b1,
		},
		"with it those are ripe that wait for it": {
			facts: facts{ready: map[int]int{0: 0, 2: 0}}, wantReached: 0b1, wantReleased: 0b1, wantRipe: 0b101,
		},
		"both branches start when the first group is passed": {
			facts: facts{passed: passed(0)}, wantPassed: 0b1, wantReached: 0b111, wantReleased: 0b111,
		},
		"one branch alone releases nothing": {
			facts: facts{passed: passed(0, 2)}, wantPassed: 0b101, wantReached: 0b111, wantReleased: 0b111,
		},
		"both branches do": {
			facts: facts{passed: passed(0, 1, 2)}, wantPassed: 0b111, wantReached: 0b1111, wantReleased: 0b1111,
		},
		"a group is not ripe before those that it waits for": {
			facts: facts{ready: map[int]int{1: 0, 2: 0}}, wantReached: 0b1, wantReleased: 0b1,
		},
		"a dry run records nothing": {
			edit:  func(d *Domain, _ *State) { d.DryRunRequested = true },
			facts: facts{ready: map[int]int{0: 0}}, wantPassed: 0b1, wantReached: 0b111, wantReleased: 0b111,
		},
		"a suspension releases nothing more": {
			edit:  func(d *Domain, s *State) { d.Suspended, s.ReleasedBefore = true, 0b11 },
			facts: facts{passed: passed(0)}, wantPassed: 0b1, wantReached: 0b111, wantReleased: 0b11,
		},
		"a namespace that does not allow the sequence": {
			edit:  func(d *Domain, _ *State) { d.Refused = true },
			facts: facts{passed: passed(0)}, wantPassed: 0b1, wantReached: 0b111,
		},
		"what was passed while another group was skipped stays passed, and releases nothing": {
			facts:      facts{passed: passed(2)},
			wantPassed: 0b100, wantReached: 0b1, wantReleased: 0b1,
		},
		"a record that is gone from status takes its pass along": {
			edit: func(_ *Domain, s *State) { s.Passed = 0b1 }, wantReached: 0b1, wantReleased: 0b1,
		},
		"under Continuous nothing is passed that is not ready": {
			edit: func(d *Domain, s *State) { d.Continuous, s.Passed = true, 0b111 }, facts: facts{passed: passed(0, 1, 2)}, wantReached: 0b1, wantReleased: 0b1,
		},
		"a wait that is not over": {
			edit:  func(d *Domain, _ *State) { d.Groups[0].Wait = time.Minute },
			facts: facts{ready: map[int]int{0: 0}}, wantReached: 0b1, wantReleased: 0b1,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, s := Domain{Sequence: diamond(), Facts: tt.facts}, State{}
			if tt.edit != nil {
				tt.edit(&d, &s)
			}
			s.Advance(d, at(30))
			assert.Equal(t, tt.wantPassed, s.Passed, "passed")
			assert.Equal(t, tt.wantReached, s.Reached, "reached")
			assert.Equal(t, tt.wantReleased, s.Released, "released")
			assert.Equal(t, tt.wantRipe, s.Ripe, "ripe")
			assert.Equal(t, tt.wantReached&^tt.wantPassed, s.Current(), "current")
		})
	}
}

func TestAGroupIsReleasedWhenTheLastThatItWaitsForIsPassed(t *testing.T) {
	d, s := Domain{Sequence: diamond(), Facts: facts{ready: map[int]int{0: 5, 1: 20, 2: 10}}}, State{}
	d.DryRunRequested = true
	s.Advance(d, at(30))
	assert.Equal(t, at(5), s.ReleasedAt(d, 2))
	assert.Equal(t, at(20), s.ReleasedAt(d, 3))
	d.Groups[3].Timeout = 30 * time.Second
	assert.Equal(t, at(51), s.Deadline(d, 3), "it counts from the next full second")
	assert.Equal(t, at(51), s.NextWake(d, at(30)))
	assert.False(t, s.TimedOut(d, 3, at(50)))
	assert.True(t, s.TimedOut(d, 3, at(51)))

	d.Facts = facts{ready: map[int]int{0: 5, 1: 20, 2: 10}, recorded: map[int]v1alpha1.GroupStatus{3: {ReleasedAt: &metav1.Time{Time: at(12)}}}}
	assert.Equal(t, at(20), s.ReleasedAt(d, 3), "it was held again since then")
}

// Whoever wrote status may have had a clock that is behind.
func TestAGroupIsNotReleasedBeforeItsSequenceWasCreated(t *testing.T) {
	d, s := Domain{Sequence: diamond(), Facts: facts{origin: Origin{Created: at(0)}, recorded: map[int]v1alpha1.GroupStatus{0: {ReleasedAt: &metav1.Time{Time: at(-300)}}}}}, State{}
	s.Advance(d, at(1))
	assert.Equal(t, at(0), s.ReleasedAt(d, 0))
}

func TestAGroupIsNotPassedBeforeItIsReleased(t *testing.T) {
	d, s := Domain{Sequence: diamond(), Facts: facts{passed: map[int]v1alpha1.GroupPass{
		0: {At: metav1.NewTime(at(20))}, 1: {At: metav1.NewTime(at(5))},
	}}}, State{}
	s.Advance(d, at(30))
	assert.Equal(t, at(20), s.PassedAt(1))
}

// Times of the API are whole seconds, and so are deadlines: what turned ready in the second of its deadline came after it.
func TestAGroupIsInTimeIfItWasReadyBeforeItsDeadline(t *testing.T) {
	tests := map[string]struct {
		readyAt      int
		timeout      time.Duration
		wantDeadline time.Time
		wantTimedOut bool
	}{
		"ready the second before":            {10, 10 * time.Second, at(11), false},
		"ready at the deadline":              {11, 10 * time.Second, at(11), true},
		"ready afterwards":                   {12, 10 * time.Second, at(11), true},
		"ready in the second of a deadline":  {11, 10500 * time.Millisecond, at(11).Add(500 * time.Millisecond), true},
		"ready the second before that again": {10, 10500 * time.Millisecond, at(11).Add(500 * time.Millisecond), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, s := Domain{Sequence: diamond(), Facts: facts{ready: map[int]int{0: tt.readyAt}, origin: Origin{Created: epoch}}}, State{Reached: 0b1, Released: 0b1}
			d.Groups[0].Timeout, d.Groups[0].Wait = tt.timeout, time.Hour
			assert.Equal(t, tt.wantDeadline, s.Deadline(d, 0))
			assert.Equal(t, tt.wantTimedOut, s.TimedOut(d, 0, at(15)))
		})
	}
}

// The clock of this machine may have been set back since. Without a wait nothing will look at the group again at that time.
func TestALateGroupWithoutAWaitIsSatisfiedOnceThoughTheClockIsBehindIt(t *testing.T) {
	d := Domain{Sequence: diamond(), Facts: facts{ready: map[int]int{0: 20}, origin: Origin{Created: epoch}}}
	d.Continuous, d.Groups[0].Timeout, d.Groups[0].ContinueOnTimeout = true, 10*time.Second, true
	s := State{}
	s.Advance(d, at(15))
	assert.Zero(t, s.NextWake(d, at(15)))
	d.Facts = facts{origin: Origin{Created: epoch}}
	s.Advance(d, at(30))
	assert.False(t, s.Reached.Has(1), "the group broke after it was satisfied: it has no time-out any more")
}

func TestATimeoutOnANodeCountsFromWhenTheGroupWasSeenToWait(t *testing.T) {
	d, s := Domain{Sequence: diamond(), Facts: facts{}, OnNode: true, Known: true}, State{}
	d.PerNode, d.Continuous, d.Groups[0].Timeout = true, true, 10*time.Second
	s.Advance(d, at(30))
	assert.Equal(t, at(41), s.Deadline(d, 0), "it may have waited before, but nobody saw that")
	s.Advance(d, at(35))
	assert.Equal(t, at(41), s.Deadline(d, 0))
	d.Facts = facts{ready: map[int]int{0: 36}}
	s.Advance(d, at(36))
	assert.Zero(t, s.Deadline(d, 0), "it does not wait any more")
	d.Facts = facts{}
	s.Advance(d, at(40))
	assert.Equal(t, at(51), s.Deadline(d, 0), "it was lost")
	d.Suspended, s.ReleasedBefore = true, 0
	s.Advance(d, at(45))
	assert.Zero(t, s.Deadline(d, 0), "it is held")
	d.Suspended = false
	s.Advance(d, at(60))
	assert.Equal(t, at(71), s.Deadline(d, 0), "it is released again")
	d.Facts = facts{origin: Origin{Resumed: at(62)}}
	assert.Equal(t, at(73), s.Deadline(d, 0), "a suspension during which it stayed released ended")
}

// notHere are facts of groups that are not for the node.
type notHere struct{ facts }

func (n notHere) Readiness(group int) Readiness {
	r := n.facts.Readiness(group)
	r.Elsewhere = true
	return r
}

func TestAGroupThatIsNotForTheNodeIsPassedAndNeverSatisfied(t *testing.T) {
	d, s := Domain{Sequence: diamond(), Facts: notHere{facts{ready: map[int]int{0: 0}}}, OnNode: true, Known: true}, State{}
	d.PerNode, d.Continuous = true, true
	s.Advance(d, at(30))
	assert.Equal(t, order.Before(4), s.Passed)
	assert.Zero(t, s.Once, "labels of the node may change, and the group then has its time-out")
}
