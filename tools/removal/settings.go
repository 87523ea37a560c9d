package removal

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/podsequence/tools/programflags"
)

// ControllerFlag returns the values that Deployments of podsequence-controller among the manifests give one of its flags, such as
// "--scheduler-names". A Deployment without the flag has the defaults. What lists none, as in lite mode, adds nothing. The cluster's own
// scheduler is left out, for another takes its place.
func ControllerFlag(manifests []*unstructured.Unstructured, flag string, defaults []string) []string {
	var all []string
	for _, manifest := range ofKinds(manifests, deploymentKind) {
		labels := manifest.GetLabels()
		if labels["app.kubernetes.io/name"] != "podsequence" || labels["app.kubernetes.io/component"] != "controller" {
			continue
		}
		deployment := &appsv1.Deployment{}
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(manifest.Object, deployment) // what no API server accepts has no flags
		values, given := programflags.Values(deployment, flag)
		if !given {
			values = defaults
		}
		for _, value := range values {
			if value != corev1.DefaultSchedulerName && !slices.Contains(all, value) {
				all = append(all, value)
			}
		}
	}
	if len(all) == 0 {
		return defaults
	}
	return all
}
