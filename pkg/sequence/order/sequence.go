package order

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
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

// IsForeign reports whether the sequence points to another namespace than its own. Then it holds pods only while that
// namespace allows it.
func (s *Sequence) IsForeign() bool { return s.Namespace != s.Key.Namespace }

// Refusal says why the target namespace of the sequence does not allow it, and how to have it allowed; it is empty if the
// namespace does. list is the target's annotation, and exists reports whether there is such a namespace.
func (s *Sequence) Refusal(list string, exists bool) string {
	own, target := s.Key.Namespace, s.Namespace
	entries := entriesOf(list)
	switch {
	case !s.IsForeign(), slices.Contains(entries, own), slices.Contains(entries, "*"):
		return ""
	case len(validation.IsDNS1123Label(target)) > 0:
		return fmt.Sprintf("spec.namespace %q is not the name of a namespace, so nothing is held or released: correct it, or leave it out", target)
	case !exists:
		return fmt.Sprintf("spec.namespace: namespace %s does not exist, so nothing is held or released: create it, and allow "+
			"PodSequences of namespace %s there with: %s", target, own, grantCommand(entries, own, target))
	}
	return fmt.Sprintf("spec.namespace: namespace %s does not allow PodSequences of namespace %s, so nothing is held or released: "+
		"allow them with: %s", target, own, grantCommand(entries, own, target))
}

// Record returns what status says of a group, if that is still defined in the same way, and else the zero value.
func (s *Sequence) Record(status *v1alpha1.PodSequenceStatus, group int) v1alpha1.GroupStatus {
	return RecordOf(status, s.Groups[group].Hash, group)
}

// RecordIndex returns the index that a group had when status was written; -1 if there was none that was defined in the same
// way.
func (s *Sequence) RecordIndex(status *v1alpha1.PodSequenceStatus, group int) int {
	return recordIndex(status, s.Groups[group].Hash, group)
}

// PassIn returns the pass that status records of a group which is still defined in the same way. A status of an earlier release has it in
// groups; it counts unless passes could be lost then. That of a dry run is there as well, and counts as long as the dry run lasts.
func (s *Sequence) PassIn(status *v1alpha1.PodSequenceStatus, group int) (pass v1alpha1.GroupPass, recorded bool) {
	if s.PerNode || s.Groups[group].Hash == "" {
		return v1alpha1.GroupPass{}, false
	}
	if pass, recorded := status.Passes[s.Groups[group].Hash]; recorded {
		return pass, pass.UID == s.UID
	}
	wasDryRun := meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionDryRun)
	if status.EnforcementMode == v1alpha1.Continuous || (wasDryRun && !s.DryRunRequested) {
		return v1alpha1.GroupPass{}, false
	}
	record := s.Record(status, group)
	if record.PassedAt == nil {
		return v1alpha1.GroupPass{}, false
	}
	return v1alpha1.GroupPass{UID: s.UID, At: *record.PassedAt, TimedOut: record.FirstSatisfiedAt == nil && s.Groups[group].ContinueOnTimeout}, true
}

// SameGroups returns which groups both sequences define in the same way.
func (s *Sequence) SameGroups(earlier *Sequence) Same {
	same := make(Same, len(s.Groups))
	for i, g := range s.Groups {
		if same[i] = i; i >= len(earlier.Groups) || earlier.Groups[i].Hash != g.Hash {
			same[i] = slices.IndexFunc(earlier.Groups, func(other *Group) bool { return other.Hash == g.Hash })
		}
	}
	return same
}

// GroupOf returns the group of a pod that is not terminating: the first that names or selects it. A pod of PodSequence itself has
// none, and groups by label have no pods of hooks that no order concerns. groups are those of its namespace.
func (s *Sequence) GroupOf(namespace, name string, podLabels labels.Labels, unordered bool, groups GroupSet) (group int, ok bool) {
	if IsOwn(s.installation, namespace, podLabels) {
		return 0, false
	}
	naming := s.byName[namespace][name]
	limit := len(s.Groups)
	if len(naming) > 0 {
		limit = naming[0]
	}
	if unordered {
		limit = 0
	}
	if i, ok := s.selecting(podLabels, limit, groups); ok {
		return i, true
	}
	if len(naming) > 0 {
		return naming[0], true
	}
	return 0, false
}

