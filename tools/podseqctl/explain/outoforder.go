package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// outOfOrder says of which sequences the pod started before they existed, and too early. Of a sequence that the engine cannot judge only
// status says it.
func (e *Explainer) outOfOrder(pod *corev1.Pod) []Reason {
	var reasons []Reason
	listed := func(s *snapshot.Sequence, names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return e.Member(s, name) == pod })
	}
	for _, s := range e.Sequences {
		if _, judged := e.Judged(s); judged {
			report, _ := e.Report(s)
			for _, problem := range report.Problems {
				if problem.Reason == v1alpha1.ReasonStartedOutOfOrder && listed(s, report.OutOfOrder.Pods) {
					reasons = append(reasons, outOfOrder(s, problem.Message))
				}
			}
		} else if early := s.Status.StartedOutOfOrder; early != nil && listed(s, early.Pods) {
			reasons = append(reasons, outOfOrder(s, fmt.Sprintf("%d pods, as its status says", early.Total)))
		}
	}
	return reasons
}

func outOfOrder(s *snapshot.Sequence, message string) Reason {
	return Reason{Subject: v1alpha1.ReasonStartedOutOfOrder, State: Stuck, Message: fmt.Sprintf("in %s: %s", s, message)}
}
