package podgroup

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/internal/podgroups"
)

// sizing is what one source says of how many pods a group has.
type sizing struct {
	source string
	size   int
	// missing is how many of them are not there.
	missing int
}

// sources are what says how many pods the group has, in the order in which they count. members are those that are
// counted; what is said on others holds as well.
func (w world) sources(members []*corev1.Pod) (found []sizing, problems []problem) {
	size, problems := w.annotated()
	if size > 0 {
		found = append(found, sizing{"annotation " + SizeAnnotation, size, max(0, size-len(members))})
	}
	for _, kind := range []podgroups.Kind{podgroups.Coscheduling, podgroups.Native} {
		if s, ok := w.grouped(kind, members); ok {
			found = append(found, s)
		}
	}
	if s, ok := w.owned(members); ok {
		found = append(found, s)
	}
	return found, problems
}

// annotated returns the size that the first pod by name gives of those that give one, 0 if none does.
func (w world) annotated() (size int, problems []problem) {
	var first *corev1.Pod
	invalid, others := map[string]bool{}, map[int]bool{}
	for _, pod := range w.pods {
		text, ok := pod.Annotations[SizeAnnotation]
		if !ok {
			continue
		}
		n := sizeOf(text)
		switch {
		case n == 0 && !invalid[text]:
			invalid[text] = true
			problems = append(problems, invalidSize(pod, text))
		case n == 0:
		case first == nil:
			size, first = n, pod
		case n != size && !others[n]:
			others[n] = true
			problems = append(problems, otherSize(first, size, pod, n))
		}
	}
	return size, problems
}

// sizeOf reads an annotation: 0 if it is no size.
func sizeOf(text string) int {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0
	}
	return int(n)
}

// grouped counts each PodGroup by itself: more pods in one do not make up for a gap in another. Pods of none count one each.
func (w world) grouped(kind podgroups.Kind, members []*corev1.Pod) (sizing, bool) {
	s := sizing{source: string(kind)}
	wanted := map[podgroups.Reference]int{}
	for _, pod := range w.pods {
		for _, group := range podgroups.Of(pod) {
			if minimum := w.minimums[group]; group.Kind == kind && minimum > 0 {
				wanted[group] = int(minimum)
			}
		}
	}
	there := map[podgroups.Reference]int{}
	for _, pod := range members {
		counted := false
		for _, group := range podgroups.Of(pod) {
			if _, ok := wanted[group]; ok {
				there[group]++
				counted = true
			}
		}
		if !counted {
			s.size++
		}
	}
	for group, want := range wanted {
		s.size += want
		s.missing += max(0, want-there[group])
	}
	return s, len(wanted) > 0
}

// owned counts each workload by itself, as grouped does PodGroups. So many Jobs of one group are added up.
func (w world) owned(members []*corev1.Pod) (sizing, bool) {
	s := sizing{source: "Jobs, StatefulSets and ReplicaSets"}
	type podCount struct{ active, succeeded int }
	there := map[types.UID]podCount{}
	for _, pod := range members {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil {
			s.size++
			continue
		}
		if _, known := w.workloads[owner.UID]; !known {
			s.size++
			continue
		}
		t := there[owner.UID]
		if pod.Status.Phase == corev1.PodSucceeded {
			t.succeeded++
		} else {
			t.active++
		}
		there[owner.UID] = t
	}
	wants := false
	for uid, workload := range w.workloads {
		s.size += workload.desired
		wants = wants || workload.desired > 0
		if t := there[uid]; !workload.complete {
			s.missing += workload.missing(t.active, t.succeeded)
		}
	}
	uncreated := w.uncreatedPods()
	s.size += uncreated
	s.missing += uncreated
	return s, wants
}
