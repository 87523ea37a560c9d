package deploymentcoordination

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	v1 "example.com/podsequence/apis/apps/v1"
)

// surroundings is what there is in a namespace. Its objects belong to the cache: read only.
type surroundings struct {
	coordinations []v1.DeploymentCoordination // sorted by name
	deployments   []appsv1.Deployment         // sorted by name, without those that are being deleted
}

// concern reports whether there is anything for us to do.
func (s surroundings) concern() bool {
	return len(s.coordinations) > 0 ||
		slices.ContainsFunc(s.deployments, func(d appsv1.Deployment) bool { return marked(&d) != "" })
}
