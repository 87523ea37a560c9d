package sequence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/podgroups"
)

// sequence is a PodSequence made ready for questions, and how far it has come.
type sequence struct {
	key        types.NamespacedName
	uid        types.UID
	generation int64
	// created is when it began to count: when it was made, or, if that was later, when its target namespace allowed it.
	created   time.Time
	allowedAt time.Time // when the target namespace came to allow it, as far as anybody saw; zero if it always did
	namespace string    // where the pods live
	// refusal says why the target namespace does not let the sequence hold its pods; empty if it does.
	refusal string
	// object is what the API server last said: read only.
	object *v1alpha1.PodSequence

	perNode    bool // scope Node
	continuous bool // a group counts only while it is satisfied
	suspended  bool

	gate        string
	gateAllowed bool

	groups []*group
	// byName has the groups that name a pod, in order. The first has it, unless an even earlier group selects it.
	byName map[string][]int

	// lanes are where groups are passed in order: the one lane with the empty name for scope Cluster; for scope Node one for
	// each node where something of the sequence is or is due, and the one with the empty name for members that are not bound yet.
	lanes map[string]*lane
	// lanesMu guards which lanes there are and their told against those who read without the engine's lock. It is held for
	// no more than a look at one lane, and is the innermost lock.
	lanesMu sync.RWMutex
	// engine has the nodes, and tells what time it is. It is nil until the sequence is listed, at the moment listedAt.
	engine   *Engine
	listedAt uint64
	// eager has a lane for every node, because they may differ where nothing of the sequence is, see blank.go.
	eager bool
	// resumed is when a suspension was lifted, as the engine saw it; zero if it saw none.
	resumed time.Time
	// classes have unbound pods that this sequence, of scope Node, keeps from some nodes.
	classes map[*class]struct{}
	// begun tells that the first group had been let go, so that being suspended does not hold it. Atomic, because it is read
	// without a lock, see publishedOn.
	begun atomic.Bool
	// listed tells whether the engine still goes by this sequence.
	listed bool

	// gangs counts, for each PodGroup that pods name, how many of them each group has.
	gangs map[podgroups.Reference]map[int]int
	// gangsKnown are all PodGroups that the engine knows.
	gangsKnown map[podgroups.Reference]*gang

	// nodeRecords are what status says of nodes.
	nodeRecords map[string]*v1alpha1.NodeStatus

	problems   []Problem
	unreadable []Unreadable
}

// group is one pod group.
type group struct {
	// Exactly one of names and selector is set; neither if the group's spec makes no sense.
	names    map[string]struct{}
	selector labels.Selector
	title    string // for messages: the name, or "Group <n>"
	// hash stands for the definitions of this group and of all before it.
	hash string

	required     v1alpha1.RequiredStatus
	minAvailable *intstr.IntOrString
	wait         time.Duration
	timeout      time.Duration // 0: none
	goOn         bool          // when the time-out is over
	nodeSelector labels.Selector
	// always marks a group of a sequence of scope Node that is satisfied on every node, because it needs no pods.
	always bool

	watchedSince time.Time // since when the engine watches it, defined as it is
	editedAt     time.Time // when an edit gave it this definition; zero if none did that the engine saw

	// unreadable groups are never satisfied: what would satisfy them is not known.
	unreadable bool

	// shares are the workloads whose pods this group selects.
	shares map[*share]struct{}
}

// Problem is something that keeps a sequence from doing what its spec says.
type Problem struct {
	Reason  string // a reason of the API
	Message string // what is wrong, and the mend
}

