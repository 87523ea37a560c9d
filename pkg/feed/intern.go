package feed

import (
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/intern"
)

// maxLabels and maxStrings bound how many are remembered: what was not met again meanwhile is forgotten. Pods are listed by
// name, so that those with the same labels follow each other.
const (
	maxLabels  = 512
	maxStrings = 4096
)

// podInterner lets pods share what many of them have in common: labels above all, which are most of what is kept of a pod.
type podInterner struct {
	mu      sync.Mutex
	labels  intern.Table[map[string]string]
	last    map[string]string // of the pod before
	strings intern.Table[string]
}

// internPod makes a pod share what others have. Nobody may write to it from then on.
func (i *podInterner) internPod(pod *corev1.Pod) *corev1.Pod {
	i.mu.Lock()
	defer i.mu.Unlock()
	pod.Labels = i.internLabels(pod.Labels)
	pod.Namespace = i.intern(pod.Namespace)
	pod.Spec.NodeName = i.intern(pod.Spec.NodeName)
	pod.Spec.SchedulerName = i.intern(pod.Spec.SchedulerName)
	for o := range pod.OwnerReferences {
		owner := &pod.OwnerReferences[o]
		owner.UID = types.UID(i.intern(string(owner.UID)))
	}
	return pod
}

func (i *podInterner) intern(s string) string {
	if s == "" {
		return ""
	}
	return i.strings.Get(s, maxStrings, func() string { return s })
}

func (i *podInterner) internLabels(labels map[string]string) map[string]string {
	switch {
	case len(labels) == 0:
		return nil
	case maps.Equal(labels, i.last): // as those of the next pod of a workload are
		return i.last
	}
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		key.WriteString(name)
		key.WriteByte(0)
		key.WriteString(labels[name])
		key.WriteByte(0)
	}
	i.last = i.labels.Get(key.String(), maxLabels, func() map[string]string {
		shared := make(map[string]string, len(labels))
		for name, value := range labels {
			shared[i.intern(name)] = i.intern(value)
		}
		return shared
	})
	return i.last
}
