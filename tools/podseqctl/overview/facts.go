package overview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/printable"
	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
)

// passed counts the groups that are passed, and those that are skipped.
func passed(s *snapshot.Sequence) (bar string, skipped int) {
	passed := 0
	for _, g := range s.Status.Groups {
		switch g.Phase {
		case v1alpha1.GroupPassed:
			passed++
		case v1alpha1.GroupSkipped:
			skipped++
		}
	}
	return text.Bar(passed, len(s.Spec.PodGroups)), skipped
}

// withSkipped adds how many groups are skipped, if any are.
func withSkipped(said string, skipped int) string {
	if skipped == 0 {
		return said
	}
	return fmt.Sprintf("%s, %d skipped", said, skipped)
}

// current names the current group and says how many of its pods are ready; a dash if all groups are passed.
func current(status v1alpha1.PodSequenceStatus) string {
	if i := status.CurrentIndex; i != nil && int(*i) < len(status.Groups) && dash(status.CurrentGroup) != "-" {
		g := status.Groups[*i]
		return fmt.Sprintf("%s, %d/%d ready", status.CurrentGroup, g.Ready, g.Expected)
	}
	return dash(status.CurrentGroup)
}

// readyPods counts the ready and expected pods of all groups.
func readyPods(status v1alpha1.PodSequenceStatus) string {
	if len(status.Groups) == 0 {
		return "-"
	}
	ready, expected := 0, 0
	for _, g := range status.Groups {
		ready, expected = ready+int(g.Ready), expected+int(g.Expected)
	}
	return fmt.Sprintf("%d/%d", ready, expected)
}

func isDone(phase v1alpha1.GroupPhase) bool {
	return phase == v1alpha1.GroupPassed || phase == v1alpha1.GroupSkipped
}

// isGraph reports whether some group says what it waits for.
func isGraph(s *snapshot.Sequence) bool {
	return slices.ContainsFunc(s.Spec.PodGroups, func(g v1alpha1.ClusterPodGroup) bool { return g.DependsOn != nil })
}

// after says which groups a group names as its predecessors, as the spec has it.
func after(s *snapshot.Sequence, i int) string {
	names := s.Spec.PodGroups[i].DependsOn
	switch {
	case names == nil && i > 0:
		return "all before"
	case len(names) == 0:
		return "-"
	}
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = printable.Name(name)
	}
	return several(shown)
}

// several lists groups. Of many it says the number first, because lines may be cut.
func several(groups []string) string {
	const most = 3
	if len(groups) <= most {
		return strings.Join(groups, ", ")
	}
	return fmt.Sprintf("%d groups: %s, ...", len(groups), strings.Join(groups[:most], ", "))
}

// openObjects names the objects of a group that are not as it requires.
func openObjects(record v1alpha1.GroupStatus) []string {
	var open []string
	for _, o := range record.Objects {
		if o.State != v1alpha1.ObjectSatisfied {
			open = append(open, o.Kind+" "+o.Name)
		}
	}
	return open
}

// openBefore returns the groups that a group waits for directly and that are not passed.
func openBefore(s *snapshot.Sequence, i int) []string {
	var open []string
	for j := range i {
		if names := s.Spec.PodGroups[i].DependsOn; names != nil && !slices.Contains(names, s.Spec.PodGroups[j].Name) {
			continue
		}
		if j >= len(s.Status.Groups) || !isDone(s.Status.Groups[j].Phase) {
			open = append(open, printable.Name(s.Title(j)))
		}
	}
	return open
}

// since returns when the current group was released; zero if that is not known.
func since(status v1alpha1.PodSequenceStatus) time.Time {
	if status.CurrentIndex == nil || int(*status.CurrentIndex) >= len(status.Groups) {
		if n := len(status.Groups); n > 0 {
			return turned(status.Groups[n-1])
		}
		return time.Time{}
	}
	return turned(status.Groups[*status.CurrentIndex])
}

// turned returns when a group came to be what it is now.
func turned(g v1alpha1.GroupStatus) time.Time {
	switch {
	case g.Phase == v1alpha1.GroupPassed && g.PassedAt != nil:
		return g.PassedAt.Time
	case g.ReleasedAt != nil:
		return g.ReleasedAt.Time
	}
	return time.Time{}
}

// outOfOrder says in a line which pods started too early, and where the fix is. It is empty if none did.
func outOfOrder(s *snapshot.Sequence) string {
	early := s.Status.StartedOutOfOrder
	if early == nil {
		return ""
	}
	pods := "1 pod"
	if early.Total != 1 {
		pods = fmt.Sprintf("%d pods", early.Total)
	}
	const most = 3
	shown := early.Pods[:min(most, len(early.Pods))]
	names := strings.Join(shown, ", ")
	if more := int(early.Total) - len(shown); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	argument := s.Argument()
	if !s.IsCluster() {
		argument = fmt.Sprintf("podsequence/%s -n %s", argument, s.Key().Namespace)
	}
	return fmt.Sprintf("%s: %s of %s started while a group that they wait for was not ready: %s; "+
		"for the fix: kubectl podseq why %s", v1alpha1.ReasonStartedOutOfOrder, pods, s, names, argument)
}

func phase(s *snapshot.Sequence) string {
	text := string(s.Status.Phase)
	if text == "" {
		text = "Unknown"
	}
	return text
}

// stateCell is what is special about the sequence; a dash if nothing is said of it yet.
func stateCell(s *snapshot.Sequence) text.Cell {
	switch state := s.State(); {
	case state != v1alpha1.StateActive:
		return text.Cell{Text: state, Colour: text.Bad}
	case s.Status.Phase == "":
		return text.Cell{Text: "-"}
	default:
		return text.Cell{Text: state}
	}
}

func phaseCell(s *snapshot.Sequence) text.Cell {
	return text.Cell{Text: phase(s), Colour: phaseColour(s)}
}

func phaseColour(s *snapshot.Sequence) text.Colour {
	switch s.Status.Phase {
	case v1alpha1.PhaseFailed:
		return text.Bad
	case v1alpha1.PhaseCompleted:
		return text.Good
	}
	return text.Active
}

func groupColour(phase v1alpha1.GroupPhase) text.Colour {
	switch phase {
	case v1alpha1.GroupPassed:
		return text.Good
	case v1alpha1.GroupInProgress, v1alpha1.GroupSkipped:
		return text.Active
	case v1alpha1.GroupFailed:
		return text.Bad
	}
	return text.Faint
}

func dash(value string) string {
	if value == "" {
		return "-"
	}
	return value
}
