package sequence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// sequence is a PodSequence made ready for questions, and how far it has come.
type sequence struct {
	key        types.NamespacedName
	uid        types.UID
	generation int64
	namespace  string // where the pods live
	// object is what the API server last said: read only.
	object *v1alpha1.PodSequence

	gate        string
	gateAllowed bool

	groups []*group
	// byName has the groups that name a pod, in order. The first has it, unless an even earlier group selects it.
	byName map[string][]int

	// current is the first group not passed; len(groups) when all are.
	current int
	// opened is what current was when the members of the groups up to it were last reported as released.
	opened int

	problems []Problem
}

// group is one pod group and its members at present.
type group struct {
	// Exactly one of names and selector is set; neither if the group's spec makes no sense.
	names    map[string]struct{}
	selector labels.Selector
	title    string // for messages: the name, or "Group <n>"
	// hash stands for the definitions of this group and of all before it.
	hash string

	members map[*pod]struct{}
	// ready counts the expected pods that are ready: of a group by name every pod it names, even one that starts with
	// an earlier group; of a group by selector its members.
	ready int
	// lastReady is the latest moment at which one of them, at present or in the past, turned ready.
	lastReady time.Time
	// unreadable groups are never satisfied: what would satisfy them is not known.
	unreadable bool
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
		object:     ps,
		namespace:  ps.Spec.Namespace,
		gate:       ps.Spec.SchedulingGateName,
		byName:     map[string][]int{},
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
	return s
}

func newGroup(i int, title, hash string) *group {
	if title == "" {
		title = fmt.Sprintf("Group %d", i+1)
	}
	return &group{title: title, hash: hash, members: map[*pod]struct{}{}}
}

func (s *sequence) compileGroup(i int, spec *v1alpha1.PodGroup) {
	g := s.groups[i]
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
}

// chain extends the hash of the groups before by this one. Records of it are stored in status: fields added to
// definition must be omitted when they have their defaults.
func chain(before [sha256.Size]byte, spec *v1alpha1.PodGroup) [sha256.Size]byte {
	d := definition{Pods: slices.Compact(slices.Sorted(slices.Values(spec.Pods))), PodSelector: spec.PodSelector}
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
	for i, g := range s.groups[:limit] {
		if g.selector != nil && g.selector.Matches(labels.Set(p.labels)) {
			return membership{sequence: s, group: i}, true
		}
	}
	if len(naming) > 0 {
		return membership{sequence: s, group: naming[0]}, true
	}
	return membership{}, false
}

// selects tells whether any group has its members by label.
func (s *sequence) selects() bool {
	return slices.ContainsFunc(s.groups, func(g *group) bool { return g.selector != nil })
}
