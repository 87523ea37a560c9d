package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// brokenOrder says of which sequences one of the pods started too early, and of which nothing can hold more pods like it. Of a sequence that
// the engine cannot judge only status says who started too early.
func (e *Explainer) brokenOrder(pods ...*corev1.Pod) []Reason {
	var reasons []Reason
	for _, s := range e.Sequences {
		isAmong := func(names []string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(pods, e.Member(s, name)) })
		}
		if _, judged := e.Judged(s); !judged {
			if early := s.Status.StartedOutOfOrder; early != nil && isAmong(early.Pods) {
				reasons = append(reasons, broken(v1alpha1.ReasonStartedOutOfOrder, s, fmt.Sprintf("%d pods, as its status says", early.Total)))
			}
			continue
		}
		report, _ := e.Report(s)
		for _, problem := range report.Problems {
			isOfOne := false
			switch problem.Reason {
			case v1alpha1.ReasonStartedOutOfOrder:
				isOfOne = isAmong(report.OutOfOrder.Pods)
			case v1alpha1.ReasonUngovernedPods:
				isOfOne = isAmong(report.Ungoverned)
			}
			if isOfOne {
				reasons = append(reasons, broken(problem.Reason, s, problem.Message))
			}
		}
	}
	return reasons
}

func broken(reason string, s *snapshot.Sequence, message string) Reason {
	return Reason{Subject: reason, State: Stuck, Message: fmt.Sprintf("in %s: %s", s, message)}
}
