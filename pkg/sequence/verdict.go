package sequence

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/report"
)

// The scheduler asks about pods under the lock of its queue, and in the one scheduling cycle that all its pods share. So it
// must not wait for an event, however much work that is. The engine publishes its verdict on every pod that has no node, and
// which sequences a namespace has. Who reads that waits for no event.
//
// An event publishes what it changed before it returns its Changes, and only when all groups stand where they will stand. A
// reader sees what held before the event or after it, pod by pod. To see the former is to have asked before the event.

// Verdict is what the scheduler may do with a pod now. The zero value holds nothing.
type Verdict struct {
	// Held reports whether the pod must wait. Engine.Decide says for what.
	Held bool
	// InVain is when a pod that is not held was refused by all nodes, see Placement.NoteRefusal, if none has opened or closed since; zero if it
	// was not. When one opens, the engine reports the pod, at once or a moment later.
	InVain time.Time
	// Ordered reports whether the pod is in a sequence that is more than a dry run.
	Ordered bool
}

// HeldPods counts the pods without a node that sequences hold.
type HeldPods struct {
	Pods int
	// Oldest is when the oldest was created; zero if there is none.
	Oldest time.Time
}

// Lift is what may be lifted from a pod now.
type Lift struct {
	UID types.UID
	// Gates are those that the pod carries and that its sequences lift: none while any sequence holds it.
	Gates []string
}

// LiftPatch is the strategic merge patch that takes these gates, and no others, off the pod with this UID. The API server refuses it for a
// pod of the same name with another UID.
func LiftPatch(lift Lift) []byte {
	removals := make([]map[string]string, len(lift.Gates))
	for i, gate := range lift.Gates {
		removals[i] = map[string]string{"$patch": "delete", "name": gate}
	}
	return report.MustMarshal(map[string]any{
		"metadata": map[string]any{"uid": lift.UID},
		"spec":     map[string]any{"schedulingGates": removals},
	})
}

// Nomination is the room that is kept on a node for a pod that must wait. A scheduler that places other pods counts a nominated pod as if it
// were bound, so pods that it waits for might wait for its room.
type Nomination struct {
	UID             types.UID
	ResourceVersion string
	// Recording reports that the pod may have to wait only until a pass is recorded.
	Recording bool
}

// ClearPatch is the strategic merge patch of the status that clears the nomination. The API server refuses it for another version of
// the pod, so one that comes late changes nothing: neither of a pod that is bound by now, nor a nomination that is newer.
func (n Nomination) ClearPatch() []byte {
	return report.MustMarshal(map[string]any{
		"metadata": map[string]any{"uid": n.UID, "resourceVersion": n.ResourceVersion},
		"status":   map[string]any{"nominatedNodeName": nil},
	})
}

// Placement says to which nodes a pod may be scheduled while sequences of node scope keep it from some.
type Placement struct {
	engine *Engine
	pod    *corev1.Pod
	needs  []membership
	// Pin is the one node that the pod asks for. Then it may be scheduled at all only while that is open.
	Pin inventory.Pin
}

// Hosts returns the nodes with the host name that the pod asks for. It waits for no event, and returns none if one is under way.
func (p *Placement) Hosts() sets.Set[string] {
	if p.Pin.Host == "" || !p.engine.mu.TryRLock() {
		return nil
	}
	defer p.engine.mu.RUnlock()
	return sets.KeySet(p.engine.unplaced.hosts[p.Pin.Host])
}

// Open answers for one node at this moment. The Decision is held if the pod may not be placed there. It waits for no event.
func (p *Placement) Open(node string) report.Decision { return p.open(p.needsNow(), node) }

func (p *Placement) open(needs []membership, node string) report.Decision {
	for _, m := range needs {
		if t := m.sequence.publishedOn(node).standing; !t.isOpen(m.group) {
			return p.engine.closed(m, t, node)
		}
	}
	return report.Decision{}
}

// OpenAs is Open for a node as the caller knows it. The node is closed if it is another one than the engine knows by this name, or if a group
// that the pod waits for is for nodes with its labels, and not for those with the labels that the engine knows, or the other way round: one of
// two watches is behind. Nobody may come to release the pod then, for to the engine the node may stay open all the time: the caller has to ask
// again.
func (p *Placement) OpenAs(node *corev1.Node) (decision report.Decision, again bool) {
	needs := p.needsNow()
	if d := p.open(needs, node.Name); d.Held {
		return d, false
	}
	for _, m := range needs {
		if group, differs := m.sequence.differsOn(node, m.group); differs {
			d := m.heldOn(node.Name)
			d.Group, d.Title = group, m.sequence.groups[group].Title
			d.Need.Lacks = "labels of the node have just changed, or it has been replaced"
			return d, true
		}
	}
	return report.Decision{}, false
}

// needsNow are what keeps the pod from nodes at this moment: a sequence may have been changed or deleted since.
func (p *Placement) needsNow() []membership {
	if seen, known := p.engine.published.find(p.pod); known {
		return seen.needs()
	}
	return p.needs
}

// OpenNodes returns the nodes that are open to the pod in the one of its sequences that leaves it the fewest. All nodes are looked at where
// some have opened or closed since this was last called for such a pod. It waits for no event, and returns nil if the pod may use any node by now.
func (p *Placement) OpenNodes() *OpenNodes {
	var fewest *OpenNodes
	for _, m := range p.needsNow() {
		if open := m.openNodes(); fewest == nil || len(open.Names) < len(fewest.Names) {
			fewest = open
		}
	}
	return fewest
}

// OpenNodes are the nodes that are open to pods with one place in a sequence. They are read-only.
type OpenNodes struct {
	Names sets.Set[string]
	// Why says in the manner of a scheduler how many nodes wait for which groups if there is none. It is empty if no node is known either.
	Why string

	to    membership
	opens uint64 // as of the sequence, before they were looked at
}

// noNodeOpen is when a scheduler found none of these nodes open to a pod.
type noNodeOpen struct {
	*OpenNodes
	at time.Time
}

// NoteRefusal notes that the pod is refused now because none of these nodes is open to it, see Verdict.InVain. It reports false if it cannot.
func (p *Placement) NoteRefusal(open *OpenNodes, now time.Time) bool {
	seen, known := p.engine.published.find(p.pod)
	if !known || seen.UID != p.pod.UID || seen.held.Load() {
		return false
	}
	seen.refused.Store(&noNodeOpen{open, now})
	return true
}

// Signature is the same for pods that sequences keep from the same nodes.
func (p *Placement) Signature() string {
	places := make([]string, len(p.needs))
	for i, m := range p.needs {
		places[i] = fmt.Sprintf("%s/%d", m.sequence.Key, m.group)
	}
	return strings.Join(places, " ")
}
