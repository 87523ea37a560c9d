package readiness

import (
	appsv1 "k8s.io/api/apps/v1"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"

	"example.com/podsequence/pkg/sequence/inventory"
)

// NewestReplicaSet returns the UID of the ReplicaSet that has the Deployment's template, by Kubernetes' own rule; empty if
// there is none yet. It is the revision of the pods that count.
func NewestReplicaSet(deployment *inventory.Workload, sets []*appsv1.ReplicaSet) string {
	newest := deploymentutil.FindNewReplicaSet(deployment.Object.(*appsv1.Deployment), sets)
	if newest == nil {
		return ""
	}
	return string(newest.UID)
}
