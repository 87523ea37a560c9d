package podgroup

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const coschedulingLabel = "scheduling.x-k8s.io/pod-group"

func (s *story) coscheduling(name string, minMember int32) *coscheduling.PodGroup {
	return &coscheduling.PodGroup{ObjectMeta: s.Meta(name), Spec: coscheduling.PodGroupSpec{MinMember: minMember}}
}

// install installs Coscheduling's PodGroup, with one PodGroup, and returns when the kind is served and the controller
// watches it. Before that the controller counts the pods that it sees.
func (s *story) install(definition *apiextensionsv1.CustomResourceDefinition, group *coscheduling.PodGroup) {
	s.Helper()
	before := s.watchesOf(coscheduling.SchemeGroupVersion.Group)
	s.Create(definition)
	s.Await("the kind to be served", func() bool {
		err := s.API.Create(s.Ctx, group)
		if err != nil {
			require.True(s, apierrors.IsNotFound(err) || meta.IsNoMatchError(err), "%v", err)
		}
		return err == nil
	})
	s.Await("the kind to be watched", func() bool { return s.watchesOf(coscheduling.SchemeGroupVersion.Group) > before })
}

func (s *story) uninstall(definition *apiextensionsv1.CustomResourceDefinition) {
	s.Helper()
	require.NoError(s, s.API.Delete(s.Ctx, definition))
	s.Await("the definition to be gone", func() bool {
		return apierrors.IsNotFound(s.API.Get(s.Ctx, client.ObjectKeyFromObject(definition), definition.DeepCopy()))
	})
}

func TestSizeByCoscheduling(t *testing.T) {
	t.Parallel()
	in := func(group string) func(*corev1.PodTemplateSpec) { return label(coschedulingLabel, group) }

	coschedulingTurns.Take(t)

	t.Log("before it is installed, the label says nothing")
	s := newStory(t)
	s.Create(s.pod("early", "early", in("early")))
	s.awaitLabels("early", 1)

	t.Log("it is installed while the controller runs")
	kind := MakeCoschedulingDefinition()
	s.install(kind, s.coscheduling("gang", 3))
	s.expect("gang", 3)
	s.Create(s.pod("pod-0", "gang", in("gang")), s.pod("pod-1", "gang", in("gang")))
	s.awaitRunning("gang", 2)
	s.expectNoLabels("gang")
	s.Create(s.pod("pod-2", "gang", in("gang")))
	s.awaitLabels("gang", 3)

	t.Log("its size changes, and it is deleted")
	shrinking := s.coscheduling("shrinking", 5)
	s.expect("shrinking", 2)
	s.Create(shrinking, s.pod("shrinking-0", "shrinking", in("shrinking")), s.pod("shrinking-1", "shrinking", in("shrinking")))
	s.awaitRunning("shrinking", 2)
	s.expectNoLabels("shrinking")
	s.Patch(shrinking, `{"spec":{"minMember":2}}`)
	s.awaitLabels("shrinking", 2)
	deleted := s.coscheduling("deleted", 5)
	s.Create(deleted, s.pod("deleted-0", "deleted", in("deleted")))
	s.awaitRunning("deleted", 1)
	s.expectNoLabels("deleted")
	require.NoError(t, s.API.Delete(s.Ctx, deleted))
	s.awaitLabels("deleted", 1)

	t.Log("two PodGroups in one group are added up, each by itself")
	s.expect("two", 3)
	s.Create(s.coscheduling("one-of-two", 1), s.coscheduling("two-of-two", 2))
	s.Create(s.pod("two-0", "two", in("one-of-two"), held), s.pod("two-1", "two", in("one-of-two"), held), s.pod("two-2", "two", in("two-of-two"), held))
	s.releasePods("two-0", "two-1", "two-2") // the first is not alone when it runs
	s.awaitRunning("two", 3)
	s.expectNoLabels("two")
	s.Create(s.pod("two-3", "two", in("two-of-two")))
	s.awaitLabels("two", 4)

	t.Log("it is uninstalled, and with it all PodGroups, and installed again")
	s.Create(s.coscheduling("waiting", 3), s.pod("waiting-0", "waiting", in("waiting")))
	s.awaitRunning("waiting", 1)
	s.expectNoLabels("waiting")
	s.uninstall(kind)
	s.awaitLabels("waiting", 1)
	kind = MakeCoschedulingDefinition()
	s.install(kind, s.coscheduling("again", 2))
	s.expect("again", 2)
	s.Create(s.pod("again-0", "again", in("again")))
	s.awaitRunning("again", 1)
	s.expectNoLabels("again")
	s.Create(s.pod("again-1", "again", in("again")))
	s.awaitLabels("again", 2)
	s.uninstall(kind)
}

