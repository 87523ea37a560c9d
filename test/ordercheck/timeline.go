package ordercheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Timeline says when the members of one sequence came by each step, in group order, or node by node if that is how the
// order holds.
// All times are those at which the referee saw the change, so that they can be compared: the API keeps none of
// a binding or a gate's removal, and only whole seconds of the rest.
type Timeline struct {
	// Kind is PodSequence or ClusterPodSequence.
	Kind string `json:"kind"`
	// Sequence is namespace/name, or the name of a ClusterPodSequence.
	Sequence string `json:"sequence"`
	// Graph says that some group says itself which groups it depends on.
	Graph bool `json:"graph,omitempty"`
	// PerNode says that the order holds on each node by itself.
	PerNode bool `json:"perNode,omitempty"`
	// Begin and End are the first and last time in it.
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end"`
	// Pods has one entry for each pod, including those that are gone.
	Pods []PodTimes `json:"pods"`
}

// PodTimes are one pod's steps. A step that did not happen, or happened before the watch began, has no time.
type PodTimes struct {
	Name  string `json:"name"`
	Group Group  `json:"group"`
	Node  string `json:"node,omitempty"`

	Created *time.Time `json:"created,omitempty"`
	// Released is when the sequence's gate was removed. The release of a pod without it leaves no trace in the API; its
	// binding, which follows at once, stands for it.
	Released *time.Time `json:"released,omitempty"`
	Bound    *time.Time `json:"bound,omitempty"`
	// Ready is the first time the pod was ready.
	Ready *time.Time `json:"ready,omitempty"`
	// Gone is when the pod was gone.
	Gone *time.Time `json:"gone,omitempty"`
}

func (p PodTimes) all() []*time.Time {
	return []*time.Time{p.Created, p.Released, p.Bound, p.Ready, p.Gone}
}

// NewTimeline lays the history of a PodSequence out. Pods are in the groups that its newest spec puts them in.
func NewTimeline(history History, sequence types.NamespacedName) (Timeline, error) {
	spec := newestSpec(history.events, sequence)
	if spec == nil {
		return Timeline{}, fmt.Errorf("lay out %s: it was never seen", kindAndName(sequence))
	}
	labelled := map[string]labels.Set{}
	tracks := map[types.UID]*track{}
	for _, e := range history.events {
		if e.home != nil {
			labelled[e.home.name] = e.home.labels
		}
		if e.pod == nil {
			continue
		}
		in := spec.groupsIn(e.pod.Namespace, labelled[e.pod.Namespace])
		if len(in) == 0 {
			continue
		}
		t := tracks[e.pod.uid]
		if t == nil {
			t = &track{}
			tracks[e.pod.uid] = t
		}
		t.take(e, spec, in, e.revision <= history.start)
	}
	timeline := Timeline{Kind: spec.kind, Sequence: spec.String(), PerNode: spec.perNode, Graph: spec.isGraph()}
	for _, t := range tracks {
		if t.member {
			timeline.Pods = append(timeline.Pods, t.PodTimes)
		}
	}
	timeline.arrange()
	return timeline, nil
}

// newestSpec is also that of a sequence that is gone.
func newestSpec(events []event, sequence types.NamespacedName) *sequenceFacts {
	for _, e := range slices.Backward(events) {
		if e.sequence != nil && e.sequence.NamespacedName == sequence {
			return e.sequence
		}
	}
	return nil
}

// track is a pod's times in the making.
type track struct {
	PodTimes
	member bool
	seen   bool
	gated  bool // carries the sequence's gate as of now
	was    podFacts
}

// take notes the steps that an event shows. Those it shows at the start of the watch happened some time before.
func (t *track) take(e event, spec *sequenceFacts, in []int, before bool) {
	at := &e.arrived
	if before {
		at = nil
	}
	if e.deleted {
		t.Gone = at
		return
	}
	gated := slices.Contains(e.pod.gates, spec.gate)
	if !t.seen {
		t.Name, t.Created = e.pod.Name, at
		if spec.isCluster() {
			t.Name = e.pod.String()
		}
	}
	if t.gated && !gated {
		t.Released = at
	}
	if t.was.node == "" && e.pod.node != "" {
		t.Node, t.Bound = e.pod.node, at
		if t.Released == nil {
			t.Released = at
		}
	}
	if !t.was.ready && e.pod.ready && t.Ready == nil {
		t.Ready = at
	}
	if group, ok := spec.groupOf(e.pod, e.pod.aside, in); ok {
		t.member = true
		t.Group = spec.point(group)
		t.Group.DependsOn = spec.groups[group].dependsOn
	}
	t.seen, t.gated, t.was = true, gated, *e.pod
}

