package integration

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

func hundredsOfSequences(s *story) {
	for i := range 300 {
		name := fmt.Sprintf("s-%d", i)
		s.Create(s.sequence(name).Pods("One", name+"-one").Label("Two", "of", name).Obj())
	}
	for _, i := range []int{0, 150, 299} {
		name := fmt.Sprintf("s-%d", i)
		s.createPods(s.pod(name+"-two").Label("of", name), s.pod(name+"-one"))
		s.awaitBound(name + "-one")
		s.expectHeld(name + "-two")
		s.makeReady(name + "-one")
		s.awaitBound(name + "-two")
	}
}

// manyPods are more than two pages of a list, and more than status lists. One of them never turns ready.
const manyPods = 1100

func manyPodsByLabel(s *story) {
	s.Create(s.sequence("shop").Pods("One", "one").Label("Many", "tier", "many").Obj())
	s.createMany("many", manyPods-1)
	s.createPods(s.pod("straggler").Label("tier", "many"))
	s.expectHeld("straggler", "many-0", fmt.Sprintf("many-%d", manyPods-2))
	s.createPods(s.pod("one").Annotation(cluster.ReadyAfter, "0s"))
	cluster.Eventually(s, "the status to count them", func() error {
		if groups := s.getSequence("shop").Status.Groups; len(groups) < 2 || groups[1].Expected != manyPods {
			return fmt.Errorf("groups are %v", groups)
		}
		return nil
	})
	cluster.Eventually(s, "all pods to be bound", func() error {
		if bound := s.countBound("many"); bound < manyPods {
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
	assert.Contains(s, status.Message, fmt.Sprintf("lists show %d of %d pods", v1alpha1.MaxListedPods, manyPods))
}