func (s *story) native(name string, policy schedulingv1beta1.PodGroupSchedulingPolicy) *schedulingv1beta1.PodGroup {
	return &schedulingv1beta1.PodGroup{ObjectMeta: s.Meta(name), Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: policy}}
}

func gang(minCount int32) schedulingv1beta1.PodGroupSchedulingPolicy {
	return schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount}}
}

// inPodGroup makes pods members of a PodGroup of Kubernetes itself.
func inPodGroup(name string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
	}
}

// placed pods are on a node from the beginning: a scheduler would not let fewer than the minimum run.
func placed(t *corev1.PodTemplateSpec) { t.Spec.NodeName = "node-0" }

func TestSizeByAPodGroupOfKubernetes(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.expect("gang", 3)
	s.Create(s.native("gang", gang(3)))
	s.Create(s.pod("pod-0", "gang", inPodGroup("gang"), placed), s.pod("pod-1", "gang", inPodGroup("gang"), placed))
	s.awaitRunning("gang", 2)
	s.expectNoLabels("gang")
	s.Create(s.pod("pod-2", "gang", inPodGroup("gang"), placed))
	s.awaitLabels("gang", 3)

	t.Log("its minimum changes")
	s.expect("shrinking", 1)
	shrinking := s.native("shrinking", gang(2))
	s.Create(shrinking, s.pod("shrinking-0", "shrinking", inPodGroup("shrinking"), placed))
	s.awaitRunning("shrinking", 1)
	s.expectNoLabels("shrinking")
	s.Patch(shrinking, `{"spec":{"schedulingPolicy":{"gang":{"minCount":1}}}}`)
	s.awaitLabels("shrinking", 1)

	t.Log("the scheduler places a gang")
	s.Create(s.native("scheduled", gang(2)))
	s.Create(s.pod("scheduled-0", "scheduled", inPodGroup("scheduled")), s.pod("scheduled-1", "scheduled", inPodGroup("scheduled")))
	s.awaitLabels("scheduled", 2)

	t.Log("without a gang it says nothing of a size")
	s.Create(s.native("basic", schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}))
	s.Create(s.pod("basic-0", "basic", inPodGroup("basic")))
	s.awaitLabels("basic", 1)
	assert.Empty(t, s.events("GroupSizeConflict"))
}

// What is built in becomes available when the API server is started with other flags. Then the controller is restarted, too.
func TestPodGroupsOfKubernetesBecomeAvailable(t *testing.T) {
	t.Parallel()
	o := options()
	features, versions := "--feature-gates="+o.FeatureGates[0], "--runtime-config="+o.RuntimeConfig[0]
	o.FeatureGates, o.RuntimeConfig = nil, nil
	own := cluster.Own(t, o)
	s := newStoryIn(t, own)
	s.Create(s.pod("early", "early", inPodGroup("early"))) // the API server drops what it does not know
	s.awaitLabels("early", 1)
	require.NoError(t, own.Kill(s.Ctx, controlplane.APIServer))
	require.NoError(t, own.StartComponent(s.Ctx, controlplane.APIServer, features, versions))

	// Nothing but the PodGroup changes when the group becomes ready: it is watched.
	group := s.native("gang", gang(2))
	s.Await("PodGroups to be served", func() bool { return s.API.Create(s.Ctx, group) == nil })
	s.WhileControllerDown(func() {})
	s.Await("PodGroups to be watched", func() bool { return s.watchesOf(schedulingv1beta1.GroupName) > 0 })
	s.Create(s.pod("pod-0", "gang", inPodGroup("gang"), placed))
	s.awaitRunning("gang", 1)
	s.expectNoLabels("gang")
	s.Patch(group, `{"spec":{"schedulingPolicy":{"gang":{"minCount":1}}}}`)
	s.awaitLabels("gang", 1)
}
