package sequence

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/spec"
)

// verdict is what the engine says of a pod without a node. The one that is published is kept; what an event reports of pods is
// how it differs from the new one.
type verdict struct {
	held   bool
	reason reason      // what it waits for; zero if it is not held
	early  *membership // its place in a sequence that holds it only until it is known that no event is missing; nil if none does

	// nominated reports that it is held, and that a nomination keeps room for it which our scheduler has to give back.
	nominated bool
	// nodeNeeds are what keeps it from some nodes, of which one opened last in the transaction opened.
	nodeNeeds *nodeNeeds
	opened    uint64
	// lift are its gates that may be lifted.
	lift []string
}

// reason is what a pod waits for, as far as a change of it is news of this pod. What a sequence waits for in the cluster is news
// of the sequence, see Changes.Advanced.
type reason struct {
	sequence *sequence // in the form that it has since its last edit
	// group is the first that the pod waits for on the one node that it asks for, counted from 1; -1 if there is no such node,
	// and 0 if it does not ask for one, or waits for no group.
	group int8
	// missing is a sequence that it waits for and that does not exist; the rest is zero then.
	missing spec.Missing
}

// judge works out the verdict on a pod without a node.
func (k *knowledge) judge(p *pod) verdict {
	v := verdict{nodeNeeds: p.nodeNeeds()}
	if v.nodeNeeds != nil {
		v.opened = v.nodeNeeds.opened
	}
	h := k.holderOf(p)
	if h.missing != spec.NothingMissing {
		k.hold(&v, p, reason{missing: h.missing})
		return v
	}
	switch {
	case h.early == nil:
		p.confirmed = p.placed.Moment // a namespace that comes later changes nothing about that
	case h.place == nil:
		v.early = h.early
	}
	if by := h.by(); by != nil {
		k.hold(&v, p, k.nodes.reasonOf(p, by))
	} else {
		v.lift = k.settings.liftable(p.Pod, p.memberships())
	}
	return v
}

// hold makes it the verdict that the pod must wait.
func (k *knowledge) hold(v *verdict, p *pod, why reason) {
	v.held, v.reason = true, why
	v.nominated = p.Nominated && k.settings.isOurs(p)
}

// opensMore reports whether a pod may be scheduled to nodes that it might not be before. Somebody may have found no node for it.
func (v verdict) opensMore(is verdict) bool {
	return v.nodeNeeds != nil && (v.nodeNeeds != is.nodeNeeds || v.opened != is.opened)
}

// liftsMore reports whether gates of the pod may be lifted that might not be before.
func (v verdict) liftsMore(is verdict) bool {
	return slices.ContainsFunc(is.lift, func(gate string) bool { return !slices.Contains(v.lift, gate) })
}

// published returns what is published of a pod with a UID; zero if nothing is.
func (set *settings) published(p *publishedPod, uid types.UID) verdict {
	if p == nil || p.UID != uid {
		return verdict{}
	}
	v := verdict{held: p.held.Load(), reason: p.reason, nodeNeeds: p.nodeNeeds, opened: p.opened}
	v.nominated = v.held && p.Nominated
	if !v.held {
		v.lift = set.liftable(p.Pod, p.memberships())
	}
	return v
}
