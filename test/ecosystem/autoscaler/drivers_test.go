package autoscaler

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestATierThatWaitsForANodeDriverStartsFromZeroNodes(t *testing.T) {
	inBothWays(t, func(t *testing.T, by way) {
		s := newStory(t, by, pool{instanceType: small, bootTime: "2s"})
		s.Create(s.deployment("web", 4))
		s.awaitDrivers(2)
		s.expectUnbound("web-")
		s.expectNodes(2)
		s.expectUnbound("web-")
		s.startDrivers()
		s.awaitBound("web-", 4)
		s.report()
		s.expectNodes(2)
	})
}

func TestOnePodTooManyForANodeThatBootsGetsASecondNodeAtOnce(t *testing.T) {
	inBothWays(t, func(t *testing.T, by way) {
		s := newStory(t, by, pool{instanceType: small, bootTime: "2s"})
		s.Create(s.deployment("web", 2))
		s.awaitDrivers(1)
		s.expectNodes(1)
		s.Create(s.deployment("more", 1))
		s.awaitNodes(2) // although the driver is not ready on the first
		s.awaitDrivers(2)
		s.expectUnbound("web-")
		s.expectUnbound("more-")
		s.expectNodes(2)
		s.startDrivers()
		s.awaitBound("web-", 2)
		s.awaitBound("more-", 1)
		s.report()
		s.expectNodes(2)
	})
}

func TestANodeThatIsEmptyWhileItsDriverStartsIsNotConsolidated(t *testing.T) {
	inBothWays(t, func(t *testing.T, by way) {
		s := newStory(t, by, pool{instanceType: small, bootTime: "1s", consolidateAfter: "1s"})
		s.Create(s.deployment("web", 1))
		first := s.awaitDrivers(1)[0].Spec.NodeName
		for range 2 {
			s.awaitConsolidation()
		}
		s.expectUnbound("web-")
		s.startDrivers()
		assert.Equal(t, first, s.awaitBound("web-", 1)[0].Spec.NodeName)
		s.report()
		s.expectNodes(1)
	})
}
