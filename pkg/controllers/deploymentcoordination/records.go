package deploymentcoordination

import (
	"k8s.io/apimachinery/pkg/types"

	v1 "example.com/podsequence/apis/apps/v1"
)

// records are what is on record of Deployments, by their UID. A Deployment that was deleted and made again under the same
// name is another one.
type records map[types.UID]*v1.DeploymentState

func recordsOf(status *v1.DeploymentCoordinationStatus) records {
	all := make(records, len(status.DeploymentStates))
	all.add(status.DeploymentStates)
	return all
}

func (r records) add(states []v1.DeploymentState) {
	for i := range states {
		r[states[i].UID] = &states[i]
	}
}
