package podgroup

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/internal/podgroups"
)

// world is what is known of a group.
type world struct {
	options Options
	now     time.Time
	// pods are those with the group's label that are not terminating, by name.
	pods []*corev1.Pod
	// minimums of the PodGroups that pods name, as far as they are known; 0 if one asks for no number in particular.
	minimums map[podgroups.Reference]int32
	// workloads that own pods of the group, or make pods for it by their template.
	workloads map[types.UID]workload
	// absent are owners of pods that are gone or terminating: the garbage collector deletes their pods.
	absent map[types.UID]bool
	// jobs is how many Jobs there are of a JobSet, in this group or not.
	jobs map[types.UID]int
}

// decision is what to do about a group.
type decision struct {
	// why tells why the group is not ready, in words; empty if it is.
	why string
	// label are the pods to label: none if the group is not ready.
	label []*corev1.Pod
	// remove are the pods to take the label from: they were labelled for another group than they are in.
	remove   []*corev1.Pod
	problems []problem
	// again is when to decide again though nothing happens; zero for never.
	again time.Time
}

// decide is a pure function. The group is ready when no pod is missing and all run; pods that have no label yet then get
// one, be they there from the beginning or not.
func decide(w world) decision {
	var remove []*corev1.Pod
	for _, pod := range w.pods {
		if w.options.isMoved(pod) {
			remove = append(remove, pod)
		}
	}
	d := w.ready()
	d.remove = remove
	return d
}

// ready decides all but which labels to remove.
func (w world) ready() decision {
	w = w.current()
	members := w.unreplaced()
	sources, problems := w.sources(members)
	if len(sources) == 0 {
		// Nobody knows of a replacement for pods that failed: they count.
		members = w.pods
		sources = []sizing{{source: "existing pods", size: len(members)}}
	}
	d := decision{problems: problems}
	running := 0
	for _, pod := range members {
		if runs(pod) {
			running++
		}
	}
	d.problems = append(d.problems, conflicts(sources, members, running)...)
	first := sources[0]
	if running < len(members) || first.missing > 0 {
		d.why = fmt.Sprintf("%d of %d pods run%s (size by %s)", running, len(members), moreMissing(first.missing), first.source)
		if p, waits := w.notReady(members, d.why); waits {
			d.problems = append(d.problems, p)
			d.again = p.due
		}
		return d
	}
	for _, pod := range members {
		if !w.options.isLabelled(pod) {
			d.label = append(d.label, pod)
		}
	}
	return d
}

// moreMissing says how many pods are missing; empty if none is.
func moreMissing(missing int) string {
	switch missing {
	case 0:
		return ""
	case 1:
		return ", 1 more is missing"
	}
	return fmt.Sprintf(", %d more are missing", missing)
}

// unreplaced are the pods but for those that failed and have a controller: that puts another in their place.
func (w world) unreplaced() []*corev1.Pod {
	members := make([]*corev1.Pod, 0, len(w.pods))
	for _, pod := range w.pods {
		if pod.Status.Phase != corev1.PodFailed || metav1.GetControllerOfNoCopy(pod) == nil {
			members = append(members, pod)
		}
	}
	return members
}
