package readiness

import (
	"time"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
)

// Members sums up the members of a group that count by themselves, or by name.
type Members struct {
	// Expected counts the members that count by themselves, and Ready those of them that are done. For a group by name,
	// Ready counts the pods it names, even those that start with an earlier group.
	Expected, Ready int
	// Unseen counts those of Expected whose owner has not been seen yet: it may expect more.
	Unseen int
	// Stale counts, on a node, those that were ready before the node was made.
	Stale int
	// NodeGone counts those that are ready by what they say, on nodes that do not exist.
	NodeGone int
	// Failed counts those that failed and that is not replaced.
	Failed int
}

// Member is what one member adds to the sums, see Members.
type Member struct{ Expected, Ready, Unseen, Stale, NodeGone, Failed bool }

// Add adds a member, or subtracts it if sign is -1.
func (m *Members) Add(member Member, sign int) {
	count := func(sum *int, counts bool) {
		if counts {
			*sum += sign
		}
	}
	count(&m.Expected, member.Expected)
	count(&m.Ready, member.Ready)
	count(&m.Unseen, member.Unseen)
	count(&m.Stale, member.Stale)
	count(&m.NodeGone, member.NodeGone)
	count(&m.Failed, member.Failed)
}

// Role is how a member counts in its group in the cluster.
type Role uint8

const (
	// RoleNamed is that of a pod that the group names. It counts in every group that names it, see Named.
	RoleNamed Role = iota
	// RoleOwned is that of a pod whose owner's template the group selects. It counts for the demand of its owner.
	RoleOwned
	// RoleUnseen is that of a pod whose owner has not been seen yet. It keeps the group from being certain.
	RoleUnseen
	// RoleReplaced is that of a failed pod whose owner replaces it. It does not count.
	RoleReplaced
	// RoleByItself is that of any other pod: without an owner, of an owner of an unknown kind, or of one whose template the
	// group does not select.
	RoleByItself
)

// RoleOf returns how a member counts. named reports that its group names it, owned that its group selects the template of its
// owner, and unseen that its owner is of a kind in the table and not known.
func RoleOf(p *inventory.Pod, named, owned, unseen bool) Role {
	switch {
	case named:
		return RoleNamed
	case owned:
		return RoleOwned
	case unseen:
		return RoleUnseen
	case p.IsReplaced():
		return RoleReplaced
	}
	return RoleByItself
}

// Named returns what a pod adds to a group that names it. Every name is expected, with a pod or without one.
func Named(p *inventory.Pod, required inventory.Requirement) Member {
	return Member{Ready: p.Reached(required).Done, Failed: p.IsLost()}
}

// UnseenOwner returns what a member adds whose owner has not been seen yet.
func UnseenOwner() Member { return Member{Expected: true, Unseen: true} }

// ByItself returns what a member adds that counts by itself. nodeCreatedAt is when its node was created; zero in the cluster.
func ByItself(p *inventory.Pod, required inventory.Requirement, nodeCreatedAt time.Time) Member {
	ready := IsDone(p, required, nodeCreatedAt)
	return Member{Expected: true, Ready: ready, Stale: !ready && p.Reached(required).Done, Failed: p.IsLost()}
}

// OnNode returns what a member adds that is bound to a node: every member counts by itself, but for a failed one that its
// owner replaces.
func OnNode(p *inventory.Pod, required inventory.Requirement, nodeCreatedAt time.Time) Member {
	if p.IsReplaced() {
		return Member{}
	}
	member := ByItself(p, required, nodeCreatedAt)
	member.NodeGone = p.Reached(required).NodeGone
	return member
}

// IsDone reports whether a member has reached what its group requires. What was ready on a node of the same name before this
// node was created says nothing of this one. nodeCreatedAt is zero in the cluster, and while the node is not known.
func IsDone(p *inventory.Pod, required inventory.Requirement, nodeCreatedAt time.Time) bool {
	reached := p.Reached(required)
	return reached.Done && (!p.CreatedAt.Time().Before(nodeCreatedAt) || !reached.At.Time().Before(nodeCreatedAt))
}

// RequirementOf returns what a group asks of each of its members.
func RequirementOf(g *order.Group) inventory.Requirement {
	return inventory.Requirement{Status: g.Required, Condition: g.Condition}
}