// GroupOfTemplate returns the group of a workload whose pods have these labels: the first that selects them. groups are those of its
// namespace.
func (s *Sequence) GroupOfTemplate(namespace string, podLabels labels.Labels, groups GroupSet) (group int, ok bool) {
	if IsOwn(s.installation, namespace, podLabels) {
		return 0, false
	}
	return s.selecting(podLabels, len(s.Groups), groups)
}

// selecting returns the first of the groups before limit that selects pods with these labels in a namespace where these groups may have
// members.
func (s *Sequence) selecting(podLabels labels.Labels, limit int, groups GroupSet) (group int, ok bool) {
	for i, g := range s.Groups[:limit] {
		if g.Selector != nil && groups.Has(i) && g.Selector.Matches(podLabels) {
			return i, true
		}
	}
	return 0, false
}

// Names returns the groups that name pods of a namespace, in order, by the pod's name: read only.
func (s *Sequence) Names(namespace string) map[string][]int { return s.byName[namespace] }

// MatchCost returns what it costs to match a pod with the sequence, in labels that are compared.
func (s *Sequence) MatchCost() int {
	cost := 1 + len(s.Groups)
	for _, g := range s.Groups {
		if g.Selector == nil {
			continue
		}
		requirements, _ := g.Selector.Requirements()
		for _, r := range requirements {
			cost += 1 + len(r.ValuesUnsorted())
		}
	}
	return cost
}

// Completed reports whether status says that a group of requiredStatus Complete, which is still defined in the same way, was passed
// because it was complete. Earlier releases recorded only that it was passed, and that it was satisfied.
func (s *Sequence) Completed(status *v1alpha1.PodSequenceStatus, group int) bool {
	index := s.RecordIndex(status, group)
	if index < 0 || s.Groups[group].Required != v1alpha1.RequireComplete {
		return false
	}
	if status.Memory != nil {
		return s.Memory(status, group).Completed
	}
	record := &status.Groups[index]
	return record.PassedAt != nil && record.FirstSatisfiedAt != nil
}

// Memory returns what status remembers of a group that is still defined in the same way; nothing if it does not remember the group.
func (s *Sequence) Memory(status *v1alpha1.PodSequenceStatus, group int) v1alpha1.GroupMemory {
	index, m := s.RecordIndex(status, group), status.Memory
	if m == nil || index < 0 || index >= len(m.Groups) {
		return v1alpha1.GroupMemory{}
	}
	return m.Groups[index]
}

// compileNodeConditions reads which conditions must hold on a node.
func (s *Sequence) compileNodeConditions(i int, spec *v1alpha1.PodGroup, g *Group) {
	if len(spec.NodeConditions) == 0 {
		return
	}
	if !s.PerNode {
		g.Unreadable = true // so that nothing after it starts early
		s.problem(v1alpha1.ReasonInvalidSpec,
			"spec.podGroups[%d].nodeConditions is only for scope Node: remove it, or set scope to Node; until then the group does not count as ready", i)
		return
	}
	g.NodeConditions = normalConditions(spec.NodeConditions)
}

// AsksNode reports whether some group asks for a node's condition of this type.
func (s *Sequence) AsksNode(condition string) bool {
	return slices.ContainsFunc(s.Groups, func(g *Group) bool {
		return slices.ContainsFunc(g.NodeConditions, func(r v1alpha1.NodeConditionRequirement) bool { return r.Type == condition })
	})
}

// compileObjects reads the objects that a group waits for. It reports whether they make sense.
func (s *Sequence) compileObjects(i int, spec *v1alpha1.PodGroup, g *Group) {
	g.Objects = objectsOf(spec)
	if s.Cluster {
		return
	}
	for _, object := range g.Objects {
		if object.Namespace != "" {
			g.Unreadable = true
			s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d].objects: a PodSequence waits for objects of its own namespace: remove namespace %q; "+
				"until then the group does not count as ready", i, object.Namespace)
			return
		}
	}
}

