package podgroup

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/internal/podgroups"
)

// links say which groups an event of something else than a pod concerns: those of the pods that refer to it. A workload or
// PodGroup has an event now and then, and any number of pods, mostly of one group; so what an event costs depends on the
// groups, not on the pods. Pods that have not been seen yet are no matter: their groups are looked at when they come.
type links struct {
	lock sync.Mutex
	// pods counts the pods of a group by what they refer to.
	pods map[string]map[types.NamespacedName]int
}

// linksOf returns what a pod refers to: its owner and its PodGroups.
func linksOf(pod *corev1.Pod) (to []string) {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		to = append(to, string(owner.UID))
	}
	for _, group := range podgroups.Of(pod) {
		to = append(to, group.String())
	}
	return to
}

// count adds a pod of a group, or with -1 removes one, that refers to these.
func (l *links) count(change int, group types.NamespacedName, to []string) {
	if group.Name == "" {
		return
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	for _, key := range to {
		if l.pods == nil {
			l.pods = map[string]map[types.NamespacedName]int{}
		}
		if l.pods[key] == nil {
			l.pods[key] = map[types.NamespacedName]int{}
		}
		if l.pods[key][group] += change; l.pods[key][group] == 0 {
			delete(l.pods[key], group)
		}
		if len(l.pods[key]) == 0 {
			delete(l.pods, key)
		}
	}
}

// groups returns the groups that have pods which refer to this.
func (l *links) groups(to string) []types.NamespacedName {
	l.lock.Lock()
	defer l.lock.Unlock()
	var groups []types.NamespacedName
	for group := range l.pods[to] {
		groups = append(groups, group)
	}
	return groups
}
