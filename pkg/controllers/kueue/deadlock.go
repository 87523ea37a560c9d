package kueue

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence"
)

// waiter is a Workload with what its pods wait for.
type waiter struct {
	*workload
	hold sequence.Hold
	// groups are those to which its pods belong. They are known only where some Workload waits.
	groups []groupOf
}

// groupOf is a group of a sequence.
type groupOf struct {
	sequence types.NamespacedName
	index    int
}

// waitsFor returns the groups that the Workload waits for.
func (w *waiter) waitsFor() (groups []groupOf) {
	for _, index := range w.hold.Groups {
		groups = append(groups, groupOf{w.hold.Sequence, index})
	}
	return groups
}

// neighbors are the Workloads of one namespace by the groups of their pods.
type neighbors map[groupOf][]*waiter

func newNeighbors(waiters []*waiter) neighbors {
	n := neighbors{}
	for _, w := range waiters {
		for _, group := range w.groups {
			n[group] = append(n[group], w)
		}
	}
	return n
}

// note says in words with which other Workloads a Workload waits for each other; empty if with none.
func (n neighbors) note(w *waiter, all []*waiter) string {
	if w.over() || w.runs() {
		return ""
	}
	if w.hold.Held() {
		return n.cycleNote(w)
	}
	return quotaNote(w, all)
}

// maxNames is how many Workloads a message names.
const maxNames = 5

// cycleNote is about Workloads of which each waits for the pods of the next. A Workload is admitted as a whole, so that none comes first.
func (n neighbors) cycleNote(w *waiter) string {
	path := n.cycle(w)
	if len(path) == 0 {
		return ""
	}
	var names []string
	for _, other := range path[:min(len(path), maxNames)] {
		names = append(names, other.Name)
	}
	if more := len(path) - maxNames; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf(" That group needs pods of Workloads that wait for this one in turn, and each is admitted as a whole: %s. "+
		"Edit the PodSequences so that they agree on the order of these Workloads.", strings.Join(names, ", "))
}

// cycle returns the Workloads on a shortest way from those that one waits for back to it; nil if there is none. It looks at each group once,
// however many Workloads wait for it.
func (n neighbors) cycle(w *waiter) []*waiter {
	type step struct {
		*waiter
		from *step
	}
	seen := map[groupOf]struct{}{}
	for steps := []*step{{waiter: w}}; len(steps) > 0; steps = steps[1:] {
		at := steps[0]
		for _, group := range at.waitsFor() {
			if at.from != nil && slices.Contains(w.groups, group) {
				var path []*waiter
				for ; at.from != nil; at = at.from {
					path = append(path, at.waiter)
				}
				slices.Reverse(path)
				return path
			}
			if _, known := seen[group]; known {
				continue
			}
			seen[group] = struct{}{}
			for _, next := range n[group] {
				if next != w && !next.runs() && !next.over() && next.hold.Held() {
					steps = append(steps, &step{next, at})
				}
			}
		}
	}
	return nil
}

// quotaNote is about a Workload whose turn it is and that lacks quota, while another has quota whose pods wait for those of this
// one. Kueue says of Workloads whether all of their pods are ready only with waitForPodsReady.
func quotaNote(w *waiter, all []*waiter) string {
	if reserved := w.condition(quotaReserved); reserved.Status != metav1.ConditionFalse || reserved.Reason != "Pending" {
		return ""
	}
	for _, other := range all {
		hasQuota := other.is(quotaReserved) && !other.is(evicted) && !other.over()
		if !hasQuota || other.is(podsReady) || other.Spec.QueueName != w.Spec.QueueName || !other.waitsForAny(w.groups) {
			continue
		}
		return fmt.Sprintf(" It lacks quota, and Workload %[1]s has quota of the same queue though its pods wait for those of this one: new ones are "+
			"held by %[3]s. To give the quota back: kubectl patch workload %[1]s -n %[2]s --type=merge -p '{\"spec\":{\"active\":false}}'. "+
			"Set it to true again afterwards.", other.Name, other.Namespace, other.hold)
	}
	return ""
}

func (w *waiter) waitsForAny(groups []groupOf) bool {
	return slices.ContainsFunc(w.waitsFor(), func(group groupOf) bool { return slices.Contains(groups, group) })
}