// orderOf works out which groups come before which. unreadable are groups that come before all groups after them, because it
// is not known what they say.
func (s *Sequence) orderOf(groups []v1alpha1.PodGroup, unreadable []Unreadable) order {
	predecessors := make(order, len(groups))
	for i := range groups {
		predecessors[i] = s.predecessorsOf(i, groups, predecessors)
		for _, part := range unreadable {
			if part.Group < i {
				predecessors[i] |= predecessors[part.Group]
				predecessors[i].Add(part.Group)
			}
		}
	}
	return predecessors
}

// predecessorsOf returns the groups that come before one, if those before these are known.
func (s *Sequence) predecessorsOf(i int, groups []v1alpha1.PodGroup, before order) GroupSet {
	if groups[i].DependsOn == nil {
		return Before(i)
	}
	predecessors := GroupSet(0)
	for _, name := range groups[i].DependsOn {
		known := false
		for j := range i {
			if groups[j].Name == name {
				known = true
				predecessors |= before[j]
				predecessors.Add(j)
			}
		}
		if !known {
			s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d].dependsOn: no group listed before has the name %q: the group waits for all "+
				"groups listed before it; correct the name", i, name)
			return Before(i)
		}
	}
	return predecessors
}

// compileSkips works out which groups are waited for.
func (s *Sequence) compileSkips(groups []v1alpha1.PodGroup) {
	awaited := make(order, len(s.Groups))
	for i, g := range s.Groups {
		skip := i < len(groups) && groups[i].Skip || slices.Contains(s.Override.Skip, g.Title)
		if g.Skip = skip && !g.Unreadable; g.Skip {
			s.Skipped.Add(i)
		}
		awaited[i] = g.Predecessors &^ s.Skipped
	}
	s.IsList = true
	for i, g := range s.Groups {
		g.Awaited = awaited[i]
		g.Direct = awaited.direct(g.Awaited)
		s.IsList = s.IsList && g.Awaited == Before(i)
	}
}

// GroupsIn returns the groups that may have members in a namespace. exists reports whether the Namespace is known to exist; its
// labels select it only then, and not if it is one that has to be named.
func (s *Sequence) GroupsIn(namespace string, namespaceLabels map[string]string, exists bool) GroupSet {
	if !s.Cluster {
		if namespace != s.Namespace {
			return 0
		}
		return Before(len(s.Groups))
	}
	groups, selectable := GroupSet(0), exists && IsSelectable(s.installation, namespace)
	for i, g := range s.Groups {
		if g.where.reaches(namespace, namespaceLabels, selectable) {
			groups.Add(i)
		}
	}
	return groups
}

// NamedNamespaces returns the namespaces that the spec names, whether they exist or not.
func (s *Sequence) NamedNamespaces() map[string]struct{} {
	named := map[string]struct{}{}
	if !s.Cluster {
		named[s.Namespace] = struct{}{}
	}
	for _, g := range s.Groups {
		for name := range g.where.names {
			named[name] = struct{}{}
		}
	}
	return named
}

// SelectsNamespaces reports whether any group has its members in namespaces with certain labels.
func (s *Sequence) SelectsNamespaces() bool {
	return slices.ContainsFunc(s.Groups, (*Group).SelectsNamespaces)
}

// compileWhere reads where the members of a group of a ClusterPodSequence live. It reports whether that makes sense.
func (s *Sequence) compileWhere(i int, spec *v1alpha1.ClusterPodGroup) (where, bool) {
	switch {
	case (len(spec.Namespaces) == 0) == (spec.NamespaceSelector == nil):
		s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d] must set exactly one of namespaces and namespaceSelector", i)
		return where{}, false
	case len(spec.Pods) > 0 && len(spec.Namespaces) != 1:
		s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d]: pods needs exactly one entry in namespaces", i)
		return where{}, false
	case spec.NamespaceSelector != nil:
		selector, err := Selector(spec.NamespaceSelector)
		if err != nil {
			s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d].namespaceSelector: %v", i, err)
			return where{}, false
		}
		return where{selector: selector}, true
	}
	return in(spec.Namespaces...), true
}

// InstalledIn says in which namespace PodSequence itself runs, empty if that is not known, and returns the sequence. It is called
// before the sequence is used.
func (s *Sequence) InstalledIn(namespace string) *Sequence {
	s.installation = namespace
	return s
}
