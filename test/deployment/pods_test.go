package deployment

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/cluster"
)

// An API server takes any Deployment; only its pods are judged. The sandbox has none of them, so they are tried here.
func TestTheNamespaceTakesThePodsOfOurDeployments(t *testing.T) {
	s := newSite(t)
	cluster.Await(s, "the quota to count", func() bool {
		return len(get(s, &corev1.ResourceQuota{}, systemNamespace, "podsequence-critical-pods").Status.Hard) > 0
	})
	for _, program := range []string{"podsequence-scheduler", "podsequence-controller"} {
		s.Run(program, func(t *testing.T) {
			s := s.in(t)
			deployment := get(s, &appsv1.Deployment{}, systemNamespace, program)
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: program, Labels: deployment.Spec.Template.Labels},
				Spec:       deployment.Spec.Template.Spec,
			}
			require.NoError(s, s.cluster.API.Create(s.Context(), pod.DeepCopy(), client.DryRunAll))

			pod.Spec.Containers[0].SecurityContext.Capabilities = nil
			err := s.cluster.API.Create(s.Context(), pod, client.DryRunAll)
			assert.ErrorContains(s, err, `violates PodSecurity "restricted:latest": unrestricted capabilities`)
		})
	}
}

// A probe or Service of a port that the program does not serve at would only show in a cluster that runs containers.
func TestPortsAreThoseThatTheProgramsServeAtByDefault(t *testing.T) {
	s := newSite(t)
	for program, want := range map[string]map[string]int32{
		"podsequence-scheduler":  {"metrics": 10259, "health": 8081},
		"podsequence-controller": {"metrics": 8443, "health": 8081},
	} {
		container := get(s, &appsv1.Deployment{}, systemNamespace, program).Spec.Template.Spec.Containers[0]
		got := map[string]int32{}
		for _, port := range container.Ports {
			got[port.Name] = port.ContainerPort
		}
		assert.Equal(s, want, got, program)
		for _, arg := range container.Args {
			if strings.Contains(arg, "-address") {
				// Kubelets probe the pod's address, of whichever family.
				assert.Equal(s, fmt.Sprintf("--health-probe-bind-address=[$(POD_IP)]:%d", want["health"]), arg, program)
			}
		}
		assert.Equal(s, "status.podIP", environment(container)["POD_IP"].ValueFrom.FieldRef.FieldPath, program)
		service := get(s, &corev1.Service{}, systemNamespace, program+"-metrics")
		assert.Equal(s, want["metrics"], service.Spec.Ports[0].Port, program)
	}
}

// Clusters that limit who may have this priority class take pods of it only where a quota says so. The cluster of these
// tests is one.
func TestACriticalPodIsRefusedWhereThereIsNoQuotaForIt(t *testing.T) {
	s := newSite(t)
	pod := ourPod(newNamespace(s), "critical").Obj()
	pod.Spec.PriorityClassName = "system-cluster-critical"
	err := s.cluster.API.Create(s.Context(), pod, client.DryRunAll)
	assert.ErrorContains(s, err, "insufficient quota to match these scopes")
}

// A program that meets its limit without knowing of it is killed, again and again.
func TestProgramsKnowTheirMemoryLimits(t *testing.T) {
	s := newSite(t)
	for _, program := range []string{"podsequence-scheduler", "podsequence-controller"} {
		container := get(s, &appsv1.Deployment{}, systemNamespace, program).Spec.Template.Spec.Containers[0]
		limit := container.Resources.Limits.Memory().Value()
		soft, isMebibytes := strings.CutSuffix(environment(container)["GOMEMLIMIT"].Value, "MiB")
		require.True(s, isMebibytes, program)
		mebibytes, err := strconv.Atoi(soft)
		require.NoError(s, err)
		assert.InDelta(s, 0.9, float64(mebibytes<<20)/float64(limit), 0.01, "%s: GOMEMLIMIT as a part of the memory limit", program)
		assert.Less(s, container.Resources.Requests.Memory().Value(), limit, program)
		assert.NotContains(s, container.Resources.Limits, corev1.ResourceCPU, "%s would be slowed down when it has most to do", program)
	}
}

func TestPodsRunOnLinuxOfAnyProcessor(t *testing.T) {
	s := newSite(t)
	for _, program := range []string{"podsequence-scheduler", "podsequence-controller"} {
		pod := get(s, &appsv1.Deployment{}, systemNamespace, program).Spec.Template.Spec
		assert.Equal(s, map[string]string{corev1.LabelOSStable: "linux"}, pod.NodeSelector, program)
		assert.Nil(s, pod.Affinity, program)
	}
}

func environment(container corev1.Container) map[string]corev1.EnvVar {
	variables := map[string]corev1.EnvVar{}
	for _, variable := range container.Env {
		variables[variable.Name] = variable
	}
	return variables
}
