package sequence

import (
	"cmp"
	"container/heap"
	"iter"
	"strings"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/placement"
)

// No more pods are held for nodes on the way than fit there. The pods of an equivalence class ask for the same resources, so it
// has one number, its room: how many of them fit on the nodes that are on the way to it. The first of its pods, in the order in
// which the scheduler's queue has them, are held for this room; the others are let through.
//
// Of a node, what its pods request is taken, and what pods request that are pinned to it by name and not bound yet, as those of
// DaemonSets are.
//
// Each equivalence class counts by itself, though several may wait for the same nodes. So pods may be held that do not fit
// because those of another class take the room. No pod is let through that fits.

func newClassQueue() classQueue { return classQueue{fitting: podHeap{last: true}} }

func (l *classQueue) len() int { return len(l.fitting.pods) + len(l.excess.pods) }

// all returns the pods in no order. The queue must not change meanwhile.
func (l *classQueue) all() iter.Seq[*pod] {
	return func(yield func(*pod) bool) {
		for _, some := range [2]*podHeap{&l.fitting, &l.excess} {
			for _, p := range some.pods {
				if !yield(p) {
					return
				}
			}
		}
	}
}

func (l *classQueue) push(p *pod, room int) {
	if len(l.fitting.pods) < room || (len(l.fitting.pods) > 0 && p.before(l.fitting.pods[0])) {
		heap.Push(&l.fitting, p)
	} else {
		heap.Push(&l.excess, p)
	}
}

func (l *classQueue) remove(p *pod) {
	if p.queuePlace.fits {
		heap.Remove(&l.fitting, int(p.queuePlace.index))
	} else {
		heap.Remove(&l.excess, int(p.queuePlace.index))
	}
}

// divide gives the room to the first pods of the queue, and passes those to moved for which that is new.
func (l *classQueue) divide(room int, moved func(*pod)) {
	shift := func(from, to *podHeap) {
		p := heap.Pop(from).(*pod)
		heap.Push(to, p)
		moved(p)
	}
	for len(l.fitting.pods) > room {
		shift(&l.fitting, &l.excess)
	}
	for len(l.fitting.pods) < room && len(l.excess.pods) > 0 {
		shift(&l.excess, &l.fitting)
	}
}

// before reports whether the scheduler's queue has the pod before another one: by priority, and then the older one.
func (p *pod) before(other *pod) bool {
	return cmp.Or(
		cmp.Compare(other.Wants().Priority, p.Wants().Priority), p.CreatedAt.Time().Compare(other.CreatedAt.Time()),
		strings.Compare(p.Namespace, other.Namespace), strings.Compare(p.Name, other.Name),
	) < 0
}

// hasSamePlace reports whether another version of the pod has the same place in the queue.
func (p *pod) hasSamePlace(other *pod) bool {
	return p.UID == other.UID && p.CreatedAt == other.CreatedAt && p.Wants().Priority == other.Wants().Priority
}

func (h *podHeap) Len() int { return len(h.pods) }

func (h *podHeap) Less(i, j int) bool { return h.pods[i].before(h.pods[j]) != h.last }

func (h *podHeap) Swap(i, j int) {
	h.pods[i], h.pods[j] = h.pods[j], h.pods[i]
	h.pods[i].queuePlace.index, h.pods[j].queuePlace.index = int32(i), int32(j)
}

// Push implements heap.Interface.
func (h *podHeap) Push(x any) {
	p := x.(*pod)
	p.queuePlace = queuePlace{index: int32(len(h.pods)), fits: h.last}
	h.pods = append(h.pods, p)
}

// Pop implements heap.Interface.
func (h *podHeap) Pop() any {
	end := len(h.pods) - 1
	p := h.pods[end]
	h.pods[end] = nil
	h.pods = h.pods[:end]
	return p
}

// holds reports whether the pod, which is of this equivalence class, must wait for nodes that are on the way.
func (c *equivalenceClass) holds(p *pod) bool { return c.nodes.Hold(p.queuePlace.fits) }

func (c *equivalenceClass) roomOn(n *node) int {
	return placement.Room(n.Allocatable, n.taken, c.requests, c.isDriven(n))
}

// changeRoom updates the room and the devices of a node for the equivalence classes that may use it. before is the node as it
// was.
func (all *unplaced) changeRoom(before, now *node, tx *transaction) {
	for _, r := range all.requirements.byKey {
		if !r.suitable.Has(now.slot) {
			continue
		}
		for c := range r.classes {
			if c.lacksDevices(before) != c.lacksDevices(now) {
				tx.refresh = append(tx.refresh, classNode{c, now})
			}
			more := c.roomOn(now) - c.roomOn(before)
			if (more != 0 || before.autoscaled != now.autoscaled) && c.nodes.At(now.slot) == placement.OnTheWay {
				c.room += more
				c.countAutoscaled(before, -1)
				c.countAutoscaled(now, +1)
				tx.markClassDirty(c)
			}
		}
	}
}

