package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Sequence is the spec of a PodSequence or of a ClusterPodSequence, compiled. It is read only.
type Sequence struct {
	// Key has no namespace if it is a ClusterPodSequence.
	Key        types.NamespacedName
	UID        types.UID
	Generation int64
	Cluster    bool   // it is a ClusterPodSequence
	Namespace  string // where the pods of a PodSequence live

	PerNode    bool // scope Node
	Continuous bool // a group counts only while it is satisfied
	// Override is what annotations add: Suspended and Skipped have it already.
	Override  Override
	Suspended bool
	// DryRunRequested reports that the spec has dryRun: status says which pods the sequence holds, or would hold.
	DryRunRequested bool
	// DryRun reports that nothing is held for that reason. A suspended sequence holds its pods all the same. Every rule about what is
	// held or released asks this field, and not DryRunRequested.
	DryRun bool

	Gate        string
	GateAllowed bool

	Groups []*Group
	// Skipped are the groups that no group waits for.
	Skipped GroupSet
	// IsList reports that every group waits for all groups before it.
	IsList bool
	// byName are the groups that name a pod, in order, by the pod's namespace and name. The pod belongs to the first, unless an even
	// earlier group selects it.
	byName map[string]map[string][]int
	// installation is the namespace where PodSequence itself runs; empty if that is not known.
	installation string

	Problems []Problem
}

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

// Problem is something that keeps a sequence from doing what its spec says.
type Problem struct {
	Reason  string // a reason of the API
	Message string // what is wrong, and the fix
}

// Compile makes a Sequence out of an object. It never fails: what cannot be understood becomes a problem, and a group
// that cannot be understood has no members and is never satisfied, so that what comes after it stays held.
//
// Annotations override the spec as they do at a time; at the zero time whatever they ever add counts.
func Compile(stored Stored, gatePrefixes []string, now time.Time) *Sequence {
	ps, override := stored.PodSequence, ReadOverride(stored.PodSequence, now)
	s := &Sequence{
		Key:        types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name},
		UID:        ps.UID,
		Generation: ps.Generation,
		Cluster:    stored.Cluster != nil,
		Namespace:  ps.Spec.Namespace,
		PerNode:    ps.Spec.Scope == v1alpha1.ScopeNode,
		Continuous: ps.Spec.Mode() == v1alpha1.Continuous,
		Override:   override,
		Suspended:  ps.Spec.Suspend || override.Suspend,
		Gate:       ps.Spec.SchedulingGateName,
		byName:     map[string]map[string][]int{},
	}
	s.DryRunRequested = ps.Spec.DryRun
	s.DryRun = s.DryRunRequested && !s.Suspended
	if s.Namespace == "" {
		s.Namespace = ps.Namespace
	}
	if s.Gate == "" {
		s.Gate = v1alpha1.DefaultSchedulingGateName
	}
	groups := ps.Spec.PodGroups[:min(len(ps.Spec.PodGroups), MaxGroups)]
	s.compileGroups(stored, groups)
	s.GateAllowed = IsGateAllowed(s.Gate, gatePrefixes)
	if !s.GateAllowed {
		s.problem(v1alpha1.ReasonGateNotAllowed,
			"spec.schedulingGateName %q is never lifted: use a gate that begins with %s, or ask the cluster administrator to allow its prefix",
			s.Gate, strings.Join(gatePrefixes, " or "))
	}
	for i := range groups {
		s.compileGroup(i, &groups[i], stored.Cluster)
	}
	if last := s.Groups[len(s.Groups)-1]; len(s.Groups) > 1 && !s.PerNode && last.Selector != nil {
		last.IsRest = last.Selector.Empty()
	}
	s.compileNeeds()
	s.Problems = append(s.Problems, override.Problems...)
	return s
}

// IsGateAllowed reports whether a gate begins with one of the prefixes.
func IsGateAllowed(gate string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(gate, prefix) })
}

// compileGroups makes the groups, with what comes before them and what stands for their definitions.
func (s *Sequence) compileGroups(stored Stored, groups []v1alpha1.PodGroup) {
	unreadable := stored.Unreadable
	order := s.orderOf(groups, unreadable)
	for i, hash := range order.hashes(stored, s.Namespace) {
		s.Groups = append(s.Groups, newGroup(i, groups[i].Name, hash, order[i]))
	}
	if len(s.Groups) == 0 {
		s.Groups = []*Group{newGroup(0, "", sha256.Sum256([]byte(s.Namespace)), 0)} // nothing is complete that has no groups
		if len(unreadable) == 0 {
			s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups must have 1 to %d groups", MaxGroups)
		}
	}
	if all := len(stored.Spec.PodGroups); all > MaxGroups {
		s.Groups[MaxGroups-1].Unreadable = true // so that the sequence is never completed
		s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups must have 1 to %d groups, not %d: remove some; until then the last of these does not count as ready, "+
			"and those after it have no pods", MaxGroups, all)
	}
	for _, part := range unreadable {
		s.Groups[min(part.Group, MaxGroups-1)].Unreadable = true
		s.problem(v1alpha1.ReasonInvalidSpec, "%s", part.Message)
	}
	s.compileSkips(groups)
}

func newGroup(i int, title string, hash [sha256.Size]byte, predecessors GroupSet) *Group {
	return &Group{Title: titleOf(i, title), Hash: hex.EncodeToString(hash[:8]), Predecessors: predecessors, Required: v1alpha1.RequireReady}
}

// titleOf returns what a group is called: by its name, or by its number if it has none.
func titleOf(i int, name string) string {
	if name == "" {
		return fmt.Sprintf("Group %d", i+1)
	}
	return name
}

