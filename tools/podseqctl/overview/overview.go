// Package overview prints how far sequences are, from their status alone.
package overview

import (
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/printable"
	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
)

// Printer prints sequences.
type Printer struct {
	Out   io.Writer
	Style text.Style
	Now   time.Time
	// Namespaces adds a column for the namespaces, and Wide one for the message of the status.
	Namespaces, Wide bool
}

// List prints a line for each sequence.
func (p *Printer) List(sequences []*snapshot.Sequence) {
	header := []string{"NAME", "SCOPE", "PHASE", "STATE", "GROUPS PASSED", "CURRENT", "READY PODS", "SINCE", "AGE"}
	if p.Namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	if p.Wide {
		header = append(header, "MESSAGE")
	}
	table := text.NewTable(header...)
	table.Whole = true
	for _, s := range sequences {
		status := s.Status
		cells := []text.Cell{
			{Text: s.Argument()}, {Text: string(s.Spec.Scope)}, phaseCell(s), stateCell(s), {Text: withSkipped(passed(s))},
			{Text: current(status)}, {Text: readyPods(status)},
			{Text: text.Age(since(status), p.Now)}, {Text: text.Age(s.Object.GetCreationTimestamp().Time, p.Now)},
		}
		if p.Namespaces {
			cells = append([]text.Cell{{Text: s.Object.GetNamespace()}}, cells...)
		}
		if p.Wide {
			cells = append(cells, text.Cell{Text: status.Message})
		}
		table.Add(cells...)
	}
	table.Print(p.Out, p.Style)
	for _, s := range sequences {
		if line := outOfOrder(s); line != "" {
			fmt.Fprintln(p.Out, p.Style.Paint(text.Bad, text.OneLine(line)))
		}
	}
}

// Detail prints a sequence: its groups or its graph, what each waits for, and what is wrong.
func (p *Printer) Detail(s *snapshot.Sequence) {
	status := s.Status
	bar, skipped := passed(s)
	state := ""
	if word := s.State(); word != v1alpha1.StateActive {
		state = "   " + p.Style.Paint(text.Bad, word)
	}
	fmt.Fprintf(p.Out, "%s   %s%s   scope %s, %s   %s\n", p.Style.Paint(text.Heading, s.String()), p.Style.Paint(phaseColour(s), text.OneLine(phase(s))), state,
		text.OneLine(string(s.Spec.Scope)), text.OneLine(string(s.Spec.EnforcementMode)), withSkipped(bar+" passed", skipped))
	if status.Message != "" {
		fmt.Fprintln(p.Out, text.OneLine(status.Message))
	}
	p.problems(s)
	fmt.Fprintln(p.Out)
	p.groups(s)
	if status.NodeSummary != nil || len(status.NodeStatus) > 0 {
		fmt.Fprintln(p.Out)
		p.nodes(s)
	}
}

// problems prints what is not as usual, a line each.
func (p *Printer) problems(s *snapshot.Sequence) {
	status := s.Status
	for _, message := range s.Unreadable {
		fmt.Fprintln(p.Out, p.Style.Paint(text.Bad, "Unreadable: "+text.OneLine(message)))
	}
	switch said, late := s.Unwritten(p.Now); {
	case late:
		fmt.Fprintln(p.Out, p.Style.Paint(text.Bad, said))
	case said != "":
		fmt.Fprintln(p.Out, said)
	}
	for _, conditionType := range []string{
		v1alpha1.ConditionDegraded, v1alpha1.ConditionSuspended, v1alpha1.ConditionSkipped, v1alpha1.ConditionDryRun,
		v1alpha1.ConditionOverridden,
	} {
		if c := meta.FindStatusCondition(status.Conditions, conditionType); c != nil && meta.IsStatusConditionTrue(status.Conditions, conditionType) {
			line := fmt.Sprintf("%s: %s (%s, since %s)", c.Type, c.Message, c.Reason, text.Age(c.LastTransitionTime.Time, p.Now))
			fmt.Fprintln(p.Out, p.Style.Paint(text.Bad, text.OneLine(line)))
		}
	}
	degraded := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDegraded)
	said := degraded != nil && degraded.Reason == v1alpha1.ReasonStartedOutOfOrder
	if line := outOfOrder(s); line != "" && !said {
		fmt.Fprintln(p.Out, p.Style.Paint(text.Bad, text.OneLine(line)))
	}
	if d := status.DryRun; d != nil {
		fmt.Fprintf(p.Out, "dry run: %s would be held now, %d so far, the longest for %s\n", text.Count(d.HeldNow, "pod"), d.HeldTotal,
			time.Duration(d.LongestSeconds)*time.Second)
	}
}

