package explain

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
)

// SequenceTree describes a sequence and what belongs to it.
type SequenceTree struct {
	Sequence string         `json:"sequence"`
	Phase    v1alpha1.Phase `json:"phase,omitempty"`
	// State is Active, or what is special about the sequence, as status.state has it.
	State   string      `json:"state,omitempty"`
	Message string      `json:"message,omitempty"`
	Groups  []GroupTree `json:"groups"`
	// Incomplete says why members are not listed; empty if they are.
	Incomplete string `json:"incomplete,omitempty"`
}

// GroupTree describes a group and what belongs to it.
type GroupTree struct {
	Group     string              `json:"group"`
	Phase     v1alpha1.GroupPhase `json:"phase,omitempty"`
	Ready     int                 `json:"ready"`
	Expected  int                 `json:"expected"`
	Workloads []WorkloadTree      `json:"workloads,omitempty"`
	// Pods are those that count by themselves, or by name.
	Pods    []PodLine `json:"pods,omitempty"`
	Missing []string  `json:"missing,omitempty"`
	// Awaits is what it lacks beside pods: objects, and conditions of nodes.
	Awaits []Reason `json:"awaits,omitempty"`
}

// WorkloadTree lists the pods that a group expects of a workload.
type WorkloadTree struct {
	Workload string    `json:"workload"`
	Ready    int       `json:"ready"`
	Expected int       `json:"expected"`
	Pods     []PodLine `json:"pods,omitempty"`
}

// PodLine says how a pod is.
type PodLine struct {
	Pod     string `json:"pod"`
	State   State  `json:"state"`
	Message string `json:"message"`
}

// Tree returns groups, workloads and pods of a sequence.
func (e *Explainer) Tree(s *snapshot.Sequence) SequenceTree {
	status := e.Status(s)
	tree := SequenceTree{Sequence: s.String(), Phase: status.Phase, State: status.State, Message: status.Message}
	if why, judged := e.Judged(s); !judged {
		tree.Incomplete = why + ", so members are not listed"
	}
	members := e.MembersByGroup(s)
	for i := range s.Spec.PodGroups {
		g := GroupTree{Group: s.Where(i)}
		if i < len(status.Groups) {
			g.Phase, g.Ready, g.Expected = status.Groups[i].Phase, int(status.Groups[i].Ready), int(status.Groups[i].Expected)
		}
		if tree.Incomplete == "" {
			e.fill(&g, s, i, members[i])
		}
		tree.Groups = append(tree.Groups, g)
	}
	return tree
}

func (e *Explainer) fill(g *GroupTree, s *snapshot.Sequence, i int, members []*corev1.Pod) {
	group := s.Spec.PodGroups[i].PodGroup
	parts := e.Parts(s, i)
	byOwner := map[string][]PodLine{}
	for _, pod := range members {
		r, _ := e.pod(pod, group)
		line := PodLine{e.short(pod.Namespace, pod.Name), r.State, r.Message}
		if owner := e.ownerAmong(pod, parts); owner != "" {
			byOwner[owner] = append(byOwner[owner], line)
		} else {
			g.Pods = append(g.Pods, line)
		}
	}
	for _, part := range parts {
		w := WorkloadTree{
			Workload: fmt.Sprintf("%s %s", part.Kind, e.short(part.Namespace, part.Name)),
			Ready:    part.Ready, Expected: part.Expected, Pods: byOwner[ownerKey(part)],
		}
		if s.PerNode() { // no rule counts them in the whole cluster
			w.Ready = 0
			for _, line := range w.Pods {
				if line.State == Done {
					w.Ready++
				}
			}
		}
		g.Workloads = append(g.Workloads, w)
	}
	for _, missing := range e.missing(s, i) {
		g.Missing = append(g.Missing, missing.Subject+" "+missing.Message)
	}
	if g.Phase != v1alpha1.GroupPassed {
		g.Awaits = e.besidePods(s, i)
	}
}

// besidePods explains what a group lacks beside pods. What a sequence among its objects waits for is in the tree of that.
func (e *Explainer) besidePods(s *snapshot.Sequence, i int) []Reason {
	lacks := e.objects(s, i)
	for j := range lacks {
		lacks[j].Because = nil
	}
	report, ok := e.Report(s)
	if !ok || len(s.Spec.PodGroups[i].NodeConditions) == 0 {
		return lacks
	}
	for _, node := range report.Nodes {
		switch {
		case node.Group == nil || node.Current != i:
		case len(lacks) == maxListed && !e.All:
			return append(lacks, Reason{Subject: "more", State: Held, Message: "more nodes wait; --all lists them"})
		default:
			lacks = append(lacks, Reason{Subject: "node " + node.Name, State: Held, Message: node.Group.Progress})
		}
	}
	return lacks
}

// Lines returns the tree as it is printed. Long lists of pods are cut unless all are asked for.
func (t SequenceTree) Lines(all bool) text.Node {
	root := text.Node{Text: fmt.Sprintf("%s   %s   %s", t.Sequence, phaseAndState(t.Phase, t.State, "   "), t.Message), Colour: text.Heading}
	for _, g := range t.Groups {
		node := text.Node{Text: fmt.Sprintf("%s   %s   %d/%d", g.Group, g.Phase, g.Ready, g.Expected), Colour: phaseColour(g.Phase)}
		for _, w := range g.Workloads {
			node.Below = append(node.Below, text.Node{
				Text: fmt.Sprintf("%s   %d/%d", w.Workload, w.Ready, w.Expected), Below: podNodes(w.Pods, all),
			})
		}
		node.Below = append(node.Below, podNodes(g.Pods, all)...)
		for _, missing := range g.Missing {
			node.Below = append(node.Below, text.Node{Text: missing, Colour: text.Bad})
		}
		for _, lack := range g.Awaits {
			node.Below = append(node.Below, lack.Tree())
		}
		root.Below = append(root.Below, node)
	}
	if t.Incomplete != "" {
		root.Below = append(root.Below, text.Node{Text: t.Incomplete, Colour: text.Faint})
	}
	return root
}

func podNodes(pods []PodLine, all bool) []text.Node {
	var nodes []text.Node
	for i, pod := range pods {
		if i == maxListed && !all && len(pods) > maxListed+1 {
			return append(nodes, text.Node{Text: fmt.Sprintf("%d more pods; --all lists them", len(pods)-i), Colour: text.Faint})
		}
		r := Reason{Subject: "pod " + pod.Pod, State: pod.State, Message: pod.Message}
		nodes = append(nodes, r.Tree())
	}
	return nodes
}

func phaseColour(phase v1alpha1.GroupPhase) text.Colour {
	switch phase {
	case v1alpha1.GroupPassed:
		return text.Good
	case v1alpha1.GroupInProgress:
		return text.Active
	case v1alpha1.GroupFailed:
		return text.Bad
	}
	return text.Faint
}
