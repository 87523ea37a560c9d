package placement

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

func TestStates(t *testing.T) {
	tests := map[string]struct {
		standing Standing
		want     []State // by group
	}{
		"a node that is not known": {
			Standing{}, []State{Closed, Closed, Closed, Closed},
		},
		"the second group is on the way": {
			Standing{Known: true, Released: 0b0011, OnTheWay: 0b1100}, []State{Open, Open, OnTheWay, OnTheWay},
		},
		"nothing of the second group is there": {
			Standing{Known: true, Released: 0b0011}, []State{Open, Open, Closed, Closed},
		},
		"suspended before the second group was released": {
			Standing{Known: true, Released: 0b0001, OnTheWay: 0b0010}, []State{Open, OnTheWay, Closed, Closed},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for group, want := range test.want {
				assert.Equal(t, want, test.standing.State(group), "group %d", group)
			}
		})
	}
}

func TestAnEmptyNode(t *testing.T) {
	ofGPUs := &spec.Group{NodeSelector: labels.SelectorFromSet(labels.Set{"gpu": "yes"})}
	s := &spec.Sequence{Groups: []*spec.Group{ofGPUs, {Awaited: 0b1}, {Awaited: 0b11}}}
	assert.Equal(t, Standing{Passed: 0b1, Released: 0b11, Known: true}, OnEmptyNode(s, nil, false, 0b1), "the first group is for other nodes")
	assert.Equal(t, Standing{Released: 0b1, Known: true}, OnEmptyNode(s, map[string]string{"gpu": "yes"}, false, 0b1))
	assert.Zero(t, OnEmptyNode(s, nil, true, 0b1).Released, "the namespace does not allow the sequence")
	suspended := &spec.Sequence{Groups: s.Groups, Suspended: true}
	assert.Zero(t, OnEmptyNode(suspended, nil, false, 0).Released)
	assert.Equal(t, spec.GroupSet(0b1), OnEmptyNode(suspended, nil, false, 0b1).Released)
}

func TestNodesAreCounted(t *testing.T) {
	nodes := NewNodes(1)
	assert.False(t, nodes.Hold(true), "nothing is on the way")
	nodes.Set(3, OnTheWay)
	assert.True(t, nodes.Hold(true))
	assert.False(t, nodes.Hold(false), "it does not fit there")
	assert.Equal(t, []int{3}, slices.Collect(nodes.In(OnTheWay)))
	nodes.Set(0, Open)
	assert.False(t, nodes.Hold(true))
	assert.Equal(t, []int{0}, slices.Collect(nodes.In(Open)))
	assert.Equal(t, 2, nodes.Suitable)
	nodes.Set(0, Unsuitable)
	assert.Equal(t, 1, nodes.Suitable)
	assert.Equal(t, Unsuitable, nodes.At(100))
}

func TestASlotCountsOnce(t *testing.T) {
	var s SlotCount
	s.Set(70, false)
	assert.Zero(t, s.Len())
	s.Set(70, true)
	s.Set(70, true)
	s.Set(1, true)
	assert.Equal(t, 2, s.Len())
	s.Set(70, false)
	s.Set(70, false)
	assert.Equal(t, 1, s.Len())
}

func TestWhichNodesSuit(t *testing.T) {
	node := func(labels map[string]string, cordoned bool, taints ...corev1.Taint) *inventory.Node {
		view := inventory.ViewNode(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels}, Spec: corev1.NodeSpec{Unschedulable: cordoned, Taints: taints},
		})
		return &view
	}
	dedicated := corev1.Taint{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}
	soft := corev1.Taint{Key: "slow", Effect: corev1.TaintEffectPreferNoSchedule}
	zone := NewRequirement(&inventory.NodeRequirement{NodeSelector: map[string]string{"zone": "a"}})
	assert.True(t, zone.Suits(node(map[string]string{"zone": "a"}, false)))
	assert.False(t, zone.Suits(node(map[string]string{"zone": "b"}, false)))
	anywhere := NewRequirement(&inventory.NodeRequirement{})
	assert.False(t, anywhere.Suits(node(nil, true)), "cordoned")
	assert.False(t, anywhere.Suits(node(nil, false, dedicated)))
	assert.True(t, anywhere.Suits(node(nil, false, soft)), "that is only a preference")
	tolerant := NewRequirement(&inventory.NodeRequirement{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}})
	assert.True(t, tolerant.Suits(node(nil, true, dedicated)))
}

