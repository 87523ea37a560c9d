package integration

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/testing/cluster"
)

func aThousandSequences(s *story) {
	for i := range 1000 {
		name := fmt.Sprintf("s-%d", i)
		s.Create(s.sequence(name).Pods("One", name+"-one").Label("Two", "of", name).Obj())
	}
	for _, i := range []int{0, 500, 999} {
		name := fmt.Sprintf("s-%d", i)
		s.createPods(s.pod(name+"-two").Label("of", name), s.pod(name+"-one"))
		s.awaitBound(name + "-one")
		s.expectHeld(name + "-two")
		s.makeReady(name + "-one")
		s.awaitBound(name + "-two")
	}
}

func fiveThousandPods(s *story) {
	s.Create(s.sequence("shop").Pods("One", "one").Label("Many", "tier", "many").Obj())
	s.createMany("many", 5000)
	s.expectHeld("many-0", "many-4998", "many-4999")
	s.createPods(s.pod("one").Annotation(cluster.ReadyAfter, "0s"))
	cluster.Eventually(s, "the status to count them", func() error {
		if groups := s.getSequence("shop").Status.Groups; len(groups) < 2 || groups[1].Expected != 5000 {
			return fmt.Errorf("groups are %v", groups)
		}
		return nil
	})
	// The simulated nodes have room for 4,000 pods; that all are let go is what matters.
	cluster.Eventually(s, "all gates to be lifted, and the nodes to be full", func() error {
		if bound := s.countBound("many"); bound < 3900 {
			return fmt.Errorf("%d pods are bound", bound)
		}
		return nil
	})
	s.Await("status to be of the second group", func() bool { return strings.HasPrefix(s.getSequence("shop").Status.CurrentGroup, "2/2") })
	status := s.getSequence("shop").Status
	assert.Len(s, status.CurrentGroupPods, v1alpha1.MaxListedPods)
	s.Await("status to count more than it lists", func() bool {
		return s.getSequence("shop").Status.ReadyPodsInCurrentGroup > v1alpha1.MaxListedPods
	})
	assert.Contains(s, status.Message, "lists are cut at 100 of 5000 pods")
}
