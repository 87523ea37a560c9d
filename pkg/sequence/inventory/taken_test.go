package inventory

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

func TestAPodTakesAsBefore(t *testing.T) {
	cpu := func(amount string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: apiresource.MustParse(amount)}
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"with another condition": {func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
		}, true},
		"with another phase":                              {func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, true},
		"with the same amount in other words":             {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].AllocatedResources = cpu("1000m") }, true},
		"unless it has ended":                             {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, false},
		"unless it has got a node":                        {func(p *corev1.Pod) { p.Spec.NodeName = "b" }, false},
		"unless its spec has changed":                     {func(p *corev1.Pod) { p.Generation++ }, false},
		"unless nobody counts changes of its spec":        {func(p *corev1.Pod) { p.Generation = 0 }, false},
		"unless it is another pod":                        {func(p *corev1.Pod) { p.UID = "other" }, false},
		"unless it was given less":                        {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].AllocatedResources = cpu("500m") }, false},
		"unless it runs with more":                        {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Resources.Requests = cpu("2") }, false},
		"unless nobody says with what it runs":            {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Resources = nil }, false},
		"unless an init container is told of":             {func(p *corev1.Pod) { p.Status.InitContainerStatuses = p.Status.ContainerStatuses }, false},
		"unless a container is not told of":               {func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }, false},
		"unless it was given less as a whole":             {func(p *corev1.Pod) { p.Status.AllocatedResources = cpu("500m") }, false},
		"unless it runs with more as a whole":             {func(p *corev1.Pod) { p.Status.Resources.Requests = cpu("2") }, false},
		"unless nobody says with what it runs as a whole": {func(p *corev1.Pod) { p.Status.Resources = nil }, false},
		"unless a resize has turned out to be infeasible": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := st.MakePod().Name("p").UID("p").Node("a").Req(map[corev1.ResourceName]string{corev1.ResourceCPU: "1"}).Obj()
			before.Generation = 3
			before.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "con0", AllocatedResources: cpu("1"), Resources: &corev1.ResourceRequirements{Requests: cpu("1")},
			}}
			before.Status.AllocatedResources, before.Status.Resources = cpu("1"), &corev1.ResourceRequirements{Requests: cpu("1")}
			now := before.DeepCopy()
			tc.change(now)
			assert.Equal(t, tc.want, TakesAsBefore(before, now))
			if tc.want {
				assert.Equal(t, TakenBy(before), TakenBy(now), "it says so only if it is so")
			}
		})
	}
}

func TestToMatchAPodNobodyAsksWhatItRequests(t *testing.T) {
	pod := st.MakePod().Name("p").Label("tier", "db").SchedulingGates([]string{"gate"}).Req(map[corev1.ResourceName]string{corev1.ResourceCPU: "1"}).Obj()
	whole, toMatch := ViewPod(pod), ViewPodToMatch(pod)
	assert.NotEmpty(t, whole.Wants().Requests)
	assert.Empty(t, toMatch.Wants().Requests)
	assert.True(t, whole.SameMembership(&toMatch))
	assert.Equal(t, whole.Gates(), toMatch.Gates())
}
