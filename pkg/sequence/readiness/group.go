package readiness

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
)

// Group is all that is known of one group in one domain.
type Group struct {
	*order.Group
	Members *Members
	Demands *Demands

	// OnNode reports that the domain is a node. MissingOnNode counts the DaemonSets that lack a pod there, and GoingOnNode those
	// that should have one there and are being deleted.
	OnNode                     bool
	MissingOnNode, GoingOnNode int
	// Lost are the members that failed and are gone.
	Lost Lost
	// Finished reports that the group was complete when it was passed, and that nothing of it is there that is not complete.
	Finished bool
	// OthersSatisfied reports, of the group that has the rest, that the groups before it are satisfied or skipped.
	OthersSatisfied bool
	// Objects are the objects that it waits for.
	Objects Objects
	// Unmet are the conditions that it asks for and the node does not have.
	Unmet Unmet
}

// Need is what a group waits for: how many, of how many, and how many there are.
type Need struct {
	Required, Expected, Ready int
	// Certain reports whether it is known what to expect.
	Certain bool
	// Nothing reports that there is nothing to expect, and not because somebody said so.
	Nothing bool
	// Missing counts the DaemonSets that should have a pod on the node and have not.
	Missing int
	// Stale counts the pods that were ready on an earlier node of the same name and have not said so of this one.
	Stale int
	// NodeGone counts the pods that are ready by what they say, on nodes that do not exist.
	NodeGone int
	// Unseen reports that a pod's owner is not known yet, and Incomplete that a Job is not complete though its pods are.
	Unseen, Incomplete bool
	// Nodeless reports that a DaemonSet expects no pod only because no node is ready for it.
	Nodeless bool
	// Going reports that a workload is being deleted, and Lost counts the members that failed and are gone.
	Going bool
	Lost  int
	// Finished reports that the group was complete when it was passed, and that some of its members are gone.
	Finished bool
	// NoRest reports that the groups before this one leave no pod, and are satisfied.
	NoRest bool
	// Asked is what members must be, other than ready; empty for that.
	Asked string
	// Trials are the members that are Ready and do not count as ready yet. Only messages say it.
	Trials Trials
	// Memberless reports that the group has no members, because its spec says so.
	Memberless bool
	// Unmet are the conditions that the node lacks.
	Unmet Unmet
	// Objects is what it lacks of its objects.
	Objects ObjectsNeed
	// Lacks says in words what Unmet does. Only messages have it.
	Lacks string
}

// Need returns what the group waits for.
func (g *Group) Need() Need {
	n := Need{Certain: true, Memberless: true}
	if !g.WithoutMembers {
		n = g.needOfMembers()
	}
	if g.Finished && !g.hasMembers(n) {
		n = Need{Required: n.Ready, Expected: n.Ready, Ready: n.Ready, Certain: true, Finished: true}
	}
	n.Objects, n.Unmet = g.Objects.Need(), g.Unmet
	return n
}

// needOfMembers returns what the group needs of its members.
func (g *Group) needOfMembers() Need {
	var n Need
	switch {
	case g.OnNode:
		n = g.needOnNode()
	case g.Selector == nil:
		n = g.needByName()
	default:
		n = g.needByLabel()
		n.NoRest = n.Nothing && g.ExpectedPods == 0 && g.IsRest && g.OthersSatisfied
		n.Nothing = n.Nothing && !n.NoRest
	}
	n.NodeGone, n.Asked = g.Members.NodeGone, asked(g.Group)
	// What is said to be expected of a node is expected where there is anything: on other nodes the group has no part.
	if g.ExpectedPods > 0 && !(g.OnNode && n.Nothing) {
		n.Expected, n.Nothing = max(n.Expected, g.ExpectedPods), false
	}
	if g.MinAvailable == nil {
		n.Required = n.Expected
		return n
	}
	// A percentage was checked when the group was compiled.
	n.Required, _ = intstr.GetScaledValueFromIntOrPercent(g.MinAvailable, n.Expected, true)
	if g.MinAvailable.Type == intstr.Int {
		// Whatever else there may be to expect, these are enough. A group that makes no sense has no members.
		n.Ready = g.Members.Ready + g.Demands.Observed
		n.Certain, n.Nothing, n.NoRest = true, g.Selector == nil && len(g.Names) == 0, false
	}
	return n
}

// needOnNode returns what the group waits for on a node: the members that are bound there, and those that DaemonSets owe.
func (g *Group) needOnNode() Need {
	expected := g.Members.Expected + g.MissingOnNode
	return Need{
		Expected: expected, Ready: g.Members.Ready, Missing: g.MissingOnNode, Stale: g.Members.Stale,
		Certain: true, Nothing: expected == 0, Going: g.GoingOnNode > 0,
	}
}

// needByName returns what a group of named pods waits for: every name.
func (g *Group) needByName() Need {
	return Need{
		Expected: len(g.Names), Ready: g.Members.Ready,
		Certain: true, Nothing: len(g.Names) == 0, // a group that makes no sense
	}
}

// needByLabel returns what a group by label waits for: what workloads want of it, and the members that count by themselves.
func (g *Group) needByLabel() Need {
	n := Need{
		Expected: g.Members.Expected + g.Demands.Need + g.Lost.Pods, Ready: g.Members.Ready + g.Demands.Ready,
		Going: g.Demands.Going > 0, Lost: g.Lost.Objects,
	}
	n.Nothing = g.Demands.Workloads == 0 && g.Members.Expected == 0 && g.Lost.Objects == 0
	n.Certain = g.Members.Unseen == 0 && g.Demands.Unobserved == 0 && g.Demands.Nodeless == 0
	n.Unseen, n.Nodeless = g.Members.Unseen > 0, g.Demands.Nodeless > 0
	n.Incomplete = g.Demands.Short > 0 && n.Ready >= n.Expected
	return n
}

