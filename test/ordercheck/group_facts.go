package ordercheck

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// groupFacts is one group: either names or a selector, and what is asked of its members.
type groupFacts struct {
	label        string // how messages call it: 1/3 "Database"
	name         string
	unnamed      bool // the spec gives it no name: it has the one by default
	names        []string
	selector     labels.Selector
	nodeSelector map[string]v1alpha1.LabelValue
	reached      v1alpha1.RequiredStatus
	enough       enough
	wait         time.Duration
	timeout      time.Duration  // 0 is none
	goesOn       bool           // when it is over
	atLeast      int            // how many members it expects, whatever its workloads say; 0 is no such number
	skip         bool           // no group waits for it
	steady       *time.Duration // how long a member must stay ready; nil if it does not say
	home         home
	dependsOn    []string                            // as in the spec; nil is all groups before
	objects      []v1alpha1.ObjectReference          // that it waits for
	conditions   []v1alpha1.NodeConditionRequirement // of its node
	memberless   bool                                // it waits for nothing else
	ahead        []int                               // the groups that it waits for, and those for which these wait, in list order
}

// home says where the members of a group live: in namespaces by name, or by label.
type home struct {
	names    []string
	selector labels.Selector // nil for names
}

// includes reports whether a namespace with these labels is one of those where the members live.
func (h home) includes(namespace string, labelled labels.Set) bool {
	if h.selector != nil {
		return !mustBeNamed(namespace) && h.selector.Matches(labelled)
	}
	return slices.Contains(h.names, namespace)
}

func (h home) String() string {
	if h.selector != nil {
		return "selector:" + h.selector.String()
	}
	return "names:" + strings.Join(h.names, ",")
}

// enough is how many members satisfy a group. The zero value is all of them.
type enough struct {
	text    string // as in the spec; empty is all
	percent bool
	number  int
}

// none reports whether a group needs no member, whatever there is of it.
func (e enough) none() bool { return e.text != "" && !e.percent && e.number <= 0 }

// of is how many of the expected members are enough.
func (e enough) of(expected int) int {
	switch {
	case e.text == "":
		return expected
	case e.percent:
		return (expected*e.number + 99) / 100
	}
	return e.number
}

func readGroup(group *v1alpha1.PodGroup, index, of int) (groupFacts, error) {
	f := groupFacts{
		name: group.Name, label: fmt.Sprintf("%d/%d", index+1, of), nodeSelector: group.NodeSelector,
		reached: requiredOf(group), goesOn: group.OnTimeout == v1alpha1.TimeoutContinue,
		atLeast: int(group.ExpectedPods), skip: group.Skip, dependsOn: group.DependsOn,
	}
	if group.Name == "" {
		f.name, f.unnamed = fmt.Sprintf("Group %d", index+1), true
	}
	f.label += fmt.Sprintf(" %q", f.name)
	if group.MinReadySeconds != nil {
		f.steady = new(time.Duration(*group.MinReadySeconds) * time.Second)
	}
	var err error
	if f.wait, err = group.WaitDuration.Parse(); err != nil {
		return f, fmt.Errorf("read waitDuration of group %s: %w", f.label, err)
	}
	if f.timeout, err = group.Timeout.Parse(); err != nil {
		return f, fmt.Errorf("read timeout of group %s: %w", f.label, err)
	}
	if f.enough, err = readEnough(group.MinAvailable); err != nil {
		return f, fmt.Errorf("read minAvailable of group %s: %w", f.label, err)
	}
	f.objects, f.conditions = readObjects(group), group.NodeConditions
	if f.memberless = isMemberless(group); f.memberless {
		return f, nil
	}
	if (len(group.Pods) > 0) == (group.PodSelector != nil) {
		return f, fmt.Errorf("group %s must have either pods or podSelector", f.label)
	}
	if group.PodSelector == nil {
		f.names = slices.Compact(slices.Sorted(slices.Values(group.Pods)))
		return f, nil
	}
	if f.selector, err = readSelector(group.PodSelector); err != nil {
		return f, fmt.Errorf("read podSelector of group %s: %w", f.label, err)
	}
	return f, nil
}

func readEnough(minAvailable *intstr.IntOrString) (enough, error) {
	if minAvailable == nil {
		return enough{}, nil
	}
	e := enough{text: minAvailable.String()}
	digits, percent := strings.CutSuffix(e.text, "%")
	var err error
	e.percent = percent
	e.number, err = strconv.Atoi(digits)
	return e, err
}

func readSelector(selector *v1alpha1.LabelSelector) (labels.Selector, error) {
	out := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for key, value := range selector.MatchLabels {
		out.MatchLabels[key] = string(value)
	}
	for _, expression := range selector.MatchExpressions {
		requirement := metav1.LabelSelectorRequirement{
			Key:      expression.Key,
			Operator: metav1.LabelSelectorOperator(expression.Operator),
		}
		for _, value := range expression.Values {
			requirement.Values = append(requirement.Values, string(value))
		}
		out.MatchExpressions = append(out.MatchExpressions, requirement)
	}
	return metav1.LabelSelectorAsSelector(out)
}

// takes reports whether the group names or selects the pod, if that lives where its members do.
func (g groupFacts) takes(pod *podFacts) bool {
	if g.selector != nil {
		return g.selector.Matches(pod.labels)
	}
	return slices.Contains(g.names, pod.Name)
}

// asks is the same for two groups if and only if they ask the same of the same members. Waits and time-outs void nothing.
func (g groupFacts) asks() string {
	members := "names:" + strings.Join(g.names, ",")
	if g.selector != nil {
		members = "selector:" + g.selector.String()
	}
	reached := g.reached
	if reached == "" {
		reached = v1alpha1.RequireReady
	}
	var nodes []string
	for _, key := range slices.Sorted(maps.Keys(g.nodeSelector)) {
		nodes = append(nodes, key+"="+string(g.nodeSelector[key]))
	}
	steady := ""
	if g.steady != nil {
		steady = g.steady.String()
	}
	asks := strings.Join([]string{
		members, steady, string(reached), g.enough.text, strings.Join(nodes, ","), strconv.Itoa(g.atLeast), g.home.String(),
	}, ";")
	for _, of := range g.objects {
		asks += fmt.Sprintf(";%q", []string{of.APIVersion, of.Kind, of.Namespace, of.Name, of.Until})
	}
	return asks + asksOfNodes(g.conditions)
}

// isCalledOneOf reports whether the spec gives the group one of these names. The name that a group has by default is none.
func (g groupFacts) isCalledOneOf(names []string) bool {
	return !g.unnamed && slices.Contains(names, g.name)
}

func (g groupFacts) complete() bool { return g.reached == v1alpha1.RequireComplete }
