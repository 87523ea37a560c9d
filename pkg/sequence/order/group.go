package order

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Group is one pod group.
type Group struct {
	// Exactly one of Names and Selector is set; neither if the group has no members, or if its spec makes no sense.
	Names    map[string]struct{}
	Selector labels.Selector
	Title    string // for messages: the name, or "Group <n>"
	// Hash stands for the definitions of this group and of its predecessors.
	Hash string
	// Predecessors are the groups that come before this one.
	Predecessors GroupSet
	// Awaited are those of them that must be passed before pods of this group may be scheduled: all that are not skipped.
	Awaited GroupSet
	// Direct are those of the awaited groups after which no other of them comes: when these are passed, all are.
	Direct GroupSet
	// Skip reports that no group waits for this one.
	Skip bool

	where where // the members live

	Required v1alpha1.RequiredStatus
	// Condition is the type of the condition that a member must have, in place of Required; empty if none is asked for.
	Condition    string
	MinAvailable *intstr.IntOrString
	// MinReady is how long a member must have been Ready to count as ready; nil if the group does not say.
	MinReady *time.Duration
	// ExpectedPods is how many members a group by label expects at least, whatever its workloads ask for.
	ExpectedPods      int
	Wait              time.Duration
	Timeout           time.Duration // 0: none
	ContinueOnTimeout bool
	NodeSelector      labels.Selector
	// Objects are the objects that the group waits for, beside its members.
	Objects []v1alpha1.ObjectReference
	// NodeConditions are those that must hold on a node; only in scope Node.
	NodeConditions []v1alpha1.NodeConditionRequirement
	// IsRest marks the last of several groups, if it selects every pod: it has what the groups before it leave.
	IsRest bool
	// WithoutMembers marks a group that has no members, because its spec says so: it waits for something else.
	WithoutMembers bool
	// NeedsNoPods marks a group of scope Node that is satisfied on every node.
	NeedsNoPods bool
	// OnEveryNode marks a group of scope Node that needs no pods, and waits for something else on every node.
	OnEveryNode bool
	// Unreadable groups are never satisfied: what would satisfy them is not known.
	Unreadable bool
}

func newGroup(i int, title string, hash [sha256.Size]byte, predecessors GroupSet) *Group {
	return &Group{Title: titleOf(i, title), Hash: hex.EncodeToString(hash[:8]), Predecessors: predecessors, Required: v1alpha1.RequireReady}
}

// AppliesTo reports whether the group is for nodes with these labels.
func (g *Group) AppliesTo(nodeLabels map[string]string) bool {
	return g.NodeSelector == nil || g.NodeSelector.Matches(labels.Set(nodeLabels))
}

// waitsForMore reports whether the group waits for more than its members.
func (g *Group) waitsForMore() bool { return len(g.Objects) > 0 || len(g.NodeConditions) > 0 }

// needsNoMember reports whether the group is satisfied without any member, as far as members go.
func (g *Group) needsNoMember() bool {
	return g.WithoutMembers || (g.MinAvailable != nil && g.MinAvailable.Type == intstr.Int && g.MinAvailable.IntVal <= 0 &&
		(g.Selector != nil || len(g.Names) > 0))
}

// SelectsNamespaces reports whether the group has its members in namespaces with certain labels.
func (g *Group) SelectsNamespaces() bool { return g.where.selector != nil }

// NamesPod reports whether the group names a pod.
func (g *Group) NamesPod(namespace, name string) bool {
	if _, named := g.Names[name]; !named {
		return false
	}
	_, there := g.where.names[namespace]
	return there
}

// titleOf returns what a group is called: by its name, or by its number if it has none.
func titleOf(i int, name string) string {
	if name == "" {
		return fmt.Sprintf("Group %d", i+1)
	}
	return name
}
