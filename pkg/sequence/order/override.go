package order

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Override is what annotations of a sequence add to its spec for a time. The zero value adds nothing.
type Override struct {
	// Suspend reports that they suspend the sequence.
	Suspend bool
	// Skip are the names of the groups that they skip.
	Skip []string
	// Reason says why, as the annotation does, cut to 200 bytes.
	Reason string
	// Until is when the annotations end to count; zero if they count until they are removed.
	Until time.Time
	// Problems say which annotations cannot be read. Such an annotation adds nothing; if it is that of the end, none does.
	Problems []Problem
}

// IsActive reports whether the annotations add anything.
func (o Override) IsActive() bool { return o.Suspend || len(o.Skip) > 0 }

// maxReasonLength bounds, in bytes, what status repeats of the reason.
const maxReasonLength = 200

// ReadOverride returns what the annotations of a sequence add at a time; at the zero time whatever they ever add.
func ReadOverride(ps *v1alpha1.PodSequence, now time.Time) Override {
	suspend, skip := ps.Annotations[v1alpha1.SuspendAnnotation], ps.Annotations[v1alpha1.SkipAnnotation]
	if suspend == "" && skip == "" {
		return Override{}
	}
	o := Override{Reason: cut(ps.Annotations[v1alpha1.OverrideReasonAnnotation], maxReasonLength)}
	if text := ps.Annotations[v1alpha1.OverrideUntilAnnotation]; text != "" {
		until, err := time.Parse(time.RFC3339, text)
		if err != nil {
			o.problem(v1alpha1.OverrideUntilAnnotation, "%q is not a time: write it as 2026-01-31T04:00:00Z; until then nothing is overridden", text)
			return o
		}
		if o.Until = until; !now.Before(until) {
			return o
		}
	}
	switch suspend {
	case "true":
		o.Suspend = true
	case "", "false":
	default:
		o.problem(v1alpha1.SuspendAnnotation, `%q is neither "true" nor "false", so it does not suspend the sequence: correct it, or remove it`, suspend)
	}
	o.readSkip(ps, skip)
	return o
}

func (o *Override) readSkip(ps *v1alpha1.PodSequence, list string) {
	var titles, names []string
	for i := range ps.Spec.PodGroups {
		titles = append(titles, titleOf(i, ps.Spec.PodGroups[i].Name))
	}
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "":
		case !slices.Contains(titles, name):
			o.problem(v1alpha1.SkipAnnotation, "no group has the name %q, so it skips none: correct it, or remove it", name)
			return
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	o.Skip = slices.Compact(names)
}

func (o *Override) problem(annotation, format string, args ...any) {
	o.Problems = append(o.Problems, Problem{Reason: v1alpha1.ReasonInvalidOverride, Message: cut("annotation "+annotation+": "+fmt.Sprintf(format, args...), 2*maxReasonLength)})
}

// cut returns so many bytes of a text at most, without cutting a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
