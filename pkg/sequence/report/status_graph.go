package report

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/printable"
)

// waited returns the indices of the groups that others wait for now. Of a list that is at most one.
func (r Report) waited() []int {
	var waited []int
	for i, g := range r.Groups {
		if g.Current && !g.Skipped {
			waited = append(waited, i)
		}
	}
	return waited
}

// currentGroup names the current group, such as 2/3 Backend. Where several groups are under way it is the first of them, and
// the number of the others follows, such as 2/12 Database (+2).
func (r Report) currentGroup() string {
	text := fmt.Sprintf("%d/%d %s", r.Current+1, len(r.Groups), printable.Name(r.Groups[r.Current].Title))
	if others := len(r.waited()) - 1; others > 0 {
		text += fmt.Sprintf(" (+%d)", others)
	}
	return text
}

// waitingForAll says how far each group is that others wait for.
func (r Report) waitingForAll() string {
	const most = 3
	waited := r.waited()
	if len(waited) == 0 {
		return r.waitingFor(r.Current)
	}
	texts := make([]string, 0, most)
	for _, i := range waited[:min(most, len(waited))] {
		texts = append(texts, r.howFar(i))
	}
	text := "waiting for " + strings.Join(texts, "; ")
	if more := len(waited) - most; more > 0 {
		text += fmt.Sprintf("; and %d more groups", more)
	}
	return cutMessage(text)
}

// all says what all groups are but those that are skipped.
func (r Report) all(what string) string {
	text := fmt.Sprintf("all %d groups are %s", len(r.Groups), what)
	if skipped := len(r.skippedGroups()); skipped > 0 {
		text = fmt.Sprintf("all %d groups are %s, or skipped (%d of them)", len(r.Groups), what, skipped)
	}
	return text
}

// skippedGroups returns the groups that no group waits for.
func (r Report) skippedGroups() []string {
	var skipped []string
	for i, g := range r.Groups {
		if g.Skipped {
			skipped = append(skipped, Where{Index: i, Groups: len(r.Groups), Title: g.Title}.String())
		}
	}
	return skipped
}

// skipped returns the condition that says which groups no group waits for; none for a sequence that never had such groups.
func (r Report) skipped(ps *v1alpha1.PodSequence) []metav1.Condition {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionSkipped, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotSkipped, Message: "no group is skipped",
	}
	if groups := r.skippedGroups(); len(groups) > 0 {
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonGroupsSkipped
		condition.Message = fmt.Sprintf("no group waits for %s: remove skip to wait for it again", first(groups))
		if len(r.Override.Skip) > 0 {
			condition.Message = fmt.Sprintf("no group waits for %s: remove skip, and annotation %s, to wait for it again", first(groups), v1alpha1.SkipAnnotation)
		}
	} else if meta.FindStatusCondition(ps.Status.Conditions, condition.Type) == nil {
		return nil
	}
	return []metav1.Condition{condition}
}
