package report

import (
	"cmp"
	"fmt"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
)

// CompareFailures compares failures by their place in status.
func CompareFailures(a, b v1alpha1.Failure) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

// Lost is about a group with members that failed and are gone. If anywhere is true, it names them with their namespaces.
func Lost(where Where, gone []v1alpha1.Failure, anywhere bool) order.Problem {
	reason, names := v1alpha1.ReasonPodFailed, make([]string, len(gone))
	for i, f := range gone {
		if f.Kind == "Job" {
			reason = v1alpha1.ReasonJobFailed
		}
		if names[i] = f.Kind + " " + f.Name; anywhere {
			names[i] = fmt.Sprintf("%s %s/%s", f.Kind, f.Namespace, f.Name)
		}
	}
	verb := "was"
	if len(names) > 1 {
		verb = "were"
	}
	return order.Problem{Reason: reason, Message: fmt.Sprintf(
		"%s: %s failed and %s deleted: create %s again, or skip the group", where, first(names), verb, pronoun(names))}
}
