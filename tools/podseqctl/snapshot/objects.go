package snapshot

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/podsequence/internal/podgroups"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
)

// Objects are what the API server said when it was asked.
type Objects struct {
	Sequences  []*Sequence
	Namespaces []*corev1.Namespace
	Nodes      []*corev1.Node
	Pods       []*corev1.Pod
	Workloads  map[inventory.Kind][]metav1.Object
	PodGroups  []PodGroup
	// PriorityClasses are those of files. Of a cluster its pods say what priority they have.
	PriorityClasses []*schedulingv1.PriorityClass
	// Quotas are read for lint only.
	Quotas []*corev1.ResourceQuota
	// Events are the warnings about pods and workloads.
	Events []*corev1.Event

	// NamespacesRead reports whether Namespaces has all namespaces.
	NamespacesRead bool
	// NodesRead reports whether Nodes has all nodes that sequences ask for, and AllNodes whether it has all nodes that there are.
	NodesRead, AllNodes bool
	// Complete are the namespaces of which all pods and workloads were read.
	Complete map[string]bool
	// Unread says what may not be read, a line each.
	Unread []string
	// Denied holds the errors of lists that the API server refused, by namespace and what was listed, such as "pods" or
	// "Deployments".
	Denied map[[2]string]error
	// NotInstalled says which kinds of sequences the API server does not serve, a line each.
	NotInstalled []string
}

// deny notes that the API server refused a list.
func (o *Objects) deny(namespace, what string, err error) {
	if o.Denied == nil {
		o.Denied = map[[2]string]error{}
	}
	o.Denied[[2]string{namespace, what}] = err
}

// PodGroup is one of either kind and how many pods it asks for.
type PodGroup struct {
	Reference podgroups.Reference
	Minimum   int
}

// unread notes what could not be read. It is said once.
func (o *Objects) unread(format string, args ...any) {
	line := strings.TrimSpace(fmt.Sprintf(format, args...))
	for _, said := range o.Unread {
		if said == line {
			return
		}
	}
	o.Unread = append(o.Unread, line)
}

// NamespacesNamed returns all namespaces that sequences, workloads and pods name.
func (o *Objects) NamespacesNamed() []string {
	var names []string
	for _, s := range o.Sequences {
		byName, _ := s.namespacesByName()
		names = append(names, byName...)
	}
	for _, pod := range o.Pods {
		names = append(names, pod.Namespace)
	}
	for _, objects := range o.Workloads {
		for _, object := range objects {
			names = append(names, object.GetNamespace())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// DeniedNamespace returns the first namespace of which the API server refused a list; empty if there is none.
func (o *Objects) DeniedNamespace() string {
	first := ""
	for key := range o.Denied {
		if namespace := key[0]; first == "" || namespace < first {
			first = namespace
		}
	}
	return first
}

// targets returns the namespaces of a sequence's pods, as far as namespaces may be read.
func (o *Objects) targets(of *Sequence, config sequence.Config) []string {
	names, _ := of.namespacesByName()
	for _, group := range of.Spec.PodGroups {
		if group.NamespaceSelector == nil {
			continue
		}
		selector, err := order.Selector(group.NamespaceSelector)
		if err != nil {
			continue
		}
		for _, namespace := range o.Namespaces {
			if config.IsSelectable(namespace.Name) && selector.Matches(labels.Set(namespace.Labels)) {
				names = append(names, namespace.Name)
			}
		}
	}
	return names
}
