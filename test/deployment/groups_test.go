package deployment

import (
	"context"
	"slices"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

// runGroup creates a pod that is a group of its own and names PodGroups that do not exist, and waits until the controller has
// labelled it and watches both kinds of PodGroup.
func runGroup(s *site, namespace string) {
	s.Helper()
	installCoscheduling(s)
	pod := ourPod(namespace, "gang").SchedulerName(corev1.DefaultSchedulerName).
		Label("podgroup.jhwagner.github.io/name", "gang").Label("scheduling.x-k8s.io/pod-group", "none").Obj()
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("none")}
	create(s, pod)
	cluster.Await(s, "the group to be labelled", func() bool { return isLabelled(s, namespace, "gang") })
	awaitPodGroupWatches(s)
}

// installCoscheduling installs Coscheduling's PodGroup until the test ends.
func installCoscheduling(s *site) {
	s.Helper()
	definition := MakeCoschedulingDefinition()
	create(s, definition)
	s.Cleanup(func() { require.NoError(s, s.cluster.API.Delete(context.Background(), definition)) })
}

// awaitPodGroupWatches waits until the controller watches both kinds of PodGroup.
func awaitPodGroupWatches(s *site) {
	s.Helper()
	for _, kind := range podGroupKinds {
		cluster.Await(s, kind+" to be watched", func() bool {
			return slices.ContainsFunc(ourRequests(s), func(r request) bool { return r.resource == kind && r.verb == "watch" })
		})
	}
}

var podGroupKinds = []string{"podgroups.scheduling.x-k8s.io", "podgroups.scheduling.k8s.io"}

func isLabelled(s *site, namespace, name string) bool {
	s.Helper()
	return get(s, &corev1.Pod{}, namespace, name).Labels["podgroup.jhwagner.github.io/ready"] == "true"
}