func (p *Printer) groups(s *snapshot.Sequence) {
	graph := isGraph(s)
	header := []string{"#", "GROUP", "PHASE", "READY", "SINCE", "WAITS FOR"}
	if graph {
		header = []string{"#", "GROUP", "AFTER", "PHASE", "READY", "SINCE", "WAITS FOR"}
	}
	table := text.NewTable(header...)
	for i := range s.Spec.PodGroups {
		record := v1alpha1.GroupStatus{Phase: v1alpha1.GroupWaiting}
		if i < len(s.Status.Groups) {
			record = s.Status.Groups[i]
		}
		cells := []text.Cell{{Text: fmt.Sprint(i + 1)}, {Text: printable.Name(s.Title(i))}}
		if graph {
			cells = append(cells, text.Cell{Text: after(s, i)})
		}
		cells = append(cells, text.Cell{Text: string(record.Phase), Colour: groupColour(record.Phase)},
			text.Cell{Text: text.Bar(int(record.Ready), int(record.Expected))}, text.Cell{Text: text.Age(turned(record), p.Now)},
			text.Cell{Text: p.waitsFor(s, i, record)})
		table.Add(cells...)
	}
	table.Print(p.Out, p.Style)
}

// mostNamed is how many things that a group waits for are named. Lines may be cut.
const mostNamed = 3

// waitsFor says what a group that is not passed waits for.
func (p *Printer) waitsFor(s *snapshot.Sequence, i int, record v1alpha1.GroupStatus) string {
	switch record.Phase {
	case v1alpha1.GroupWaiting:
		if s.IsSuspended() {
			return "the end of the suspension"
		}
		return several(openBefore(s, i))
	case v1alpha1.GroupInProgress, v1alpha1.GroupFailed:
		group := &s.Spec.PodGroups[i]
		hasPods := len(group.Pods) > 0 || group.PodSelector != nil
		open := openObjects(record)
		switch missing := record.Expected - record.Ready; {
		case missing > 0:
			return text.Names(append([]string{text.Count(missing, "pod")}, open...), mostNamed)
		case record.Expected == 0 && hasPods:
			return text.Names(append([]string{"pods that match it"}, open...), mostNamed)
		case len(open) > 0:
			return text.Names(open, mostNamed)
		case record.Expected == 0 && !hasPods && len(group.NodeConditions) > 0:
			return "conditions of nodes"
		case record.SatisfiedAt != nil && s.Spec.PodGroups[i].WaitDuration != "":
			return fmt.Sprintf("its waitDuration of %s", s.Spec.PodGroups[i].WaitDuration)
		}
	}
	return ""
}

// nodes prints how many nodes are completed, and which are waited for.
func (p *Printer) nodes(s *snapshot.Sequence) {
	if n := s.Status.NodeSummary; n != nil {
		fmt.Fprintf(p.Out, "%s %s completed\n", text.Bar(int(n.Completed), int(n.Total)), text.Plural(n.Total, "node"))
	}
	if len(s.Status.NodeStatus) == 0 {
		return
	}
	table := text.NewTable("NODE", "PHASE", "CURRENT", "READY IN CURRENT", "WAITS FOR")
	for _, n := range s.Status.NodeStatus {
		current, ready := "-", "-"
		if int(n.CurrentIndex) < len(s.Spec.PodGroups) {
			ready = fmt.Sprint(n.ReadyPodsInCurrentGroup)
			current = fmt.Sprintf("%d/%d %s", n.CurrentIndex+1, len(s.Spec.PodGroups), printable.Name(s.Title(int(n.CurrentIndex))))
		}
		message := ""
		if c := meta.FindStatusCondition(n.Conditions, v1alpha1.ConditionReady); c != nil && !meta.IsStatusConditionTrue(n.Conditions, v1alpha1.ConditionReady) {
			message = c.Message
		}
		table.Row(n.NodeName, string(n.Phase), current, ready, message)
	}
	table.Print(p.Out, p.Style)
}
