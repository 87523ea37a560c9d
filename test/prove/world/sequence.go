package world

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

const allowAnnotation = v1alpha1.AllowSequencesFromAnnotation

// sequence is a PodSequence, or a ClusterPodSequence if it has no namespace.
type sequence struct {
	namespace, name string
	spec            v1alpha1.PodSequenceSpec // of both kinds; without podGroups
	groups          []v1alpha1.ClusterPodGroup
}

func (s *sequence) kind() string {
	if s.namespace == "" {
		return "ClusterPodSequence"
	}
	return "PodSequence"
}

// podGroups are the groups as the kind has them.
func (s *sequence) podGroups() any {
	if s.namespace == "" {
		return s.groups
	}
	groups := make([]v1alpha1.PodGroup, len(s.groups))
	for i, g := range s.groups {
		groups[i] = g.PodGroup
	}
	return groups
}

// object is what the API server is asked to create. It says nothing of status, which the API server fills in.
func (s *sequence) object() *sequenceObject {
	o := &sequenceObject{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: s.kind()},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name},
		Spec: object{
			"podGroups": s.podGroups(), "scope": s.spec.Scope, "suspend": s.spec.Suspend, "dryRun": s.spec.DryRun,
		},
	}
	if s.spec.EnforcementMode != "" {
		o.Spec["enforcementMode"] = s.spec.EnforcementMode
	}
	if s.spec.Namespace != "" {
		o.Spec["namespace"] = s.spec.Namespace
	}
	return o
}

type sequenceObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              object `json:"spec"`
}

// newSequence invents one.
func newSequence(w *world, namespace, name string) *sequence {
	s := &sequence{namespace: namespace, name: name}
	s.spec.Scope = one(w.dice, v1alpha1.ScopeCluster, v1alpha1.ScopeCluster, v1alpha1.ScopeCluster, v1alpha1.ScopeNode)
	if s.spec.Scope == v1alpha1.ScopeCluster && w.chance(35) {
		s.spec.EnforcementMode = v1alpha1.Continuous
	}
	s.spec.Suspend, s.spec.DryRun = w.chance(6), w.chance(6)
	members := namespace
	if namespace != "" && len(w.namespaces) > 1 && w.chance(15) {
		s.spec.Namespace = one(w.dice, w.namespaces...)
		members = s.spec.Namespace
	}
	tiers := slices.Clone(w.tiers)
	if w.chance(10) {
		slices.Reverse(tiers)
	}
	for _, tier := range tiers {
		// A group that nothing matches holds all behind it.
		if nobody := !w.hasTier(members, tier); nobody && w.chance(90) || len(s.groups) > 0 && w.chance(15) {
			continue
		}
		s.groups = append(s.groups, s.inventGroup(w, members, tier))
	}
	if len(s.groups) == 0 || w.chance(20) {
		rest := s.inventGroup(w, members, "")
		rest.Pods, rest.PodSelector = nil, &v1alpha1.LabelSelector{}
		s.groups = append(s.groups, rest)
	}
	if w.chance(35) {
		s.inventGraph(w)
	}
	w.awaited.addTo(s)
	return s
}

// inventGroup is a group of a tier, by label or by names.
func (s *sequence) inventGroup(w *world, namespace, tier string) v1alpha1.ClusterPodGroup {
	g := v1alpha1.ClusterPodGroup{PodGroup: v1alpha1.PodGroup{Name: fmt.Sprintf("g%d%s", len(s.groups), tier)}}
	if namespace == "" {
		if w.chance(50) {
			g.Namespaces = w.namespaces[:w.between(1, len(w.namespaces))]
		} else {
			g.NamespaceSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{SeedLabel: v1alpha1.LabelValue(w.prefix)}}
			if w.chance(50) {
				g.NamespaceSelector.MatchLabels[zoneLabel] = "in"
			}
		}
		if len(g.Namespaces) == 1 {
			namespace = g.Namespaces[0]
		}
	}
	if namespace != "" && w.chance(25) {
		g.Pods = w.namesOf(namespace, tier)
	}
	if len(g.Pods) == 0 {
		g.PodSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{tierLabel: v1alpha1.LabelValue(tier)}}
	}
	s.inventConditions(w, &g.PodGroup)
	return g
}

