package podgroup

import (
	"context"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/internal/podgroups"
)

// questionsInATurn is how much one group asks the API server for before other groups have their turn.
const questionsInATurn = 50

// answers are what the API server said on what the caches do not have. They are kept until all is asked that a group needs:
// its pods may name as many owners and PodGroups that do not exist as there are pods.
type answers struct {
	minimums  map[podgroups.Reference]int32
	workloads map[types.UID]workload
	// absent are those that do not exist.
	absentGroups    map[podgroups.Reference]bool
	absentWorkloads map[types.UID]bool
}

// confirm asks the API server for what pods refer to and the caches do not have: it may just not have come yet. It reports
// whether it learned anything, and whether more is to be asked in the next turn.
func (r *reconciler) confirm(ctx context.Context, m *memory, group types.NamespacedName, w world) (found, more bool, err error) {
	if m.asked.minimums == nil {
		m.asked = answers{
			map[podgroups.Reference]int32{}, map[types.UID]workload{}, map[podgroups.Reference]bool{}, map[types.UID]bool{},
		}
	}
	questions := 0
	for _, pod := range w.pods {
		for _, reference := range podgroups.Of(pod) {
			if _, known := w.minimums[reference]; known || m.asked.absentGroups[reference] {
				continue
			}
			if _, known := m.asked.minimums[reference]; known {
				continue
			}
			if questions++; questions > questionsInATurn {
				return false, true, nil
			}
			minimum, exists, err := r.podGroups.Ask(ctx, reference)
			switch {
			case err != nil:
				return false, false, err
			case exists:
				m.asked.minimums[reference] = minimum
			default:
				m.asked.absentGroups[reference] = true
			}
		}
	}
	for uid, owner := range w.unseenOwners() {
		if _, known := m.asked.workloads[uid]; known || m.asked.absentWorkloads[uid] {
			continue
		}
		if questions++; questions > questionsInATurn {
			return false, true, nil
		}
		list := workloadKinds[owner.Kind].list()
		err := r.live.List(ctx, list, client.InNamespace(group.Namespace), client.MatchingFields{metav1.ObjectNameField: owner.Name})
		if err != nil {
			return false, false, fmt.Errorf("ask for %s %s: %w", owner.Kind, owner.Name, err)
		}
		answered := world{workloads: map[types.UID]workload{}}
		if err := answered.enter(list, uid); err != nil {
			return false, false, err
		}
		maps.Copy(m.asked.workloads, answered.workloads)
		m.asked.absentWorkloads[uid] = len(answered.workloads) == 0
	}
	// What a cache has by now is newer.
	for reference, minimum := range m.asked.minimums {
		if _, known := w.minimums[reference]; !known {
			w.minimums[reference], found = minimum, true
		}
	}
	for uid, answer := range m.asked.workloads {
		if _, known := w.workloads[uid]; !known {
			w.workloads[uid], found = answer, true
		}
	}
	for uid, absent := range m.asked.absentWorkloads {
		if absent {
			w.absent[uid], found = true, true
		}
	}
	m.asked = answers{}
	return found, false, nil
}