// IsSatisfied reports whether enough of the expected members are done now. need is what Need returns. A group of which
// nothing is known to expect is not satisfied: its pods may yet come. Neither is one with a workload that is being deleted, unless it
// needs no pods: what goes away satisfies nothing. But completion is final: a group that was complete when it was passed stays satisfied
// when its finished members are deleted.
func (g *Group) IsSatisfied(need Need) bool {
	if g.Unreadable || !need.Objects.IsSatisfied() || need.Unmet != 0 {
		return false
	}
	return g.WithoutMembers || need.Finished || g.hasMembers(need)
}

// hasMembers reports whether enough of the expected members are done.
func (g *Group) hasMembers(need Need) bool {
	if need.Nothing || !need.Certain || need.Ready < need.Required {
		return false
	}
	if need.Going && !g.needsNone() {
		return false
	}
	// Every workload by itself: the sums hide nothing, because a surplus is not entered. But a Job may have all the
	// pods it needs and not be complete.
	return g.MinAvailable != nil || g.Demands.Short == 0
}

// needsNone reports whether the group says that it needs no member.
func (g *Group) needsNone() bool {
	return g.MinAvailable != nil && g.MinAvailable.Type == intstr.Int && g.MinAvailable.IntVal <= 0
}

// asked says in words what members must be, other than ready; empty for that.
func asked(g *order.Group) string {
	switch {
	case g.Condition != "":
		return "with condition " + g.Condition
	case g.Required == v1alpha1.RequireStarted:
		return "started"
	}
	return ""
}

// NothingMatches reports that no pod and no workload matches the group, and nobody said how many there must be.
func (n Need) NothingMatches() bool { return n.Nothing && n.Required == 0 }

func lostText(lost int) string {
	if lost == 1 {
		return "a member failed and was deleted: create it again, or skip the group"
	}
	return fmt.Sprintf("%d members failed and were deleted: create them again, or skip the group", lost)
}

// nodeGoneText says that pods do not count because their nodes do not exist.
func nodeGoneText(pods int) string {
	if pods == 1 {
		return "a pod is bound to a node that no longer exists"
	}
	return fmt.Sprintf("%d pods are bound to nodes that no longer exist", pods)
}

// String says how far a group is.
func (n Need) String() string {
	var parts []string
	if !n.Memberless {
		parts = append(parts, n.members())
	}
	if !n.Objects.IsSatisfied() || (n.Memberless && n.Objects.Objects > 0) {
		parts = append(parts, n.Objects.String())
	}
	if n.Lacks != "" {
		parts = append(parts, n.Lacks)
	}
	if len(parts) == 0 {
		return "all conditions of the node hold"
	}
	return strings.Join(parts, "; ")
}

// members says how far the members of a group are.
func (n Need) members() string {
	if n.Finished {
		return "complete, its finished pods are deleted"
	}
	if n.NothingMatches() {
		return "no pod matches it yet"
	}
	if n.Nodeless && n.Expected == 0 && !n.Going {
		return "no node is ready for it yet"
	}
	if n.NoRest {
		return "no pod is left for it"
	}
	are := cmp.Or(n.Asked, "ready")
	text := fmt.Sprintf("%d of %d pods %s", min(n.Ready, n.Required), n.Required, are)
	if n.Required != n.Expected {
		text = fmt.Sprintf("%d of %d needed pods %s (%d expected)", min(n.Ready, n.Required), n.Required, are, n.Expected)
	}
	switch {
	case n.Unseen:
		text += ", a pod's owner is not known yet"
	case n.Going:
		text += ", a workload of the group is being deleted"
	case n.Lost > 0:
		text += ", " + lostText(n.Lost)
	case n.Incomplete && n.Required == n.Expected:
		text += ", a Job is not complete yet"
	case n.Nodeless:
		text += ", no node is ready for a DaemonSet of it yet"
	case !n.Certain:
		text += ", the controller of a workload has not seen its latest change yet"
	case n.Trials.Pods > 0:
		text += ", " + n.Trials.String()
	case n.Missing > 0:
		text += ", a DaemonSet has no pod on this node yet"
	case n.NodeGone > 0:
		text += ", " + nodeGoneText(n.NodeGone)
	case n.Stale > 0:
		text += ", a pod was last ready on an earlier node with this name: delete the pod if it does not become ready again"
	}
	return text
}

// ObjectReason returns the reason of conditions while the group lacks objects. It is empty if it lacks none, and if it lacks pods as
// well, unless some object cannot be read.
func (n Need) ObjectReason() string {
	lacksPods := !n.Memberless && (n.Nothing || !n.Certain || n.Ready < n.Required)
	switch {
	case n.Objects.IsSatisfied():
		return ""
	case n.Objects.State == v1alpha1.ObjectNotReadable:
		return v1alpha1.ReasonObjectNotReadable
	case lacksPods:
		return ""
	case n.Objects.State == v1alpha1.ObjectNotFound:
		return v1alpha1.ReasonObjectNotFound
	}
	return v1alpha1.ReasonGroupNotReady
}
