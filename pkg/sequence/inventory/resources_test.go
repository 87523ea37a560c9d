package inventory

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func container(pairs ...string) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: amounts(pairs...)}}
}

func TestWhatAPodRequests(t *testing.T) {
	sidecar := container("cpu", "50m")
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	tests := map[string]struct {
		spec corev1.PodSpec
		want Resources
	}{
		"nothing":           {spec: corev1.PodSpec{Containers: []corev1.Container{{}}}},
		"an amount of zero": {spec: corev1.PodSpec{Containers: []corev1.Container{container("cpu", "0")}}},
		"several containers": {
			spec: corev1.PodSpec{Containers: []corev1.Container{container("cpu", "100m", "example.com/gpu", "1"), container("cpu", "1", "memory", "1Ki")}},
			want: Resources{{"cpu", 1100}, {"example.com/gpu", 1}, {"memory", 1024}},
		},
		"an init container that asks for more, and a sidecar": {
			spec: corev1.PodSpec{
				InitContainers: []corev1.Container{sidecar, container("cpu", "2")}, Containers: []corev1.Container{container("cpu", "1")},
			},
			want: Resources{{"cpu", 2050}},
		},
		"overhead": {
			spec: corev1.PodSpec{Overhead: amounts("cpu", "10m"), Containers: []corev1.Container{container("cpu", "1")}},
			want: Resources{{"cpu", 1010}},
		},
		"for the whole pod": {
			spec: corev1.PodSpec{
				Resources: &corev1.ResourceRequirements{Requests: amounts("cpu", "3")}, Containers: []corev1.Container{container("cpu", "1")},
			},
			want: Resources{{"cpu", 3000}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := RequestsOf(&corev1.Pod{Spec: test.spec})
			assert.True(t, test.want.Equal(got), "%v, want %v", got, test.want)
			assert.True(t, got.Equal(ResourcesOf(got.List())), "%v", got.List())
		})
	}
}

// The scheduler adds up everything of each pod. What need not be added up, and what a kubelet has not done yet, comes to the same here.
func TestAPodAsksForWhatTheSchedulerCounts(t *testing.T) {
	const pods = 5000
	random := rand.New(rand.NewPCG(1, 2))
	some := func() corev1.ResourceList {
		list := corev1.ResourceList{}
		for _, name := range []corev1.ResourceName{"cpu", "memory", "example.com/gpu"} {
			if random.IntN(2) == 0 {
				list[name] = *resource.NewMilliQuantity(random.Int64N(3000), resource.DecimalSI)
			}
		}
		return list
	}
	few := func() int { return max(0, random.IntN(4)-1) }
	simple := 0
	for range pods {
		p := &corev1.Pod{}
		for i := range few() {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
				Name: fmt.Sprint("c", i), Resources: corev1.ResourceRequirements{Requests: some()},
			})
		}
		for range few() {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Resources: corev1.ResourceRequirements{Requests: some()}})
		}
		for i := range few() {
			status := corev1.ContainerStatus{Name: fmt.Sprint("c", i), AllocatedResources: some()}
			if random.IntN(2) == 0 {
				status.Resources = &corev1.ResourceRequirements{Requests: some()}
			}
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, status)
		}
		if random.IntN(4) == 0 {
			p.Spec.Overhead = some()
		}
		if random.IntN(4) == 0 {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu", "1")}
		}
		if random.IntN(4) == 0 { // kubelets say so of each pod
			p.Status.AllocatedResources, p.Status.Resources = some(), &corev1.ResourceRequirements{Requests: some()}
		}
		if random.IntN(4) == 0 {
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible,
			}}
		}
		counted, err := framework.NewPodInfo(p)
		require.NoError(t, err)
		want := requested(counted.CalculateResource().Resource)
		if got := RequestsOf(p); !want.Equal(got) {
			t.Fatalf("%v, want %v, of %+v", got, want, p)
		}
		if asksAsItsContainer(p) {
			simple++
		}
	}
	assert.Greater(t, simple, pods/100)
}

// requested returns what the scheduler has counted.
func requested(r fwk.Resource) Resources {
	all := Resources{{corev1.ResourceCPU, r.GetMilliCPU()}, {corev1.ResourceMemory, r.GetMemory()}}
	for name, amount := range r.GetScalarResources() {
		all = append(all, Resource{name, amount})
	}
	slices.SortFunc(all, func(a, b Resource) int { return cmp.Compare(a.Name, b.Name) })
	return slices.DeleteFunc(all, func(r Resource) bool { return r.Amount == 0 })
}

func TestResourcesAreAdded(t *testing.T) {
	sum := Resources(nil).Plus(Resources{{"cpu", 2}, {"pods", 1}}, 1).Plus(Resources{{"b", 1}, {"cpu", 1}}, 2)
	assert.Equal(t, Resources{{"b", 2}, {"cpu", 4}, {"pods", 1}}, sum)
	assert.Equal(t, Resources{{"cpu", 4}}, sum.Plus(Resources{{"b", 2}, {"pods", 1}}, -1))
	assert.Equal(t, Resources{{"b", 2}, {"cpu", 4}, {"pods", 1}}, sum, "no value is written to")
}

func TestANodeThatOffersSomethingElseIsNotTheSame(t *testing.T) {
	node := func(pairs ...string) Node {
		return ViewNode(&corev1.Node{Status: corev1.NodeStatus{Allocatable: amounts(pairs...)}})
	}
	before, same, other := node("cpu", "1000m"), node("cpu", "1"), node("cpu", "1", "example.com/gpu", "1")
	assert.True(t, before.Same(&same))
	assert.False(t, before.Same(&other))
}
