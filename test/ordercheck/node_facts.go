package ordercheck

import (
	"maps"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// nodeFacts are what the rule asks of a node. They never change once recorded.
type nodeFacts struct {
	stamp time.Time
	// node holds only what decides whether a DaemonSet should run there.
	node       *corev1.Node
	conditions map[string]nodeCondition // by type
}

func factsOfNode(node *corev1.Node) facts {
	return &nodeFacts{
		stamp: newestStamp(node),
		node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: node.Name, UID: node.UID, Labels: node.Labels, CreationTimestamp: node.CreationTimestamp,
			},
			Spec: corev1.NodeSpec{Taints: node.Spec.Taints},
		},
		conditions: conditionsOf(node),
	}
}

// inside reports whether the node has all these labels.
func (f *nodeFacts) inside(selector map[string]v1alpha1.LabelValue) bool {
	have := labels.Set(f.node.Labels)
	for key, value := range selector {
		if !have.Has(key) || have.Get(key) != string(value) {
			return false
		}
	}
	return true
}

// has reports whether a pod has reached on this node what a group requires. What a pod reached before the node was made, on
// another of its name, says nothing of this one.
func (f *nodeFacts) has(p *pod, reached v1alpha1.RequiredStatus) bool {
	made := f.node.CreationTimestamp.Time
	at := p.reachedAt(reached)
	onAnother := p.createdAt.Before(made) && at.Before(made) && !at.IsZero()
	return p.has(reached) && !onAnother
}

func (f *nodeFacts) says(other facts) bool {
	o, ok := other.(*nodeFacts)
	return ok && maps.Equal(f.conditions, o.conditions) && f.node.UID == o.node.UID && maps.Equal(f.node.Labels, o.node.Labels) &&
		reflect.DeepEqual(f.node.Spec.Taints, o.node.Spec.Taints)
}

func (f *nodeFacts) as(e event) event {
	e.node = f
	return e
}

func (f *nodeFacts) stamped() time.Time { return f.stamp }
