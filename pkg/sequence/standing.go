package sequence

import "example.com/podsequence/pkg/sequence/order"

// standing is how far a sequence is in one domain. A node is open to a group if the sequence has released the group there.
type standing struct {
	// passed are the groups that nothing waits for any more.
	passed order.GroupSet
	// released are the groups whose pods may be scheduled there.
	released order.GroupSet
	// known reports that the node is known. On one that is not known nothing is open.
	known bool
}

// open returns the groups to which the node with this standing is open.
func (s standing) open() order.GroupSet {
	if !s.known {
		return 0
	}
	return s.released
}

// isOpen reports whether the node with this standing is open to the pods of a group.
func (s standing) isOpen(group int) bool { return s.open().Has(group) }
