package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
)

// The operator, the permission and the certificate come one after another, long after the sequence and the pods.
func TestPodsWaitForAnObjectOfAKindThatComesLater(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	k := s.newCertificates()
	s.Create(s.sequence("shop").Objects("Certificate", k.reference("tls", "Ready")).Pods("Application", "app").Obj())
	s.createPods(s.pod("app"))
	missing := s.awaitObject("shop", v1alpha1.ObjectNotReadable)
	assert.Equal(t, "the kind Certificate is not installed in version "+k.group+"/v1", missing.Message)
	s.awaitHeldFor("app", "cannot be read")

	k.install()
	s.Await("the controller to say what it may not read", func() bool {
		return strings.Contains(s.objectIn("shop").Message, "may not read certificates."+k.group)
	})
	degraded := meta.FindStatusCondition(s.getSequence("shop").Status.Conditions, v1alpha1.ConditionDegraded)
	assert.Equal(t, v1alpha1.ReasonObjectNotReadable, degraded.Reason)

	k.permit()
	s.awaitObject("shop", v1alpha1.ObjectNotFound)
	k.create("tls")
	waiting := s.awaitObject("shop", v1alpha1.ObjectWaiting)
	assert.Equal(t, "it has no condition Ready yet", waiting.Message)
	assert.Equal(t, k.uidOf("tls"), string(waiting.UID))
	k.setReady("tls", "False", time.Now())
	s.Await("the controller to see the condition", func() bool {
		return s.objectIn("shop").Message == "Ready is False: Story: says the story"
	})
	s.expectHeld("app")

	k.setReady("tls", "True", time.Now())
	s.awaitBound("app")
	s.makeReady("app")
	s.awaitPhase("shop", v1alpha1.PhaseCompleted)
	assert.Empty(t, s.objectIn("shop").Message)
	assert.NotNil(t, s.objectIn("shop").Since)
}

// An object that its controller has not seen has no status. kstatus alone would take it for finished.
func TestAnObjectWithoutAStatusIsNotCurrent(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	k := s.installedCertificates()
	k.create("tls")
	s.Create(s.sequence("shop").Objects("Certificate", k.reference("tls", "")).Pods("Application", "app").Obj())
	s.createPods(s.pod("app"))
	s.Await("the controller to see the certificate", func() bool { return s.objectIn("shop").Message == "it has no status yet" })
	s.expectHeld("app")
	k.setReady("tls", "True", time.Now())
	s.awaitBound("app")
}

func TestAGroupMayHaveMembersAndObjects(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	k := s.installedCertificates()
	k.create("tls")
	s.Create(s.sequence("shop").Pods("Database", "db").Awaiting(k.reference("tls", "Ready")).Pods("Application", "app").Obj())
	s.createPods(s.pod("db"), s.gated("app"))
	s.awaitBound("db")
	s.makeReady("db")
	s.awaitObject("shop", v1alpha1.ObjectWaiting)
	s.expectHeld("app")
	k.setReady("tls", "True", time.Now())
	s.awaitBound("app")
}

// The sequence of one team waits for that of another.
func TestASequenceWaitsForASequence(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	data := v1alpha1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "PodSequence", Name: "data", Until: v1alpha1.ConditionCompleted,
	}
	s.Create(s.sequence("shop").Objects("Data", data).Pods("Application", "app").Obj())
	s.createPods(s.pod("app"))
	s.awaitObject("shop", v1alpha1.ObjectNotFound)
	s.Create(s.sequence("data").Pods("Primary", "db").Pods("Replica", "replica").Obj())
	s.createPods(s.pod("db"), s.pod("replica"))
	s.awaitBound("db")
	s.makeReady("db")
	s.awaitBound("replica")
	s.awaitObject("shop", v1alpha1.ObjectWaiting)
	s.expectHeld("app")
	s.makeReady("replica")
	s.awaitBound("app")
}

