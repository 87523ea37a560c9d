package inventory

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Node has the facts of a node.
type Node struct {
	Name            string
	ResourceVersion string
	Object          *corev1.Node // with nothing but what decides who may run there
	Allocatable     Resources    // what it offers; nil if it has not said yet
}

// ViewNode reads the facts of a node.
func ViewNode(object *corev1.Node) Node {
	return Node{
		Name: object.Name, ResourceVersion: object.ResourceVersion, Allocatable: ResourcesOf(object.Status.Allocatable),
		Object: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: object.Name, UID: object.UID, Labels: object.Labels, CreationTimestamp: object.CreationTimestamp,
			},
			Spec: corev1.NodeSpec{Taints: object.Spec.Taints, Unschedulable: object.Spec.Unschedulable},
		},
	}
}

// Same reports whether another version of the node differs in nothing that matters. Most updates of nodes are heartbeats.
func (n *Node) Same(other *Node) bool {
	was, is := n.Object, other.Object
	return was.UID == is.UID && maps.Equal(was.Labels, is.Labels) && was.Spec.Unschedulable == is.Spec.Unschedulable &&
		equality.Semantic.DeepEqual(was.Spec.Taints, is.Spec.Taints) && n.Allocatable.Equal(other.Allocatable)
}

// Hostname returns the host name of the node; empty if it has none.
func (n *Node) Hostname() string { return n.Object.Labels[corev1.LabelHostname] }
