package report

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
)

// StrayPod is a pod that names a PodSequence of which no group selects it.
type StrayPod struct {
	Name   string
	labels string
}

// controllerLabels are what controllers add to the labels of a template.
var controllerLabels = []string{
	v1alpha1.SequenceLabel, appsv1.DefaultDeploymentUniqueLabelKey, appsv1.ControllerRevisionHashLabelKey, appsv1.StatefulSetPodNameLabel,
	appsv1.PodIndexLabel, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, "pod-template-generation", "controller-uid", "job-name",
	batchv1.ControllerUidLabel, batchv1.JobNameLabel, batchv1.JobCompletionIndexAnnotation,
}

// StrayPodOf returns what a report says of a pod that is one.
func StrayPodOf(p *inventory.Pod) StrayPod {
	var pairs []string
	for key, value := range p.Labels.Map() {
		if !slices.Contains(controllerLabels, key) {
			pairs = append(pairs, key+"="+value)
		}
	}
	if len(pairs) == 0 {
		return StrayPod{p.Name, "no other labels"}
	}
	return StrayPod{p.Name, "the labels " + several(pairs)}
}

// StrayPods is about pods that name a sequence of which no group selects them. It sorts its argument.
func StrayPods(pods []StrayPod, s *order.Sequence) order.Problem {
	slices.SortFunc(pods, func(a, b StrayPod) int { return strings.Compare(a.Name, b.Name) })
	var names, have []string
	for _, p := range pods {
		names = append(names, p.Name)
		if !slices.Contains(have, p.labels) {
			have = append(have, p.labels)
		}
	}
	pod, has, it, labels := "pod", "has", "it", "it has"
	if len(pods) > 1 {
		pod, has, it, labels = "pods", "have", "them", "they have"
	}
	selected, remedy := Selectors(s), "correct the labels in the pod template, or the podSelector of a group"
	if s.Namespace != s.Key.Namespace {
		selected = fmt.Sprintf("the sequence selects only pods of namespace %s, see its spec.namespace: %s", s.Namespace, selected)
		remedy = fmt.Sprintf("remove the label from the pod template, or create the %s in namespace %s", pod, s.Namespace)
	}
	return order.Problem{Reason: v1alpha1.ReasonStrayPods, Message: fmt.Sprintf(
		"%[1]s %[2]s %[3]s the label of %[4]s, but no group there selects %[5]s, so %[4]s does not hold %[5]s: %[6]s %[7]s; %[8]s: %[9]s",
		pod, first(names), has, NameOf(s.Key), it, labels, strings.Join(have[:min(len(have), 3)], ", or "), selected, remedy)}
}

// Selectors says what the groups of a sequence select.
func Selectors(s *order.Sequence) string {
	const most = 5
	var texts []string
	for _, g := range s.Groups[:min(most, len(s.Groups))] {
		texts = append(texts, fmt.Sprintf("group %q selects %s", g.Title, SelectorOf(g)))
	}
	text := strings.Join(texts, ", ")
	if more := len(s.Groups) - most; more > 0 {
		text += fmt.Sprintf(" and there are %d more groups", more)
	}
	return text
}

// SelectorOf says which pods a group selects.
func SelectorOf(g *order.Group) string {
	switch {
	case g.Selector != nil && g.Selector.Empty():
		return "all other pods"
	case g.Selector != nil:
		return cut(g.Selector.String(), 200)
	case len(g.Names) > 0:
		var names []string
		for name := range g.Names {
			names = append(names, name)
		}
		return "the pods " + several(names)
	}
	return "no pods"
}

// several is first for more.
func several(texts []string) string { return firstOf(texts, 5, ",") }