func TestRoom(t *testing.T) {
	offers := inventory.Resources{{Name: "cpu", Amount: 4000}, {Name: "example.com/gpu", Amount: 2}, {Name: "pods", Amount: 10}}
	tests := map[string]struct {
		offers, used, requests inventory.Resources
		driven                 bool
		want                   int
	}{
		"a node that has not said what it offers": {requests: inventory.Resources{{Name: "cpu", Amount: 1}}, want: unlimited},
		"pods that ask for nothing":               {offers: offers, want: 10},
		"by the number of pods":                   {offers: offers, used: inventory.Resources{{Name: "pods", Amount: 7}}, want: 3},
		"by what is scarcest": {
			offers: offers, requests: inventory.Resources{{Name: "cpu", Amount: 1000}, {Name: "example.com/gpu", Amount: 1}}, want: 2,
		},
		"by what is left": {
			offers: offers, used: inventory.Resources{{Name: "cpu", Amount: 1500}}, requests: inventory.Resources{{Name: "cpu", Amount: 1000}}, want: 2,
		},
		"a resource that the node does not list": {offers: offers, requests: inventory.Resources{{Name: "example.com/fpga", Amount: 1}}},
		"a device that a driver may yet bring": {
			offers: offers, requests: inventory.Resources{{Name: "cpu", Amount: 2000}, {Name: "example.com/fpga", Amount: 1}}, driven: true, want: 2,
		},
		"another resource that the node does not list": {
			offers: offers, requests: inventory.Resources{{Name: "hugepages-2Mi", Amount: 1}}, driven: true,
		},
		"a device that the node has had": {
			offers:   inventory.Resources{{Name: "example.com/gpu", Amount: 0}, {Name: "pods", Amount: 10}},
			requests: inventory.Resources{{Name: "example.com/gpu", Amount: 1}}, want: 10,
		},
		"devices of which the node has too few": {
			offers: offers, requests: inventory.Resources{{Name: "example.com/gpu", Amount: 3}}, driven: true,
		},
		"a node that is too full": {
			offers: offers, used: inventory.Resources{{Name: "cpu", Amount: 9000}}, requests: inventory.Resources{{Name: "cpu", Amount: 1000}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, Room(test.offers, test.used, test.requests, test.driven))
		})
	}
}

func TestWhichResourcesAreDevices(t *testing.T) {
	for _, name := range []corev1.ResourceName{
		"cpu", "memory", "pods", "ephemeral-storage", "hugepages-2Mi", "attachable-volumes-csi-example.com", "example.com/gpu", "nvidia.com/mig-1g.5gb",
		"example.kubernetes.io/thing", "deviceclass.resource.kubernetes.io/gpu",
	} {
		assert.Equal(t, v1helper.IsExtendedResourceName(name), IsDevice(name), name)
	}
}

func TestWhatANodeLacks(t *testing.T) {
	devices := DevicesIn(inventory.Resources{{Name: "cpu", Amount: 100}, {Name: "example.com/gpu", Amount: 2}})
	assert.True(t, Lacks(inventory.Resources{{Name: "pods", Amount: 1}}, devices))
	assert.True(t, Lacks(inventory.Resources{{Name: "example.com/gpu", Amount: 1}}, devices), "too few")
	assert.False(t, Lacks(inventory.Resources{{Name: "example.com/gpu", Amount: 2}}, devices), "whoever uses them")
	assert.False(t, Lacks(nil, devices), "the node has not said yet what it offers")
}
