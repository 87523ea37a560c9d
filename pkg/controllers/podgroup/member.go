package podgroup

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// facts are all that matters of a pod.
type facts struct {
	uid        types.UID            // another pod may have its name when a watch begins again
	group      types.NamespacedName // its name is empty if the pod is in none
	terminated bool                 // or about to be
	phase      corev1.PodPhase
	owner      types.UID
	size       string // the annotation
	hasSize    bool
	podGroups  string
	labelled   bool
	moved      bool
}

// differs reports whether there may be something to do. That a pod got its label, which we have to thank for, is no cause.
func (f facts) differs(before facts) bool {
	if f.labelled {
		before.labelled = true
	}
	return f != before
}

// runs reports whether a pod is as it should be.
func runs(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodSucceeded
}

func only(all map[string]string, keys ...string) map[string]string {
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(key, _ string) bool { return !slices.Contains(keys, key) })
	if len(some) == 0 {
		return nil
	}
	return some
}
