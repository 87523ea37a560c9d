package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// brokenOrder says of which sequences one of the pods started too early, and of which nothing can hold more pods like it. Of a sequence that
// the engine cannot judge only status says who started too early.
func (e *Explainer) brokenOrder(pods ...*corev1.Pod) []Reason {
	var reasons []Reason
	for _, s := range e.Sequences {
		tooEarly := func(names []string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(pods, e.Member(s, name)) })
		}
		if _, judged := e.Judged(s); !judged {
			if early := s.Status.StartedOutOfOrder; early != nil && tooEarly(early.Pods) {
				reasons = append(reasons, broken(v1alpha1.ReasonStartedOutOfOrder, s, fmt.Sprintf("%d pods, as its status says", early.Total)))
			}
			continue
		}
		report, _ := e.Report(s)
		for _, problem := range report.Problems {
			isOfOne := false
			switch problem.Reason {
			case v1alpha1.ReasonStartedOutOfOrder:
				isOfOne = tooEarly(report.OutOfOrder.Pods)
			case v1alpha1.ReasonUngovernedPods:
				isOfOne = slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return e.wasNotHeld(s, pod) })
			}
			if isOfOne {
				reasons = append(reasons, broken(problem.Reason, s, problem.Message))
			}
		}
	}
	return reasons
}

// wasNotHeld reports whether a pod that has a node is in a sequence that could not hold it.
func (e *Explainer) wasNotHeld(s *snapshot.Sequence, pod *corev1.Pod) bool {
	_, wasGated := pod.Annotations[v1alpha1.ReleasedAnnotation]
	return pod.Spec.NodeName != "" && !wasGated && slices.ContainsFunc(e.Places(pod), func(place sequence.Place) bool {
		return place.Sequence == s.Key() && !place.Governed
	})
}

func broken(reason string, s *snapshot.Sequence, message string) Reason {
	return Reason{Subject: reason, State: Stuck, Message: fmt.Sprintf("in %s: %s", s, message)}
}
