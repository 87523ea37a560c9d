package timeline

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// place is where a timeline has a pod.
type place struct{ group, pod int }

// chain finds the pods of StatefulSets that were created one after another, each when the one before it was ready.
func (t *Timeline) chain(world *snapshot.Snapshot, s *snapshot.Sequence) {
	type member struct {
		set     string
		ordinal int
	}
	places := map[member]place{}
	memberOf := func(p *Pod) (member, bool) {
		pod := world.Member(s, p.Name)
		if pod == nil || p.Late {
			return member{}, false
		}
		set, ordinal, ordered := ordinalOf(world, pod)
		return member{set, ordinal}, ordered
	}
	t.each(func(at place, p *Pod) {
		if m, ordered := memberOf(p); ordered {
			places[m] = at
		}
	})
	t.each(func(_ place, p *Pod) {
		m, ordered := memberOf(p)
		if !ordered {
			return
		}
		before, known := places[member{m.set, m.ordinal - 1}]
		if !known {
			return
		}
		if ready := t.pod(before).Ready; ready != nil && !ready.After(p.Created) {
			p.after = &before
		}
	})
}

// ordinalOf returns the StatefulSet that creates its pods one after another, and the number that it gave a pod; ordered is false if none
// did.
func ordinalOf(world *snapshot.Snapshot, pod *corev1.Pod) (set string, ordinal int, ordered bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != string(inventory.KindStatefulSet) {
		return "", 0, false
	}
	object, ok := world.Workload(inventory.KindStatefulSet, pod.Namespace, owner.Name).(*appsv1.StatefulSet)
	if !ok || object.Spec.PodManagementPolicy == appsv1.ParallelPodManagement {
		return "", 0, false
	}
	ordinal, err := strconv.Atoi(strings.TrimPrefix(pod.Name, owner.Name+"-"))
	return pod.Namespace + "/" + owner.Name, ordinal, err == nil
}
