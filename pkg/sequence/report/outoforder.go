package report

import (
	"fmt"
	"slices"
	"strings"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
)

// OutOfOrder are the pods that started before a group was ready that they wait for: before their sequence existed, or because another
// scheduler placed them.
type OutOfOrder struct {
	Pods []string // sorted
	// Foreign reports that another scheduler placed some of them.
	Foreign bool
	// Waited is a group that each of them waits for and that was not passed when it was bound; nil if there is no such group.
	Waited *Where
	// Workloads are their owners that kubectl can restart, sorted. Others are the pods that have no such owner.
	Workloads []inventory.WorkloadKey
	Others    []string
}

// CanRestart reports whether kubectl rollout restart knows workloads of this kind.
func CanRestart(kind inventory.Kind) bool {
	return kind == inventory.KindDeployment || kind == inventory.KindStatefulSet || kind == inventory.KindDaemonSet
}

// Problem says which pods started out of order, and how to start them in order, now and the next time.
func (o *OutOfOrder) Problem(s *order.Sequence) order.Problem {
	kind, them := "PodSequence", pronoun(o.Pods)
	if s.Cluster {
		kind = "ClusterPodSequence"
	}
	subject := "1 pod"
	if len(o.Pods) != 1 {
		subject = fmt.Sprintf("%d pods", len(o.Pods))
	}
	while := "while a group before was not ready"
	if o.Waited != nil {
		while = fmt.Sprintf("while %s was not ready", o.Waited)
	}
	pods, prevent := first(slices.Clone(o.Pods)), prevention(s, o.Foreign)
	message := fmt.Sprintf("%s started before this %s existed, %s: %s. To start %s in order, %s. To prevent it next time, %s",
		subject, kind, while, pods, them, o.restart(), prevent)
	if o.Foreign { // a restart alone would start them out of turn once more
		message = fmt.Sprintf("%s started out of order, %s: %s. Nothing holds pods of another scheduler: %s. Then, to start %s in order, %s",
			subject, while, pods, prevent, them, o.restart())
	}
	return order.Problem{Reason: v1alpha1.ReasonStartedOutOfOrder, Message: message}
}

// restart says how to start the pods once more.
func (o *OutOfOrder) restart() string {
	const most = 3
	if len(o.Workloads) == 0 {
		return fmt.Sprintf("delete %[1]s, and create %[1]s again unless a controller does", pronoun(o.Pods))
	}
	namespace, more := o.Workloads[0].Namespace, 0
	var names []string
	for _, w := range o.Workloads {
		if w.Namespace == namespace && len(names) < most {
			names = append(names, strings.ToLower(string(w.Kind))+"/"+w.Name)
		} else {
			more++
		}
	}
	text := fmt.Sprintf("run: kubectl rollout restart %s -n %s", strings.Join(names, " "), namespace)
	switch {
	case more == 1:
		text += ", and restart 1 more workload"
	case more > 1:
		text += fmt.Sprintf(", and restart %d more workloads", more)
	}
	if len(o.Others) > 0 {
		text += ", and delete " + first(slices.Clone(o.Others))
	}
	return text
}

// prevention says what holds the pods if they come before the sequence the next time. The label names PodSequences of the pod's own
// namespace only. The annotation holds pods of our scheduler, which the label of the namespace gives to pods that name no other.
func prevention(s *order.Sequence, foreign bool) string {
	if !s.Cluster && !s.IsForeign() {
		return fmt.Sprintf("add the label %s: %s to the pod templates", v1alpha1.SequenceLabel, s.Key.Name)
	}
	annotate := fmt.Sprintf("annotate the namespaces of the pods with %s: \"true\"", v1alpha1.RequireSequenceAnnotation)
	if foreign {
		return annotate + ", and label them podsequence.example.com/scheduling: enabled"
	}
	return annotate
}
