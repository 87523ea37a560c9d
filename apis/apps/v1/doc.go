// Package v1 is the apps.containerinfra.nl API: DeploymentCoordination, which has Deployments roll out one at a time.
//
// +kubebuilder:object:generate=true
// +groupName=apps.containerinfra.nl
package v1