// countAutoscaled counts a node that is on the way to the equivalence class, or does not any more, if an autoscaler added it.
func (c *equivalenceClass) countAutoscaled(n *node, sign int) {
	if n.autoscaled {
		c.autoscaled += sign
	}
}

// setUsed enters what the pods that are bound to a node request.
func (all *unplaced) setUsed(name string, used inventory.Resources) {
	enterResources(all.used, name, used)
	all.usageChanged = append(all.usageChanged, name)
}

// reserve enters what a pod requests that is pinned to a node by name, or takes it out. While the pod is being bound it may
// count twice or not at all for a moment: what is used of the node is known from elsewhere.
func (all *unplaced) reserve(at *pin, sign int64) {
	if at.Node == "" {
		return
	}
	enterResources(all.reserved, at.Node, all.reserved[at.Node].Plus(at.requests, sign).Plus(inventory.OnePod, sign))
	all.usageChanged = append(all.usageChanged, at.Node)
}

func enterResources(of map[string]inventory.Resources, node string, now inventory.Resources) {
	if len(now) == 0 {
		delete(of, node)
	} else {
		of[node] = now
	}
}

func (all *unplaced) takenOn(name string) inventory.Resources {
	if reserved := all.reserved[name]; len(reserved) > 0 {
		return all.used[name].Plus(reserved, 1)
	}
	return all.used[name]
}

// applyUsage updates the room of the nodes of which more or less is taken now, for the equivalence classes.
func (all *unplaced) applyUsage(tx *transaction) {
	for _, name := range all.usageChanged {
		n, taken := all.byName[name], all.takenOn(name)
		if n == nil || n.taken.Equal(taken) {
			continue
		}
		before := *n
		n.taken = taken
		all.changeRoom(&before, n, tx)
	}
	clear(all.usageChanged)
	all.usageChanged = all.usageChanged[:0]
}

// divide gives the pods of the equivalence class the room that there is now.
func (all *unplaced) divide(c *equivalenceClass) {
	c.queue.divide(c.room, func(p *pod) { all.moved = append(all.moved, p) })
}

// settleRoom marks for re-evaluation the pods that have come within the room or have left it. If the whole equivalence class is
// held now, or no longer is, all its pods are re-evaluated anyway.
func (all *unplaced) settleRoom(tx *transaction) {
	all.applyUsage(tx)
	for _, c := range tx.dirtyClasses {
		all.divide(c)
	}
	for _, p := range all.moved {
		if p.class != nil && p.class.nodes.Hold(true) && p.class.published.held {
			tx.dirtyPods = append(tx.dirtyPods, p)
		}
	}
	clear(all.moved)
	all.moved = all.moved[:0]
}

// Pods that ask for devices, such as example.com/gpu, often name no nodes: the scheduler finds those that have the devices. While
// the device plugin starts no node has them yet. The nodes that its group's nodeSelector leaves out are open, because nothing is
// waited for there, but they are no place for these pods.
//
// So a node that lacks devices suits pods only if some group that they wait for and that has a nodeSelector is for this node: its
// driver may bring the devices. Pods that wait for no such group are not affected: nothing says then which nodes the driver is for.
// The same if the driver is ready: a node may offer devices that its allocatable resources do not list, as DRA does for extended resources.

// lacksDevices reports whether the node lacks devices that the pods ask for, and no driver that they wait for brings them there.
func (c *equivalenceClass) lacksDevices(n *node) bool { return lacksDevices(c.needs, c.devices, n) }

func lacksDevices(needs []membership, devices inventory.Resources, n *node) bool {
	if !placement.Lacks(n.Allocatable, devices) {
		return false
	}
	selective, isDriven := driversFor(needs, n)
	return selective && !isDriven
}

// isDriven reports whether some driver that the pods wait for is for particular nodes, and this is one of them.
func (c *equivalenceClass) isDriven(n *node) bool {
	if len(c.devices) == 0 {
		return false
	}
	_, isDriven := driversFor(c.needs, n)
	return isDriven
}

// driversFor reports whether pods with these needs wait for groups that are for particular nodes, and whether the node is one of
// those of such a group.
func driversFor(needs []membership, n *node) (selective, isDriven bool) {
	for _, m := range needs {
		for i := range m.sequence.groups[m.group].Awaited.All() {
			g := m.sequence.groups[i]
			if g.NodeSelector == nil {
				continue
			}
			if selective = true; g.AppliesTo(n.Object.Labels) {
				return true, true
			}
		}
	}
	return selective, false
}

func namesOf(devices inventory.Resources) []string {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = string(d.Name)
	}
	return names
}
