package readiness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSince(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, time.May, 1, 12, minute, 0, 0, time.UTC) }
	ready := func(minute int) func() time.Time { return func() time.Time { return at(minute) } }
	for name, test := range map[string]struct {
		facts SinceFacts
		ready func() time.Time
		want  time.Time
	}{
		"a group that is not satisfied has no such time":   {SinceFacts{Before: true, SinceBefore: at(1)}, ready(1), time.Time{}},
		"a group that stays satisfied keeps it":            {SinceFacts{Satisfied: true, Before: true, SinceBefore: at(1)}, ready(3), at(1)},
		"the last pod that turned ready completed a group": {SinceFacts{Satisfied: true, Turned: at(2)}, ready(3), at(3)},
		"a group that something else completed is satisfied from now on": {
			SinceFacts{Satisfied: true}, ready(3), at(9),
		},
		"a pod that turned ready again is a break only where the group has a wait": {
			SinceFacts{Satisfied: true, Before: true, SinceBefore: at(1), Turned: at(4)}, ready(4), at(1),
		},
		"a wait begins anew when a pod that is needed turned ready again": {
			SinceFacts{Satisfied: true, Waits: true, Before: true, SinceBefore: at(1), Turned: at(4)}, ready(4), at(4),
		},
		"a wait does not begin anew for a pod that is not needed": {
			SinceFacts{Satisfied: true, Waits: true, Before: true, SinceBefore: at(2), Turned: at(4)}, ready(1), at(2),
		},
		"a wait does not begin anew for a pod that is not needed where the needed ones do not say since when": {
			SinceFacts{Satisfied: true, Waits: true, Before: true, SinceBefore: at(2), Turned: at(4)}, func() time.Time { return time.Time{} }, at(2),
		},
		"at the first look the pods say since when": {SinceFacts{Satisfied: true, FirstLook: true}, ready(3), at(3)},
		"at the first look a group that needs no pod is satisfied from now on": {
			SinceFacts{Satisfied: true, FirstLook: true}, func() time.Time { return time.Time{} }, at(9),
		},
		"at the first look status counts more than the pods": {
			SinceFacts{Satisfied: true, FirstLook: true, IsRecorded: true, Recorded: at(1), RecordedAt: at(1)}, ready(3), at(1),
		},
		"at the first look a wait begins anew when a pod turned ready after what status says": {
			SinceFacts{Satisfied: true, FirstLook: true, Waits: true, IsRecorded: true, Recorded: at(1), RecordedAt: at(1)}, ready(3), at(3),
		},
		"at the first look pods that turned ready after status was written completed the group": {
			SinceFacts{Satisfied: true, FirstLook: true, IsRecorded: true, RecordedAt: at(2)}, ready(3), at(3),
		},
		"at the first look nothing says what completed a group whose pods had been ready before": {
			SinceFacts{Satisfied: true, FirstLook: true, IsRecorded: true, RecordedAt: at(5)}, ready(3), at(9),
		},
		"a time in the future is taken for now": {SinceFacts{Satisfied: true, Turned: at(20)}, ready(20), at(9)},
	} {
		t.Run(name, func(t *testing.T) {
			test.facts.Now = at(9)
			assert.Equal(t, test.want, test.facts.Since(test.ready))
		})
	}
}
