package report

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/spec"
)

// overridden returns the condition that says what annotations add to the spec; none for a sequence to which they never added anything.
func (r Report) overridden(ps *v1alpha1.PodSequence) []metav1.Condition {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionOverridden, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotOverridden,
		Message: "the sequence does what its spec says",
	}
	switch o := r.Override; {
	case o.IsActive():
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, v1alpha1.ReasonOverridden, overrideMessage(o, writerOf(ps))
	case meta.FindStatusCondition(ps.Status.Conditions, condition.Type) == nil:
		return nil
	case !o.Until.IsZero() && len(o.Problems) == 0:
		condition.Message = "the override ended at " + timeText(o.Until) + ": remove its annotations"
	}
	return []metav1.Condition{condition}
}

func overrideMessage(o spec.Override, writer string) string {
	var does []string
	if o.Suspend {
		does = append(does, "suspended")
	}
	if len(o.Skip) > 0 {
		does = append(does, "skips "+first(quoted(o.Skip)))
	}
	text := "by annotation the sequence is " + strings.Join(does, " and ")
	if !o.Suspend {
		text = "by annotation the sequence " + does[0]
	}
	if o.Until.IsZero() {
		text += " until the annotation is removed"
	} else {
		text += " until " + timeText(o.Until)
	}
	if writer != "" {
		text += "; written by " + writer
	}
	if o.Reason != "" {
		text += "; reason: " + o.Reason
	}
	return cutMessage(text)
}

func quoted(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strconv.Quote(name)
	}
	return all
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// writerOf returns the field manager that last wrote the annotations that override the spec; empty if the object does not say. The feed
// keeps no other entries than these and those of status.
func writerOf(ps *v1alpha1.PodSequence) string {
	var writer metav1.ManagedFieldsEntry
	for _, entry := range ps.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil && (writer.Time == nil || writer.Time.Before(entry.Time)) && writesOverride(entry.FieldsV1) {
			writer = entry
		}
	}
	return writer.Manager
}

// writesOverride reports whether the fields that somebody wrote are annotations that override a spec.
func writesOverride(fields *metav1.FieldsV1) bool {
	if fields == nil {
		return false
	}
	text := fields.String()
	return strings.Contains(text, v1alpha1.SuspendAnnotation) || strings.Contains(text, v1alpha1.SkipAnnotation)
}