// In Continuous an object that is no longer as required closes its group, also for its kind.
func TestAnObjectThatIsNoLongerReadyClosesAContinuousGroup(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	k := s.installedCertificates()
	k.create("tls")
	k.setReady("tls", "True", time.Now())
	s.Create(s.sequence("shop").Mode(v1alpha1.Continuous).Objects("Certificate", k.reference("tls", "Ready")).
		Pods("Application", "app", "second", "third", "fourth").Obj())
	s.createPods(s.pod("app"))
	s.awaitBound("app")

	k.setReady("tls", "False", time.Now())
	s.awaitObject("shop", v1alpha1.ObjectWaiting)
	s.createPods(s.pod("second"))
	s.expectHeld("second")
	k.setReady("tls", "True", time.Now())
	s.awaitBound("second")

	k.uninstall()
	s.Await("the certificate to be gone", func() bool { return s.objectIn("shop").State != v1alpha1.ObjectSatisfied })
	s.createPods(s.pod("third"))
	s.expectHeld("third")
	k.install()
	k.create("tls")
	k.setReady("tls", "True", time.Now())
	s.awaitBound("third")
	assert.Equal(t, k.uidOf("tls"), string(s.objectIn("shop").UID))

	s.Delete(k.object("tls"))
	s.awaitObject("shop", v1alpha1.ObjectNotFound)
	s.createPods(s.pod("fourth"))
	s.expectHeld("fourth")
}

// A PodSequence sees its own namespace, whatever its role allows the controller.
func TestAPodSequenceWaitsForNothingOfTheCluster(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Objects("Storage", v1alpha1.ObjectReference{
		APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "podsequences.scheduling.example.com",
	}).Pods("Application", "app").Obj())
	s.createPods(s.pod("app"))
	refused := s.awaitObject("shop", v1alpha1.ObjectNotReadable)
	assert.Equal(t, "only a ClusterPodSequence may wait for cluster-scoped objects, such as a CustomResourceDefinition", refused.Message)
	s.expectHeld("app")
}

// Secrets cannot be waited for unless somebody permits it.
func TestSecretsAreNotReadable(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(&corev1.Secret{ObjectMeta: s.Meta("password")})
	s.Create(s.sequence("shop").Objects("Secret", v1alpha1.ObjectReference{APIVersion: "v1", Kind: "Secret", Name: "password"}).
		Pods("Application", "app").Obj())
	s.createPods(s.pod("app"))
	assert.Contains(t, s.awaitObject("shop", v1alpha1.ObjectNotReadable).Message, "podsequence-controller may not read secrets")
	s.expectHeld("app")
}

// A ClusterPodSequence waits for the definition of a kind, and for an object of it.
func TestAClusterPodSequenceWaitsForADefinition(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	k := s.newCertificates()
	k.permit()
	certificate := k.reference("tls", "Ready")
	certificate.Namespace = s.Namespace
	across := &v1alpha1.ClusterPodSequence{}
	across.Name = s.Namespace
	across.Spec.PodGroups = []v1alpha1.ClusterPodGroup{
		{PodGroup: v1alpha1.PodGroup{Name: "Operator", Objects: []v1alpha1.ObjectReference{
			{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: k.definition().Name, Until: "Established"}, certificate,
		}}},
		{PodGroup: v1alpha1.PodGroup{Name: "Application", Pods: []string{"app"}}, Namespaces: []string{s.Namespace}},
	}
	s.Create(across)
	s.createPods(s.pod("app"))
	states := func() (states []v1alpha1.ObjectState) {
		require.NoError(t, s.API.Get(s.Ctx, types.NamespacedName{Name: across.Name}, across))
		for _, group := range across.Status.Groups {
			for _, object := range group.Objects {
				states = append(states, object.State)
			}
		}
		return states
	}
	awaitStates := func(want ...v1alpha1.ObjectState) {
		t.Helper()
		s.Await("the objects of the ClusterPodSequence to be as expected", func() bool { return assert.ObjectsAreEqual(want, states()) })
	}
	awaitStates(v1alpha1.ObjectNotFound, v1alpha1.ObjectNotReadable)
	k.install()
	awaitStates(v1alpha1.ObjectSatisfied, v1alpha1.ObjectNotFound)
	k.create("tls")
	awaitStates(v1alpha1.ObjectSatisfied, v1alpha1.ObjectWaiting)
	s.expectHeld("app")
	k.setReady("tls", "True", time.Now())
	s.awaitBound("app")
}
