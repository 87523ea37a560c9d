package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// labelled is a pod that names no scheduler, and names the PodSequence shop by its label.
func (s *story) labelled(name string) *st.PodWrapper {
	return s.pod(name).SchedulerName("").Label(v1alpha1.SequenceLabel, "shop")
}

// admitted is what the API server would store.
func (s *story) admitted(pod *st.PodWrapper) *corev1.Pod {
	s.Helper()
	object := pod.Obj().DeepCopy()
	require.NoError(s, s.API.Create(s.Ctx, object, client.DryRunAll))
	return object
}

// Nothing but the label is needed in the template: the routing policy of our installation gives the pod to our scheduler.
func TestPodsWithTheLabelAreRouted(t *testing.T) {
	t.Parallel()
	newStory(t).awaitRouting()
	t.Run("they start in order", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.threeTiers().Obj())
		for _, tier := range []string{"web", "app", "db"} {
			s.createPods(s.labelled(tier))
			assert.Equal(t, ourScheduler, s.getPod(tier).Spec.SchedulerName)
			assert.Empty(t, s.getPod(tier).Spec.SchedulingGates)
		}
		s.startInOrder()
	})
	s := newStory(t)
	for name, test := range map[string]struct {
		pod  *st.PodWrapper
		want string
	}{
		"with the label": {s.labelled("pod"), ourScheduler},
		"with the label, and the default scheduler":    {s.labelled("pod").SchedulerName(corev1.DefaultSchedulerName), ourScheduler},
		"with the label, and a gate of others":         {s.labelled("pod").SchedulingGates([]string{foreignGate}), ourScheduler},
		"with another label":                           {s.pod("pod").SchedulerName("").Label("tier", "db"), corev1.DefaultSchedulerName},
		"with the label, but without a name":           {s.pod("pod").SchedulerName("").Label(v1alpha1.SequenceLabel, ""), corev1.DefaultSchedulerName},
		"without labels":                               {s.pod("pod").SchedulerName(""), corev1.DefaultSchedulerName},
		"of a scheduler that was chosen":               {s.labelled("pod").SchedulerName(stockScheduler), stockScheduler},
		"with a node":                                  {s.labelled("pod").Node("node-0"), corev1.DefaultSchedulerName},
		"of the namespace of the installation":         {s.inTheInstallation(s.labelled("pod")), corev1.DefaultSchedulerName},
		"of the namespace of the installation, a gate": {s.inTheInstallation(s.gated("pod").SchedulerName("")), corev1.DefaultSchedulerName},
	} {
		t.Run("a pod "+name, func(t *testing.T) { assert.Equal(t, test.want, s.admitted(test.pod).Spec.SchedulerName) })
	}
}

// inTheInstallation moves a pod to the namespace of the installation, in a shape that Pod Security accepts there.
func (s *story) inTheInstallation(pod *st.PodWrapper) *st.PodWrapper {
	accepted := s.systemPod(installation, "pod").Obj().Spec
	pod.Spec.SecurityContext, pod.Spec.Containers = accepted.SecurityContext, accepted.Containers
	return pod.Namespace(installation)
}

// In lite mode no scheduler of ours holds a pod: the gating policy adds the gate to pods with the label.
func TestLiteModeAddsTheGateToPodsWithTheLabel(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := startCluster(t, controlplane.Options{
		LeaderElection: true, Installation: "lite",
		Components: append(controlplane.UpstreamComponents(), controlplane.PodSequenceController),
		ExtraArgs:  map[string][]string{controlplane.PodSequenceController: {"--scheduler-names="}},
	})
	newLiteStory := func(t *testing.T) *story {
		s := newStoryIn(t, env)
		s.lite = true
		return s
	}
	s := newLiteStory(t)
	s.Await("the policy to count", func() bool { return len(s.admitted(s.labelled("pod")).Spec.SchedulingGates) == 1 })

	t.Run("they start in order, whatever is created first", func(t *testing.T) {
		s := newLiteStory(t)
		for _, tier := range []string{"web", "app", "db"} {
			s.createPods(s.labelled(tier))
			assert.Equal(t, corev1.DefaultSchedulerName, s.getPod(tier).Spec.SchedulerName)
		}
		s.expectHeld(tiers...)
		s.Create(s.threeTiers().Obj())
		s.startInOrder()
	})
	const ourGate, ownGate = v1alpha1.DefaultSchedulingGateName, "podsequence.example.com/of-the-shop"
	for name, test := range map[string]struct {
		pod  *st.PodWrapper
		want []string
	}{
		"with the label":                        {s.labelled("pod"), []string{ourGate}},
		"with the label, of whatever scheduler": {s.labelled("pod").SchedulerName(stockScheduler), []string{ourGate}},
		"with the label, and a gate of others":  {s.labelled("pod").SchedulingGates([]string{foreignGate}), []string{foreignGate, ourGate}},
		"with the label, and the gate":          {s.labelled("pod").SchedulingGates([]string{ourGate}), []string{ourGate}},
		"with the label, and a gate of its own": {s.labelled("pod").SchedulingGates([]string{ownGate}), []string{ownGate}},
		"with another label":                    {s.pod("pod").SchedulerName("").Label("tier", "db"), nil},
		"with the label, but without a name":    {s.pod("pod").SchedulerName("").Label(v1alpha1.SequenceLabel, ""), nil},
		"with a node":                           {s.labelled("pod").Node("node-0"), nil},
		"of the namespace of the installation":  {s.inTheInstallation(s.labelled("pod")), nil},
	} {
		t.Run("a pod "+name, func(t *testing.T) { assert.ElementsMatch(t, test.want, gates(s.admitted(test.pod))) })
	}
}
