package report

import (
	"strings"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// State is what may be special about a sequence. Its zero value is an active one.
type State struct {
	Refused, Suspended, DryRun, Overridden, StartedOutOfOrder bool
}

// String says it in words of conditions and reasons, as status.state does.
func (s State) String() string {
	var words []string
	for _, special := range []struct {
		is   bool
		word string
	}{
		{s.Refused, v1alpha1.ReasonNamespaceNotAllowed},
		{s.Suspended, v1alpha1.ConditionSuspended},
		{s.DryRun, v1alpha1.ConditionDryRun},
		{s.Overridden, v1alpha1.ConditionOverridden},
		{s.StartedOutOfOrder, v1alpha1.ReasonStartedOutOfOrder},
	} {
		if special.is {
			words = append(words, special.word)
		}
	}
	if len(words) == 0 {
		return v1alpha1.StateActive
	}
	return strings.Join(words, ",")
}
