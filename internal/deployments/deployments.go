// Package deployments has the rules by which Kubernetes' Deployment controller judges a rollout, those of
// k8s.io/kubernetes/pkg/controller/deployment/util of 1.37.1. That package would link the validation of the API server into each program.
package deployments

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
)

// Reasons of the condition Progressing.
const (
	NewReplicaSetAvailable   = "NewReplicaSetAvailable"
	ProgressDeadlineExceeded = "ProgressDeadlineExceeded"
)

// NewestReplicaSet returns the ReplicaSet that has the template of the Deployment, the oldest if there are several, as the controller does
// after it was upgraded; nil if none has.
func NewestReplicaSet(deployment *appsv1.Deployment, sets []*appsv1.ReplicaSet) *appsv1.ReplicaSet {
	var newest *appsv1.ReplicaSet
	for _, set := range sets {
		if (newest == nil || isOlder(set, newest)) && haveSameTemplate(&set.Spec.Template, &deployment.Spec.Template) {
			newest = set
		}
	}
	return newest
}

func isOlder(a, b *appsv1.ReplicaSet) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// haveSameTemplate compares templates but for the hash that the controller adds.
func haveSameTemplate(a, b *corev1.PodTemplateSpec) bool {
	bare := func(template corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
		template.Labels = maps.Clone(template.Labels)
		delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		return &template
	}
	return apiequality.Semantic.DeepEqual(bare(*a), bare(*b))
}

// IsComplete reports whether all replicas have the present template and are available.
func IsComplete(d *appsv1.Deployment) bool {
	replicas := ptr.Deref(d.Spec.Replicas, 1)
	return d.Status.UpdatedReplicas == replicas && d.Status.Replicas == replicas && d.Status.AvailableReplicas == replicas &&
		d.Status.ObservedGeneration >= d.Generation
}

// Condition returns a condition of the Deployment; nil if it has none of the type.
func Condition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range d.Status.Conditions {
		if c := &d.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}
