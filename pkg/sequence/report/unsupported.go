package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// UnsupportedPod is a gated pod of a sequence of scope Node whose scheduler does not know on which nodes the sequence releases it.
type UnsupportedPod struct {
	Namespace, Name string
	// Owned reports whether a workload replaces it.
	Owned bool
	// Routed reports whether the routing policy gives such a pod to podsequence-scheduler when it is created.
	Routed bool
}

// UnsupportedPodOf returns what messages say of a pod.
func UnsupportedPodOf(p *inventory.Pod) UnsupportedPod {
	return UnsupportedPod{
		Namespace: p.Namespace, Name: p.Name, Owned: p.OwnerUID != "", Routed: p.SchedulerName == corev1.DefaultSchedulerName,
	}
}

// fix says how a pod like this one comes to podsequence-scheduler. The controller cannot do it: the API server refuses to change the
// scheduler of a pod, and another scheduler would place the pod on a node that is not ready for it.
func (p UnsupportedPod) fix(schedulerNames []string) string {
	names := strings.Join(schedulerNames, " or ")
	switch {
	case len(schedulerNames) == 0:
		return "podsequence-scheduler is not part of this installation: install it, or use scope Cluster"
	case p.Owned && p.Routed:
		return fmt.Sprintf("create it again: kubectl delete pod %s -n %s; without the routing policy, which needs Kubernetes 1.36, "+
			"set schedulerName to %s in the pod template instead", p.Name, p.Namespace, names)
	case p.Owned:
		return fmt.Sprintf("set schedulerName to %s in the pod template", names)
	}
	return fmt.Sprintf("create it again: kubectl get pod %s -n %s -o yaml | sed 's/schedulerName: .*/schedulerName: %s/' | "+
		"kubectl replace --force -f -", p.Name, p.Namespace, schedulerNames[0])
}

// UnsupportedPods is about gated pods that no scheduler of ours can place on a node in order. If anywhere is true, it names them with
// their namespaces.
func UnsupportedPods(pods []UnsupportedPod, anywhere bool, schedulerNames []string) spec.Problem {
	slices.SortFunc(pods, func(a, b UnsupportedPod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	names := make([]string, len(pods))
	for i, p := range pods {
		if names[i] = p.Name; anywhere {
			names[i] = p.Namespace + "/" + p.Name
		}
	}
	text := first(names) + " stays gated: its scheduler does not support scope Node, and the scheduler of a pod cannot be changed; "
	if len(names) > 1 {
		text = first(names) + " stay gated: their scheduler does not support scope Node, and the scheduler of a pod cannot be changed; for " +
			names[0] + ", "
	}
	return spec.Problem{Reason: v1alpha1.ReasonUnsupportedScope, Message: text + pods[0].fix(schedulerNames)}
}