// inventConditions says when a group is satisfied, and what else is special about it.
func (s *sequence) inventConditions(w *world, g *v1alpha1.PodGroup) {
	if w.chance(20) {
		g.WaitDuration = one[v1alpha1.Duration](w.dice, "500ms", "1s", "2s", "3s")
	}
	if w.chance(15) {
		g.Timeout, g.OnTimeout = one[v1alpha1.Duration](w.dice, "3s", "5s", "8s"), one(w.dice, v1alpha1.TimeoutFail, v1alpha1.TimeoutContinue)
	}
	if w.chance(15) {
		g.MinAvailable = one(w.dice, new(intstr.FromInt32(0)), new(intstr.FromInt32(1)), new(intstr.FromString("50%")), new(intstr.FromString("100%")))
	}
	if g.PodSelector != nil && w.chance(10) {
		g.ExpectedPods = int32(w.between(1, 3))
	}
	if w.chance(4) {
		g.RequiredStatus = v1alpha1.RequireComplete
	}
	g.Skip = w.chance(6)
	if s.spec.Scope == v1alpha1.ScopeNode && w.chance(15) {
		g.NodeSelector = map[string]v1alpha1.LabelValue{zoneLabel: "in"}
	}
}

// inventGraph makes some groups say what they depend on.
func (s *sequence) inventGraph(w *world) {
	var names []string
	for i := range s.groups {
		if w.chance(70) {
			s.groups[i].DependsOn = some(w.dice, 50, names)
		}
		names = append(names, s.groups[i].Name)
	}
}

// edit edits the sequence, as somebody does who changes their mind.
func (s *sequence) edit(w *world, at time.Duration) {
	later := at + w.moment(500*time.Millisecond, 5*time.Second)
	spec := func(at time.Duration, change object) {
		w.patch(at, s.kind(), s.namespace, s.name, object{"spec": change})
	}
	g := &s.groups[w.IntN(len(s.groups))].PodGroup
	switch w.IntN(8) {
	case 0:
		spec(at, object{"suspend": true})
		if w.chance(80) {
			spec(later, object{"suspend": false})
		}
		return
	case 1:
		spec(at, object{"dryRun": true})
		if w.chance(50) {
			spec(later, object{"dryRun": false})
		}
		return
	case 2:
		w.remove(at, s.kind(), s.namespace, s.name)
		if w.chance(70) {
			w.create(later, s.kind(), s.object())
		}
		return
	case 3:
		g.Skip = !g.Skip
	case 4:
		g.WaitDuration = one[v1alpha1.Duration](w.dice, "", "1s", "2s")
	case 5:
		if g.PodSelector != nil {
			g.ExpectedPods = int32(w.between(1, 2))
		}
		if len(g.Pods) == 0 && g.PodSelector == nil {
			g.Objects = w.awaited.objects(s)
			break
		}
		g.MinAvailable = one[*intstr.IntOrString](w.dice, nil, new(intstr.FromInt32(1)), new(intstr.FromString("50%")))
	case 6:
		g.Timeout, g.OnTimeout = "4s", one(w.dice, v1alpha1.TimeoutFail, v1alpha1.TimeoutContinue)
	case 7:
		last := s.groups[len(s.groups)-1]
		if len(s.groups) > 2 {
			s.groups = s.groups[:len(s.groups)-1]
			spec(at, object{"podGroups": s.podGroups()})
			s.groups = append(s.groups, last)
			spec(later, object{"podGroups": s.podGroups()})
			return
		}
	}
	spec(at, object{"podGroups": s.podGroups()})
}