func (t *Timeline) arrange() {
	slices.SortFunc(t.Pods, func(a, b PodTimes) int {
		byNode := 0
		if t.PerNode {
			byNode = cmp.Compare(a.Node, b.Node)
		}
		return cmp.Or(byNode, cmp.Compare(a.Group.Index, b.Group.Index), cmp.Compare(a.Name, b.Name),
			compareTimes(a.Created, b.Created))
	})
	for _, pod := range t.Pods {
		for _, at := range pod.all() {
			if at == nil {
				continue
			}
			if t.Begin.IsZero() || at.Before(t.Begin) {
				t.Begin = *at
			}
			if at.After(t.End) {
				t.End = *at
			}
		}
	}
}

// compareTimes sorts what happened before the watch first.
func compareTimes(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return a.Compare(*b)
}

// barWidth is the number of characters that stand for the whole time.
const barWidth = 48

// The characters of a bar.
const (
	barAbsent   = ' ' // not yet created, or gone
	barWaiting  = '.' // created, not yet bound
	barStarting = '=' // bound, not yet ready
	barReady    = '#'
)

// String draws the timeline: a line for each pod, with its times in seconds and a bar.
func (t Timeline) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s: %.1f s in all (%c waiting  %c starting  %c ready)\n",
		t.Kind, t.Sequence, t.End.Sub(t.Begin).Seconds(), barWaiting, barStarting, barReady)
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	node := func(string) string { return "" }
	if t.PerNode {
		node = func(name string) string { return name + "\t" }
	}
	after := func(string) string { return "" }
	if t.Graph {
		after = func(names string) string { return names + "\t" }
	}
	fmt.Fprintln(table, node("NODE")+"GROUP\t"+after("AFTER")+"POD\tCREATED\tRELEASED\tBOUND\tREADY\t")
	for _, pod := range t.Pods {
		fmt.Fprintf(table, "%s%d %s\t%s%s\t%s\t%s\t%s\t%s\t|%s|\n", node(cmp.Or(pod.Node, "-")), pod.Group.Index+1, shownName(pod.Group.Name),
			after(pod.Group.after()), pod.Name, t.seconds(pod.Created), t.seconds(pod.Released), t.seconds(pod.Bound), t.seconds(pod.Ready), t.bar(pod))
	}
	_ = table.Flush() // a strings.Builder takes everything
	return strings.TrimRight(out.String(), "\n")
}

// seconds returns how long after the beginning it happened; a dash for what did not happen or was not seen.
func (t Timeline) seconds(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return fmt.Sprintf("%.1fs", at.Sub(t.Begin).Seconds())
}

// bar draws each step from its moment on, over the steps before it. A later step implies the earlier ones, so what
// happened before the watch needs no bar of its own unless nothing came after it.
func (t Timeline) bar(pod PodTimes) string {
	cells := make([]rune, barWidth)
	for i := range cells {
		cells[i] = barAbsent
	}
	fill := func(from int, with rune) {
		for i := from; i < barWidth; i++ {
			cells[i] = with
		}
	}
	for _, step := range []struct {
		at   *time.Time
		draw rune
	}{{pod.Created, barWaiting}, {pod.Bound, barStarting}, {pod.Ready, barReady}, {pod.Gone, barAbsent}} {
		if step.at != nil {
			fill(t.cell(*step.at), step.draw)
		}
	}
	return string(cells)
}

// cell always leaves the last step one cell to be seen in.
func (t Timeline) cell(at time.Time) int {
	whole := t.End.Sub(t.Begin)
	if whole <= 0 {
		return 0
	}
	return min(int(float64(barWidth)*float64(at.Sub(t.Begin))/float64(whole)), barWidth-1)
}
