package integration

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

// To evict a pod from a node whose driver is not ready would help nobody.
func TestNobodyIsEvictedWhereAPodMayNotGoYet(t *testing.T) {
	t.Parallel()
	s := newNodeStory(t, "open", "closed")
	high := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}, Value: 1000}
	s.Create(high)
	t.Cleanup(func() { assert.NoError(t, s.API.Delete(context.Background(), high)) })
	important := func(p *st.PodWrapper) *st.PodWrapper {
		p.Spec.PriorityClassName = high.Name
		return p
	}
	all, half := map[corev1.ResourceName]string{"cpu": "4"}, map[corev1.ResourceName]string{"cpu": "2"}

	s.Create(s.driverThenApp().Obj(), s.driver())
	s.startOn("driver", "open")
	s.on("driver", "closed")
	s.createPods(important(s.pinned("important", "", "open")).Req(all), s.pinned("victim", "", "closed").Req(all))
	s.awaitBound("important", "victim")

	s.createPods(important(s.here("free", "app")).Req(half), important(s.pinned("pinned", "app", "closed")).Req(half))
	s.awaitUnschedulable("free", "2 Insufficient cpu", "preemption: ") // it was let go for the open node
	s.awaitHeldFor("pinned", `group 1/2 "Driver"`)
	s.expectUnplaced("free", "pinned")
	assert.Nil(t, s.getPod("victim").DeletionTimestamp)
	assert.Empty(t, s.getPod("free").Status.NominatedNodeName)

	s.startOn("driver", "closed") // now it helps
	s.awaitBound("free", "pinned")
	assert.Equal(t, s.node("closed"), s.getPod("free").Spec.NodeName)
}
