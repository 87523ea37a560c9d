package hold

import "example.com/podsequence/pkg/sequence/order"

// Released returns the groups that a sequence releases of those that are reached: none if its target namespace refuses it, and while it is
// suspended those that had been released before.
func Released(reached, before order.GroupSet, suspended, refused bool) order.GroupSet {
	switch {
	case refused:
		return 0
	case suspended:
		return reached & before
	}
	return reached
}
