package objectwatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// A wait counts from when an object became ready. A condition may keep the time of an earlier transition.
func TestAConditionIsNotTrueSinceBeforeItWasSeenOtherwise(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 300_000_000, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	second := func(seconds int) time.Time { return at(seconds).Truncate(time.Second) }
	satisfied := Observation{State: v1alpha1.ObjectSatisfied, UID: "a"}
	for name, tc := range map[string]struct {
		seenOtherwise bool
		claims, want  time.Time
	}{
		"it was never seen otherwise":           {claims: second(-60), want: second(-60)},
		"it turned since":                       {seenOtherwise: true, claims: second(4), want: second(4)},
		"it turned in the same second":          {seenOtherwise: true, claims: second(0), want: second(0)},
		"it claims to have been so at the time": {seenOtherwise: true, claims: second(-60)},
	} {
		t.Run(name, func(t *testing.T) {
			j := &judgement{}
			if tc.seenOtherwise {
				j.become(Observation{State: v1alpha1.ObjectWaiting, UID: "a"}, at(0))
			}
			for range 2 { // it stays like this
				observed := satisfied
				observed.Since = tc.claims
				j.become(observed, at(5))
				assert.Equal(t, tc.want, j.Since)
				assert.Equal(t, at(5), j.Seen)
				assert.Equal(t, tc.seenOtherwise, j.Turned)
			}
		})
	}
}
