package ordercheck

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// namespaceFacts are what the rule asks of a namespace. They never change once recorded.
type namespaceFacts struct {
	stamp time.Time
	name  string
	// allows is the list of namespaces whose sequences may hold its pods, as it is written.
	allows string
	labels labels.Set
	going  bool // it is being deleted, and with it all that is in it
	// required reports that pods of our scheduler require a sequence there.
	required bool
}

func factsOfNamespace(namespace *corev1.Namespace) facts {
	return &namespaceFacts{
		stamp: newestStamp(namespace), name: namespace.Name,
		allows: namespace.Annotations[v1alpha1.AllowSequencesFromAnnotation], labels: namespace.Labels,
		going:    namespace.DeletionTimestamp != nil,
		required: namespace.Annotations[v1alpha1.RequireSequenceAnnotation] == v1alpha1.RequireSequence,
	}
}

func (f *namespaceFacts) says(other facts) bool {
	o, ok := other.(*namespaceFacts)
	return ok && f.allows == o.allows && f.going == o.going && f.required == o.required && maps.Equal(f.labels, o.labels)
}

func (f *namespaceFacts) as(e event) event {
	e.home = f
	return e
}

func (f *namespaceFacts) stamped() time.Time { return f.stamp }
