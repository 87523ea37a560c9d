package report

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
)

func overrideMessage(o order.Override, writers string) string {
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
	if writers != "" {
		text += "; written by " + writers
	}
	if o.Reason != "" {
		text += "; reason: " + o.Reason
	}
	if len(o.Problems) > 0 {
		text += "; " + joined(o.Problems)
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

// writersOf returns the field managers that wrote what overrides the spec now, and when each last wrote, such as: podseq-cli at
// 2026-01-31T03:00:00Z. It is empty if the object does not say. An annotation may have several owners: the last one counts. The feed keeps
// no other entries than these and those of status.
func writersOf(ps *v1alpha1.PodSequence, o order.Override) string {
	var annotations []string
	if o.Suspend {
		annotations = append(annotations, v1alpha1.SuspendAnnotation)
	}
	if len(o.Skip) > 0 {
		annotations = append(annotations, v1alpha1.SkipAnnotation)
	}
	if !o.Until.IsZero() {
		annotations = append(annotations, v1alpha1.OverrideUntilAnnotation)
	}
	var writers []string
	for _, annotation := range annotations {
		if writer := lastWriter(ps.ManagedFields, annotation); writer != "" && !slices.Contains(writers, writer) {
			writers = append(writers, writer)
		}
	}
	return strings.Join(writers, ", ")
}

// lastWriter returns who last wrote among those that own an annotation, and when; empty if nobody owns it.
func lastWriter(entries []metav1.ManagedFieldsEntry, annotation string) string {
	var last metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if entry.Subresource == "" && entry.Time != nil && (last.Time == nil || last.Time.Before(entry.Time)) && owns(entry.FieldsV1, annotation) {
			last = entry
		}
	}
	if last.Time == nil {
		return ""
	}
	return last.Manager + " at " + timeText(last.Time.Time)
}

// owns reports whether an annotation is among fields.
func owns(fields *metav1.FieldsV1, annotation string) bool {
	return fields != nil && strings.Contains(fields.String(), strconv.Quote("f:"+annotation))
}