// compile makes a sequence out of an object. It never fails: what cannot be understood becomes a problem, and a group
// that cannot be understood has no members and is never satisfied, so that what comes after it stays held.
func compile(stored Stored, gatePrefixes []string) *sequence {
	ps := stored.PodSequence
	s := &sequence{
		key:        types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name},
		uid:        ps.UID,
		generation: ps.Generation,
		created:    ps.CreationTimestamp.Time,
		object:     ps,
		namespace:  ps.Spec.Namespace,
		perNode:    ps.Spec.Scope == v1alpha1.ScopeNode,
		continuous: ps.Spec.Mode() == v1alpha1.Continuous,
		suspended:  ps.Spec.Suspend,
		gate:       ps.Spec.SchedulingGateName,
		byName:     map[string][]int{},
		lanes:      map[string]*lane{},
		classes:    map[*class]struct{}{},
		unreadable: stored.Unreadable,
	}
	if s.namespace == "" {
		s.namespace = ps.Namespace
	}
	if s.gate == "" {
		s.gate = v1alpha1.DefaultSchedulingGateName
	}

	hash := sha256.Sum256([]byte(s.namespace))
	for i := range ps.Spec.PodGroups {
		spec := &ps.Spec.PodGroups[i]
		hash = chain(hash, spec)
		s.groups = append(s.groups, newGroup(i, spec.Name, hex.EncodeToString(hash[:8])))
	}
	if len(s.groups) == 0 {
		s.groups = []*group{newGroup(0, "", hex.EncodeToString(hash[:8]))} // nothing is complete that has no groups
		if len(stored.Unreadable) == 0 {
			s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups must have 1 to 64 groups")
		}
	}
	for _, part := range stored.Unreadable {
		s.groups[part.Group].unreadable = true
		s.problem(v1alpha1.ReasonInvalidSpec, "%s", part.Message)
	}
	s.gateAllowed = slices.ContainsFunc(gatePrefixes, func(prefix string) bool { return strings.HasPrefix(s.gate, prefix) })
	if !s.gateAllowed {
		s.problem(v1alpha1.ReasonGateNotAllowed,
			"spec.schedulingGateName %q is never lifted: use a gate beginning with %s, or have the operator allow its prefix",
			s.gate, strings.Join(gatePrefixes, " or "))
	}
	for i := range ps.Spec.PodGroups {
		s.compileGroup(i, &ps.Spec.PodGroups[i])
	}
	s.compileBlanks()
	return s
}

func newGroup(i int, title, hash string) *group {
	if title == "" {
		title = fmt.Sprintf("Group %d", i+1)
	}
	return &group{title: title, hash: hash, required: v1alpha1.RequireReady, shares: map[*share]struct{}{}}
}

func (s *sequence) compileGroup(i int, spec *v1alpha1.PodGroup) {
	g := s.groups[i]
	s.compileLimits(i, spec, g)
	if g.unreadable && len(spec.Pods) == 0 && spec.PodSelector == nil {
		return // which has been told
	}
	if (len(spec.Pods) == 0) == (spec.PodSelector == nil) {
		s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d] must set exactly one of pods and podSelector", i)
		return
	}
	if spec.PodSelector != nil {
		selector, err := asSelector(spec.PodSelector)
		if err != nil {
			s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d].podSelector: %v", i, err)
			return
		}
		g.selector = selector
		return
	}

	g.names = make(map[string]struct{}, len(spec.Pods))
	for _, name := range spec.Pods {
		if _, twice := g.names[name]; twice {
			continue
		}
		g.names[name] = struct{}{}
		if earlier := s.byName[name]; len(earlier) > 0 {
			s.problem(v1alpha1.ReasonAmbiguousMembership,
				"pod %q is named by spec.podGroups[%d] and again by spec.podGroups[%d]: it starts with the first; remove it from one",
				name, earlier[0], i)
		}
		s.byName[name] = append(s.byName[name], i)
	}
}

