package real

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/sandbox/containerlogs"
)

func TestPodsAreHeldWhileTheKubeletOfAnEarlierTierIsSilent(t *testing.T) {
	s := newStory(t)
	db := s.deployment("db", 1, probed(workload("serve")))
	db.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: nodes[1]}
	s.Create(
		s.sequence("shop").Mode(v1alpha1.Continuous).Label("Database", app, "db").Expression("Application", app, "In", "early", "late").Obj(),
		db, s.deployment("early", 1, probed(workload("serve"))),
	)
	s.awaitReady("early-", 1)

	stopped := true
	t.Cleanup(func() {
		if stopped {
			s.node("start", nodes[1])
		}
		s.awaitNode(nodes[1], true)
	})
	s.node("stop", nodes[1])
	s.awaitNode(nodes[1], false)
	s.awaitNoneReady("db-")
	s.Create(s.deployment("late", 2, probed(workload("serve"))))
	s.awaitHeld("late-", 2)
	s.fence("silent")
	s.expectSilent("late-")

	back := time.Now()
	s.node("start", nodes[1])
	stopped = false
	s.awaitReady("late-", 2)
	late := s.said().Where(containerlogs.Of("late-"), containerlogs.Saying(containerlogs.Started))
	assert.Equal(s, late, late.Where(containerlogs.Since(back)), "pods started while the kubelet was silent")
	assert.Len(s, s.said().Where(containerlogs.Of("db-"), containerlogs.Saying(containerlogs.Started)), 1,
		"the container of the database ran on meanwhile")
}
