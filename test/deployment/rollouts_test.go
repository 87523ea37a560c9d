package deployment

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsapi "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/test/harness/cluster"
)

// rollOutInTurn rolls out two Deployments one after the other.
func rollOutInTurn(s *site, namespace string) {
	s.Helper()
	labels := map[string]string{"app": "proxy"}
	coordination := &appsapi.DeploymentCoordination{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "proxies"}}
	coordination.Spec.MinReadySeconds = 1
	coordination.Spec.LabelSelector = &appsapi.LabelSelector{MatchLabels: map[string]appsapi.LabelValue{"app": "proxy"}}
	create(s, coordination)
	for _, name := range []string{"proxy-a", "proxy-b"} {
		create(s, deployment(namespace, name, labels))
	}
	cluster.Await(s, "both to have rolled out", func() bool {
		status := get(s, coordination, namespace, "proxies").Status
		return len(status.Deployments) == 2 && meta.IsStatusConditionTrue(status.Conditions, appsapi.ConditionReady)
	})
}

func deployment(namespace, name string, labels map[string]string) *appsv1.Deployment {
	selector := map[string]string{"proxy": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selector},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "proxy", Image: "example.com/proxy"}}},
			},
		},
	}
}
