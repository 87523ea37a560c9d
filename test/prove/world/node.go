package world

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/test/prove/plan"
)

// A simulated kubelet looks after nodes with this annotation.
const kubeletAnnotation, kubeletValue = "kwok.x-k8s.io/node", "fake"

type node struct {
	name   string
	real   bool
	labels map[string]string
}

func (n *node) object() *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("1000"),
	}
	return &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: n.labels, Annotations: map[string]string{kubeletAnnotation: kubeletValue}},
		Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
}

// edit changes something about the node.
func (n *node) edit(w *world, at time.Duration) {
	if n.real {
		n.editReal(w, at)
		return
	}
	later := at + w.moment(500*time.Millisecond, 4*time.Second)
	switch w.IntN(5) {
	case 0:
		w.patch(at, "Node", "", n.name, object{"spec": object{"unschedulable": true}})
		w.patch(later, "Node", "", n.name, object{"spec": object{"unschedulable": nil}})
	case 1:
		n.labels[zoneLabel] = one(w.dice, "in", "out")
		w.patch(at, "Node", "", n.name, object{"metadata": object{"labels": object{zoneLabel: n.labels[zoneLabel]}}})
	case 2:
		taints := []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoSchedule}}
		w.patch(at, "Node", "", n.name, object{"spec": object{"taints": taints}})
		w.patch(later, "Node", "", n.name, object{"spec": object{"taints": nil}})
	case 3:
		w.remove(at, "Node", "", n.name)
		if w.chance(80) {
			w.create(later, "Node", n.object())
		}
	case 4:
		ready := func(status corev1.ConditionStatus) object {
			return object{"status": object{"conditions": []object{{
				"type": corev1.NodeReady, "status": status, "reason": "Proof", "message": "as the plan has it",
			}}}}
		}
		w.add(at, plan.PatchStatus, ready(corev1.ConditionFalse), "Node", n.name)
		w.add(later, plan.PatchStatus, ready(corev1.ConditionTrue), "Node", n.name)
	}
}

// editReal does so with a real node. What its kubelet writes is left to the kubelet.
func (n *node) editReal(w *world, at time.Duration) {
	if w.chance(50) {
		w.patch(at, "Node", "", n.name, object{"spec": object{"unschedulable": true}})
		w.patch(at+w.moment(500*time.Millisecond, 4*time.Second), "Node", "", n.name, object{"spec": object{"unschedulable": nil}})
		return
	}
	n.labels[zoneLabel] = one(w.dice, "in", "out")
	w.patch(at, "Node", "", n.name, object{"metadata": object{"labels": object{zoneLabel: n.labels[zoneLabel]}}})
}