// compileGroup reads one group. cluster is the ClusterPodSequence; nil for a PodSequence.
func (s *Sequence) compileGroup(i int, spec *v1alpha1.PodGroup, cluster *v1alpha1.ClusterPodSequence) {
	g := s.Groups[i]
	s.compileLimits(i, spec, g)
	s.compileObjects(i, spec, g)
	s.compileNodeConditions(i, spec, g)
	if g.Unreadable && len(spec.Pods) == 0 && spec.PodSelector == nil {
		return // this is a problem already
	}
	if g.WithoutMembers = isWithoutMembers(spec); g.WithoutMembers {
		return
	}
	if (len(spec.Pods) == 0) == (spec.PodSelector == nil) {
		s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d] must set exactly one of pods and podSelector, or neither and objects or nodeConditions", i)
		return
	}
	place, ok := in(s.Namespace), true
	if cluster != nil {
		place, ok = s.compileWhere(i, &cluster.Spec.PodGroups[i])
	}
	if !ok {
		return
	}
	if spec.PodSelector != nil {
		selector, err := Selector(spec.PodSelector)
		if err != nil {
			s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d].podSelector: %v", i, err)
			return
		}
		g.Selector, g.where, g.ExpectedPods = selector, place, max(0, int(spec.ExpectedPods))
		return
	}

	g.where = place
	g.Names = make(map[string]struct{}, len(spec.Pods))
	for _, name := range spec.Pods {
		if _, twice := g.Names[name]; twice {
			continue
		}
		g.Names[name] = struct{}{}
		byName := s.namesIn(place)
		if earlier := byName[name]; len(earlier) > 0 {
			s.problem(v1alpha1.ReasonAmbiguousMembership,
				"pod %q is named in spec.podGroups[%d] and in spec.podGroups[%d]: it belongs to the first; remove it from one of them",
				name, earlier[0], i)
		}
		byName[name] = append(byName[name], i)
	}
}

// namesIn returns the groups that name pods of the only namespace of a group, for changing them.
func (s *Sequence) namesIn(place where) map[string][]int {
	for namespace := range place.names {
		if s.byName[namespace] == nil {
			s.byName[namespace] = map[string][]int{}
		}
		return s.byName[namespace]
	}
	return nil
}

// compileLimits reads what the API server would refuse today if it made no sense. A wait that cannot be read never ends,
// so that nothing starts early.
func (s *Sequence) compileLimits(i int, spec *v1alpha1.PodGroup, g *Group) {
	g.ContinueOnTimeout = spec.OnTimeout == v1alpha1.TimeoutContinue
	if spec.RequiredStatus != "" {
		g.Required = spec.RequiredStatus
	}
	g.Condition = spec.RequiredCondition
	if spec.MinReadySeconds != nil {
		g.MinReady = ptr.To(time.Duration(max(0, *spec.MinReadySeconds)) * time.Second)
	}
	var err error
	if g.Wait, err = spec.WaitDuration.Parse(); err != nil {
		s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d].waitDuration: %v: use a duration such as 30s", i, err)
		g.Wait = math.MaxInt64
	}
	if g.Timeout, err = spec.Timeout.Parse(); err != nil {
		s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d].timeout: %v: use a duration such as 10m", i, err)
	}
	if spec.MinAvailable != nil {
		of100, err := intstr.GetScaledValueFromIntOrPercent(spec.MinAvailable, 100, true)
		if err == nil && spec.MinAvailable.Type == intstr.String && (of100 < 0 || of100 > 100) {
			err = fmt.Errorf("%s is not a percentage from 0%% to 100%%", spec.MinAvailable.StrVal)
		}
		if err != nil {
			s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d].minAvailable: %v: until you correct it, every member must be ready", i, err)
		} else {
			g.MinAvailable = spec.MinAvailable
		}
	}
	if len(spec.NodeSelector) > 0 {
		selector := labels.Set{}
		for key, value := range spec.NodeSelector {
			selector[key] = string(value)
		}
		g.NodeSelector = labels.SelectorFromSet(selector)
	}
}

func (s *Sequence) problem(reason, format string, args ...any) {
	s.Problems = append(s.Problems, Problem{Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// Selector turns the API's bounded selector into the one of apimachinery, which checks keys and values once more: the object may
// have been stored under other rules. Without a selector it selects nothing.
func Selector(in *v1alpha1.LabelSelector) (labels.Selector, error) {
	if in == nil {
		return labels.Nothing(), nil
	}
	out := &metav1.LabelSelector{}
	if len(in.MatchLabels) > 0 {
		out.MatchLabels = make(map[string]string, len(in.MatchLabels))
		for key, value := range in.MatchLabels {
			out.MatchLabels[key] = string(value)
		}
	}
	for _, e := range in.MatchExpressions {
		requirement := metav1.LabelSelectorRequirement{Key: e.Key, Operator: metav1.LabelSelectorOperator(e.Operator)}
		for _, value := range e.Values {
			requirement.Values = append(requirement.Values, string(value))
		}
		out.MatchExpressions = append(out.MatchExpressions, requirement)
	}
	return metav1.LabelSelectorAsSelector(out)
}

// compileNeeds works out which groups need no pods on a node.
func (s *Sequence) compileNeeds() {
	if !s.PerNode {
		return
	}
	for _, g := range s.Groups {
		needsNone := g.needsNoMember() && !g.Unreadable
		g.NeedsNoPods, g.OnEveryNode = needsNone && !g.waitsForMore(), needsNone && g.waitsForMore()
	}
}
