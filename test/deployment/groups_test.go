package deployment

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	. "example.com/podsequence/internal/testing"
)

// runGroup has a group of one pod run, which says that it belongs to PodGroups that there are none of, and both kinds of
// PodGroup be watched.
func runGroup(t *testing.T, namespace string) {
	t.Helper()
	installCoscheduling(t)
	pod := ourPod(namespace, "gang").SchedulerName(corev1.DefaultSchedulerName).
		Label("podgroup.jhwagner.github.io/name", "gang").Label("scheduling.x-k8s.io/pod-group", "none").Obj()
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("none")}
	create(t, pod)
	await(t, "the group to be labelled", func() bool { return isLabelled(t, namespace, "gang") })
	awaitPodGroupWatches(t)
}

// installCoscheduling installs Coscheduling's PodGroup until the test ends.
func installCoscheduling(t *testing.T) {
	t.Helper()
	definition := MakeCoschedulingDefinition()
	create(t, definition)
	t.Cleanup(func() { require.NoError(t, api.Delete(context.Background(), definition)) })
}

// awaitPodGroupWatches waits until our programs watch both kinds of PodGroup.
func awaitPodGroupWatches(t *testing.T) {
	t.Helper()
	for _, program := range ourPrograms(t) {
		for _, kind := range podGroupKinds {
			await(t, kind+" to be watched by "+program, func() bool {
				return slices.ContainsFunc(ourRequests(t), func(r request) bool {
					return r.program == program && r.resource == kind && r.verb == "watch"
				})
			})
		}
	}
}

var podGroupKinds = []string{"podgroups.scheduling.x-k8s.io", "podgroups.scheduling.k8s.io"}

func isLabelled(t *testing.T, namespace, name string) bool {
	t.Helper()
	return get(t, &corev1.Pod{}, namespace, name).Labels["podgroup.jhwagner.github.io/ready"] == "true"
}