// compileLimits reads what the API server would refuse today if it made no sense. A wait that cannot be read lasts for
// ever, so that nothing starts early.
func (s *sequence) compileLimits(i int, spec *v1alpha1.PodGroup, g *group) {
	g.goOn = spec.OnTimeout == v1alpha1.TimeoutContinue
	if spec.RequiredStatus != "" {
		g.required = spec.RequiredStatus
	}
	var err error
	if g.wait, err = spec.WaitDuration.Parse(); err != nil {
		s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d].waitDuration: %v: use a duration such as 30s", i, err)
		g.wait = math.MaxInt64
	}
	if g.timeout, err = spec.Timeout.Parse(); err != nil {
		s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d].timeout: %v: use a duration such as 10m", i, err)
	}
	if spec.MinAvailable != nil {
		if _, err := intstr.GetScaledValueFromIntOrPercent(spec.MinAvailable, 1, true); err != nil {
			s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d].minAvailable: %v: all members are awaited", i, err)
		} else {
			g.minAvailable = bounded(spec.MinAvailable)
		}
	}
	if len(spec.NodeSelector) > 0 {
		selector := labels.Set{}
		for key, value := range spec.NodeSelector {
			selector[key] = string(value)
		}
		g.nodeSelector = labels.SelectorFromSet(selector)
	}
}

// bounded is the same number or percentage, but that a percentage far from anything that makes sense is one whose multiples can
// be counted.
func bounded(minAvailable *intstr.IntOrString) *intstr.IntOrString {
	const limit = 1_000_000
	percent, err := strconv.Atoi(strings.TrimSuffix(minAvailable.StrVal, "%"))
	if minAvailable.Type == intstr.Int || err != nil || (-limit <= percent && percent <= limit) {
		return minAvailable
	}
	return ptr.To(intstr.FromString(strconv.Itoa(min(max(percent, -limit), limit)) + "%"))
}

func (s *sequence) problem(reason, format string, args ...any) {
	s.problems = append(s.problems, Problem{Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// asSelector turns the API's bounded selector into the one of apimachinery, which checks keys and values once more:
// the object may have been stored under other rules.
func asSelector(in *v1alpha1.LabelSelector) (labels.Selector, error) {
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

// definition is what decides membership and requirement of a group, and so what a recorded pass depends on. The name is
// not part of it.
type definition struct {
	Pods        []string                `json:"pods,omitempty"`
	PodSelector *v1alpha1.LabelSelector `json:"podSelector,omitempty"`

	RequiredStatus v1alpha1.RequiredStatus        `json:"requiredStatus,omitempty"`
	MinAvailable   *intstr.IntOrString            `json:"minAvailable,omitempty"`
	NodeSelector   map[string]v1alpha1.LabelValue `json:"nodeSelector,omitempty"`
}

// chain extends the hash of the groups before by this one. Records of it are stored in status: fields added to
// definition must be omitted when they have their defaults.
func chain(before [sha256.Size]byte, spec *v1alpha1.PodGroup) [sha256.Size]byte {
	d := definition{
		Pods: slices.Compact(slices.Sorted(slices.Values(spec.Pods))), PodSelector: spec.PodSelector,
		MinAvailable: spec.MinAvailable, NodeSelector: spec.NodeSelector,
	}
	if spec.RequiredStatus == v1alpha1.RequireComplete {
		d.RequiredStatus = spec.RequiredStatus
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Sprintf("marshalling strings cannot fail: %v", err))
	}
	return sha256.Sum256(append(before[:], text...))
}

// place is the pod's membership in the sequence, and whether it has one.
func (s *sequence) place(p *pod) (membership, bool) {
	if p.terminating {
		return membership{}, false
	}
	naming := s.byName[p.name]
	limit := len(s.groups)
	if len(naming) > 0 {
		limit = naming[0]
	}
	if i, ok := s.selecting(p.labels, limit); ok {
		return membership{sequence: s, group: i}, true
	}
	if len(naming) > 0 {
		return membership{sequence: s, group: naming[0]}, true
	}
	return membership{}, false
}

// selecting is the first of the groups before limit that selects pods with these labels.
func (s *sequence) selecting(podLabels map[string]string, limit int) (group int, ok bool) {
	for i, g := range s.groups[:limit] {
		if g.selector != nil && g.selector.Matches(labels.Set(podLabels)) {
			return i, true
		}
	}
	return 0, false
}

// selects tells whether any group has its members by label.
func (s *sequence) selects() bool {
	return slices.ContainsFunc(s.groups, func(g *group) bool { return g.selector != nil })
}
