package sequence

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
)

// Circle is a chain of groups each of which lacks pods that another sequence holds until the next group is ready. The last waits for the
// first, so none of them is ever ready. The zero value is none.
type Circle struct {
	// Problem describes it, beginning with the sequence that was asked about.
	Problem order.Problem
	// Others are the other sequences that are part of it, sorted.
	Others []types.NamespacedName
}

// mostPodsInCircles bounds how many pods are looked at for one answer: a ClusterPodSequence may lead to all pods of the cluster.
const mostPodsInCircles = 10_000

// groupInSequence is one group in the cluster.
type groupInSequence struct {
	sequence *sequence
	group    int
}

type circleSearch struct {
	*knowledge
	pods int // so many more are looked at
}

// from returns the shortest chain from a group back to itself; empty if there is none. Every call finds the same.
func (search *circleSearch) from(start groupInSequence) []groupInSequence {
	cameFrom := map[groupInSequence]groupInSequence{}
	queue := []groupInSequence{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, next := range search.waitsFor(at) {
			if next == start {
				path := []groupInSequence{at}
				for at != start {
					at = cameFrom[at]
					path = append(path, at)
				}
				slices.Reverse(path)
				return path
			}
			if _, seen := cameFrom[next]; !seen {
				cameFrom[next] = at
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// waitsFor returns the groups of other sequences without which a group cannot become ready, sorted: they are not ready, and hold more of
// its pods than it can do without.
func (search *circleSearch) waitsFor(at groupInSequence) []groupInSequence {
	d, g := at.sequence.nodeless, at.sequence.groups[at.group]
	if d.looksSatisfied(at.group) || g.ContinueOnTimeout {
		return nil
	}
	held, awaited := 0, map[groupInSequence]struct{}{}
	for p := range d.peek(at.group).members {
		if search.pods--; search.pods < 0 {
			return nil
		}
		if p.Bound() || p.Succeeded || p.Failed {
			continue
		}
		isHeld := false
		for _, m := range p.memberships() {
			if m.sequence == at.sequence || !search.settings.governs(p, m.sequence) || search.holdFacts(p, m).Rule() != hold.ByGroup {
				continue
			}
			for i := range m.lacking().All() {
				awaited[groupInSequence{m.sequence, i}] = struct{}{}
				isHeld = true
			}
		}
		if isHeld {
			held++
		}
	}
	if need := d.need(at.group); held <= need.Expected-need.Required {
		return nil
	}
	return slices.SortedFunc(maps.Keys(awaited), func(a, b groupInSequence) int {
		if a.sequence != b.sequence {
			return compareKeys(a.sequence.Key, b.sequence.Key)
		}
		return a.group - b.group
	})
}

func circleOf(steps []groupInSequence) Circle {
	var circle Circle
	first := steps[0]
	text := fmt.Sprintf("it waits for itself: %s has pods that ", first.sequence.where(first.group))
	for i := range steps {
		next := steps[(i+1)%len(steps)]
		if i > 0 {
			text += ", which has pods that "
		}
		text += fmt.Sprintf("%s holds until its %s is ready", report.NameOf(next.sequence.Key), next.sequence.where(next.group))
		if key := next.sequence.Key; next.sequence != first.sequence && !slices.Contains(circle.Others, key) {
			circle.Others = append(circle.Others, key)
		}
	}
	slices.SortFunc(circle.Others, compareKeys)
	names := []string{"this one"}
	for _, key := range circle.Others {
		names = append(names, report.NameOf(key))
	}
	circle.Problem = order.Problem{Reason: v1alpha1.ReasonWaitsForItself, Message: fmt.Sprintf(
		"%s; change the order of one of these sequences: %s", text, strings.Join(names, ", "))}
	return circle
}
