package integration

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
)

// ofApps is the label of namespaces that ClusterPodSequences of stories select. Its value is the namespace of the story.
const ofApps = "example.com/apps-of"

// byLabel selects by one label.
func byLabel(key, value string) *v1alpha1.LabelSelector {
	return &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}}
}

// across is a ClusterPodSequence: a driver in the story's namespace before applications in the namespaces that have its label.
func (s *story) across(change ...func(*v1alpha1.ClusterPodSequenceSpec)) *v1alpha1.ClusterPodSequence {
	sequence := &v1alpha1.ClusterPodSequence{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: v1alpha1.ClusterPodSequenceSpec{PodGroups: []v1alpha1.ClusterPodGroup{
			{
				PodGroup:   v1alpha1.PodGroup{Name: "Driver", PodSelector: byLabel("tier", "driver")},
				Namespaces: []string{s.Namespace},
			},
			{
				PodGroup:          v1alpha1.PodGroup{Name: "Applications", PodSelector: byLabel("tier", "app")},
				NamespaceSelector: byLabel(ofApps, s.Namespace),
			},
		}},
	}
	for _, change := range change {
		change(&sequence.Spec)
	}
	return sequence
}

// createAcross creates a ClusterPodSequence, which is deleted when the test ends.
func (s *story) createAcross(sequence *v1alpha1.ClusterPodSequence) {
	s.Helper()
	s.Create(sequence)
	s.Cleanup(func() {
		assert.NoError(s, client.IgnoreNotFound(s.API.Delete(context.Background(), sequence)))
	})
}

func (s *story) getAcross() *v1alpha1.ClusterPodSequence {
	s.Helper()
	sequence := &v1alpha1.ClusterPodSequence{}
	if err := s.API.Get(s.Ctx, types.NamespacedName{Name: s.Namespace}, sequence); err != nil {
		s.Fatalf("get ClusterPodSequence %s: %v", s.Namespace, err)
	}
	return sequence
}

// apps is another story, whose namespace has the label.
func (s *story) apps(t *testing.T) *story {
	t.Helper()
	apps := newStoryIn(t, s.env)
	apps.label(apps.Namespace, ofApps, s.Namespace)
	return apps
}

// createTier creates a pod of a tier.
func (s *story) createTier(name, tier string) {
	s.Helper()
	s.createPods(s.pod(name).Label("tier", tier))
}

func TestADriverInOneNamespaceBeforeApplicationsInOthers(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	one, two, beside := s.apps(t), s.apps(t), newStory(t)
	s.createAcross(s.across())
	for _, apps := range []*story{one, two, beside} {
		apps.createTier("app", "app")
	}
	s.createTier("csi", "driver")
	s.awaitBound("csi")
	beside.awaitBound("app") // whose namespace does not have the label
	for _, apps := range []*story{one, two} {
		apps.awaitHeldFor("app", `group 1/2 "Driver" of ClusterPodSequence `+s.Namespace)
		apps.expectHeld("app")
	}
	s.Await("the status to tell where the pods are", func() bool {
		status := s.getAcross().Status
		return status.Phase == v1alpha1.PhaseInProgress && assert.ObjectsAreEqual([]string{s.Namespace + "/csi"}, status.CurrentGroupPods)
	})
	s.makeReady("csi")
	for _, apps := range []*story{one, two} {
		apps.awaitBound("app")
		apps.makeReady("app")
	}
	s.Await("all to be completed", func() bool {
		status := s.getAcross().Status
		return status.Phase == v1alpha1.PhaseCompleted && len(status.Groups) == 2 && status.Groups[1].Expected == 2
	})
}

func TestNamespacesThatJoinAndLeaveAClusterPodSequence(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.createAcross(s.across())
	s.createTier("csi", "driver")
	s.awaitBound("csi")

	apps := newStory(t)
	apps.label(apps.Namespace, ofApps, s.Namespace)
	apps.createTier("held", "app")
	apps.awaitHeldFor("held", `group 1/2 "Driver"`)
	apps.expectHeld("held")

	apps.unlabel(apps.Namespace, ofApps)
	apps.awaitBound("held")
	apps.createTier("free", "app")
	apps.awaitBound("free")

	apps.label(apps.Namespace, ofApps, s.Namespace)
	apps.createTier("again", "app")
	apps.expectHeld("again")
	s.makeReady("csi")
	apps.awaitBound("again")
}

func TestAPodNeedsTheLeaveOfSequencesOfBothKinds(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	apps := s.apps(t)
	s.createAcross(s.across())
	apps.Create(apps.sequence("own").Pods("Database", "db").Label("Application", "tier", "app").Obj())
	s.createTier("csi", "driver")
	apps.createPods(apps.pod("db"))
	apps.createTier("app", "app")
	s.awaitBound("csi")
	apps.awaitBound("db")
	s.makeReady("csi")
	apps.awaitHeldFor("app", `group 1/2 "Database" of PodSequence `+apps.Namespace+`/own`)
	apps.expectHeld("app")
	apps.makeReady("db")
	apps.awaitBound("app")
}

func TestAClusterPodSequenceThatIsEnforcedContinuously(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	one, two := s.apps(t), s.apps(t)
	s.createAcross(s.across(func(spec *v1alpha1.ClusterPodSequenceSpec) { spec.EnforcementMode = v1alpha1.Continuous }))
	s.createTier("csi", "driver")
	s.awaitBound("csi")
	s.makeReady("csi")
	one.createTier("app", "app")
	one.awaitBound("app")
	s.Delete(s.Pod("csi"))
	s.AwaitGone(s.Pod("csi"))
	two.createTier("app", "app")
	two.expectHeld("app")
	s.createTier("csi-again", "driver")
	s.awaitBound("csi-again")
	s.makeReady("csi-again")
	two.awaitBound("app")
}

func TestAClusterPodSequenceOnEachNode(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newNodeStory(t, "a", "b")
	apps := s.apps(t)
	s.createAcross(s.across(func(spec *v1alpha1.ClusterPodSequenceSpec) {
		spec.Scope = v1alpha1.ScopeNode
		spec.PodGroups[0].PodSelector = byLabel("app", "driver")
		spec.PodGroups[1].PodSelector = byLabel("app", "app")
	}))
	s.Create(s.driver())
	set := s.daemonSet("app", "app")
	set.Namespace = apps.Namespace
	s.Create(set)
	s.on("driver", "a")
	s.on("driver", "b")
	placed := func() map[string]bool {
		pods := &corev1.PodList{}
		if !assert.NoError(t, s.API.List(s.Ctx, pods, client.InNamespace(apps.Namespace), client.MatchingLabels{"app": "app"})) {
			return nil
		}
		nodes := map[string]bool{}
		for i := range pods.Items {
			if node := pods.Items[i].Spec.NodeName; node != "" {
				nodes[node] = true
			}
		}
		return nodes
	}
	s.startOn("driver", "a")
	s.Await("the application to be where the driver is ready", func() bool { return placed()[s.node("a")] })
	apps.fence()
	assert.Equal(t, map[string]bool{s.node("a"): true}, placed())
	s.startOn("driver", "b")
	s.Await("the application to be on both nodes", func() bool { return len(placed()) == 2 })
}
