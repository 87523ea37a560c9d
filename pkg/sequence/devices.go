package sequence

import (
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/placement"
)

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
