package world

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// workloadImage is on every real node: the program cmd/sandbox/workload.
const workloadImage = "localhost/podsequence/workload:1"

// NoRealNode is the merge patch that takes from a real node all that a world may have given to it.
func NoRealNode() []byte {
	return []byte(encode(object{"metadata": object{"labels": object{SeedLabel: nil, zoneLabel: nil}}, "spec": object{"unschedulable": nil}}))
}

// makeRunnable makes a container do on a real node what annotations say to simulated ones. It does not crash there: the kubelet's
// back-off would outlast the world. Boots of real nodes restart it.
func makeRunnable(kind string, annotations map[string]string, spec *corev1.PodSpec) {
	c := &spec.Containers[0]
	c.Image, c.ImagePullPolicy = workloadImage, corev1.PullIfNotPresent
	switch fails := annotations[failAfter]; {
	case fails != "":
		spec.RestartPolicy = corev1.RestartPolicyNever
		c.Args = []string{"-exit-after", fails, "-code", "1", "exit"}
	case kind == "Job":
		c.Args = []string{"-exit-after", "2s", "exit"}
	default:
		c.Args = []string{"-ready-after", annotations[readyAfter], "serve"}
		c.ReadinessProbe = &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)}},
			PeriodSeconds: 1,
		}
	}
	spec.AutomountServiceAccountToken = ptr.To(false)
}
