package autoscaler

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A spot node is taken away: Karpenter deletes its NodeClaim, and drains it.
func TestAfterAnInterruptionTheApplicationWaitsForTheDriverOfTheNewNode(t *testing.T) {
	inBothWays(t, func(t *testing.T, by way) {
		s := newStory(t, by, pool{instanceType: small, bootTime: "1s"})
		s.Create(s.deployment("web", 2))
		s.awaitDrivers(1)
		s.startDrivers()
		first := s.awaitBound("web-", 2)[0].Spec.NodeName

		s.interrupt(shared.claims.of(s.Namespace)[0])
		s.awaitNodes(2)
		s.awaitPods("driver-", 1, "bound on the new node", func(p *corev1.Pod) bool { return isBound(p) && p.Spec.NodeName != first })
		s.awaitPods("web-", 2, "replaced", func(p *corev1.Pod) bool { return p.Spec.NodeName != first })
		s.expectNodes(2)
		s.expectUnbound("web-")
		s.startDrivers()
		second := s.awaitBound("web-", 2)[0].Spec.NodeName
		assert.NotEqual(t, first, second)
		s.report()
		s.expectNodes(2)
	})
}

// A driver never becomes ready on a node. No autoscaler replaces such a node by itself, with or without PodSequence: somebody deletes it.
func TestANodeWhoseDriverNeverGetsReadyIsReplacedOnceItIsDeleted(t *testing.T) {
	inBothWays(t, func(t *testing.T, by way) {
		s := newStory(t, by, pool{instanceType: small, bootTime: "1s"})
		s.Create(s.deployment("web", 2))
		broken := s.awaitDrivers(1)[0].Spec.NodeName
		s.expectNodes(1)
		s.interrupt(shared.claims.of(s.Namespace)[0])
		s.awaitNodes(2)
		s.awaitPods("driver-", 1, "bound on the new node", func(p *corev1.Pod) bool { return isBound(p) && p.Spec.NodeName != broken })
		s.startDrivers()
		s.awaitBound("web-", 2)
		s.report()
		s.expectNodes(2)
	})
}

// A node joins, but its kubelet never reports. Karpenter deletes its NodeClaim after 15 minutes; the story does so at once.
func TestANodeThatNeverGetsReadyIsReplacedOnceItIsDeleted(t *testing.T) {
	inBothWays(t, func(t *testing.T, by way) {
		s := newStory(t, by, pool{instanceType: small, bootTime: "1s", neverReady: true})
		s.Create(s.deployment("web", 2))
		broken := s.awaitDrivers(1)[0].Spec.NodeName // DaemonSets tolerate that the node is not ready
		s.expectNodes(1)
		s.expectUnbound("web-")
		s.pool.neverReady = false
		require.NoError(t, shared.apply(s.pool.manifest()))
		s.interrupt(shared.claims.of(s.Namespace)[0])
		s.awaitPods("driver-", 1, "bound on the new node", func(p *corev1.Pod) bool { return isBound(p) && p.Spec.NodeName != broken })
		s.expectUnbound("web-")
		s.startDrivers()
		s.awaitBound("web-", 2)
		s.report()
		s.expectNodes(2)
	})
}

// interrupt deletes a NodeClaim, as Karpenter's controllers for interruptions do.
func (s *story) interrupt(claim string) {
	s.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("karpenter.sh/v1")
	object.SetKind("NodeClaim")
	object.SetName(claim)
	s.Delete(object)
}
