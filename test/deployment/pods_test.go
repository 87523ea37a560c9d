package deployment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An API server takes any Deployment; only its pods are judged. The sandbox has none of them, so they are tried here.
func TestTheNamespaceTakesThePodsOfOurDeployments(t *testing.T) {
	for _, program := range []string{"podsequence-scheduler", "podsequence-controller"} {
		t.Run(program, func(t *testing.T) {
			deployment := get(t, &appsv1.Deployment{}, systemNamespace, program)
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: program, Labels: deployment.Spec.Template.Labels},
				Spec:       deployment.Spec.Template.Spec,
			}
			require.NoError(t, api.Create(t.Context(), pod.DeepCopy(), client.DryRunAll))

			pod.Spec.Containers[0].SecurityContext.Capabilities = nil
			err := api.Create(t.Context(), pod, client.DryRunAll)
			assert.ErrorContains(t, err, `violates PodSecurity "restricted:latest": unrestricted capabilities`)
		})
	}
}

// A probe or Service of a port that the program does not serve at would only show in a cluster that runs containers.
func TestPortsAreThoseThatTheProgramsServeAtByDefault(t *testing.T) {
	for program, want := range map[string]map[string]int32{
		"podsequence-scheduler":  {"metrics": 10259, "health": 8081},
		"podsequence-controller": {"metrics": 8443, "health": 8081},
	} {
		container := get(t, &appsv1.Deployment{}, systemNamespace, program).Spec.Template.Spec.Containers[0]
		got := map[string]int32{}
		for _, port := range container.Ports {
			got[port.Name] = port.ContainerPort
		}
		assert.Equal(t, want, got, program)
		for _, arg := range container.Args {
			assert.NotContains(t, arg, "-address", "%s serves at its default addresses", program)
		}
		service := get(t, &corev1.Service{}, systemNamespace, program+"-metrics")
		assert.Equal(t, want["metrics"], service.Spec.Ports[0].Port, program)
	}
}
