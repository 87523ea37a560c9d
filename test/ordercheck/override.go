package ordercheck

import (
	"slices"
	"strings"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// override adds what the annotations of a sequence say to its facts. An annotation that makes no sense adds nothing.
func (f *sequenceFacts) override(sequence *v1alpha1.PodSequence) {
	text := func(name string) string { return sequence.Annotations["podsequence.example.com/"+name] }
	f.overrides = strings.Join([]string{text("suspend"), text("skip"), text("override-until")}, "|")
	if end := text("override-until"); end != "" {
		var err error
		if f.overriddenUntil, err = time.Parse(time.RFC3339, end); err != nil {
			return
		}
		plain := *f
		plain.groups = slices.Clone(f.groups)
		f.afterwards = &plain
	}
	f.suspended = f.suspended || text("suspend") == "true"
	f.dryRun = f.dryRun && !f.suspended
	var skipped []int
	for name := range strings.SplitSeq(text("skip"), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		found := false
		for i := range f.groups {
			if f.groups[i].name == name {
				skipped, found = append(skipped, i), true
			}
		}
		if !found {
			return // then none is
		}
	}
	for _, i := range skipped {
		f.groups[i].skip = true
	}
}

// asOf returns the facts as they are when an event arrives: what overrides them may be over.
func (f *sequenceFacts) asOf(e event) *sequenceFacts {
	if f.afterwards != nil && !f.overriddenUntil.After(e.arrived) {
		return f.afterwards
	}
	return f
}

// endOverrides brings specs into force of which the annotations count no more. Like an edit, that may race with older pods.
func (j *judge) endOverrides(e event) {
	for i, v := range j.inForce {
		if now := v.sequenceFacts.asOf(e); now != v.sequenceFacts {
			j.world.retire(v, e)
			j.inForce[i] = v.succeed(now, j.world, e)
			j.meet(j.inForce[i])
		}
	}
}
