package controlplane

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

const labelPoll = 20 * time.Millisecond

// labelPolicies change pods with the label of a sequence: the first of them in the default installation, the other in lite mode.
var labelPolicies = []string{"routing.podsequence.example.com", "gating.podsequence.example.com"}

// waitForLabel returns when new pods with the label of a sequence are held, if the installation has a policy for it: the API server
// evaluates a policy only some time after it was created.
func waitForLabel(ctx context.Context, client kubernetes.Interface) error {
	installed := false
	for _, name := range labelPolicies {
		_, err := client.AdmissionregistrationV1().MutatingAdmissionPolicies().Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) { // as it is too where no such policies are served
			return fmt.Errorf("look for policy %s: %w", name, err)
		}
		installed = installed || err == nil
	}
	if !installed {
		return nil
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "probe", Namespace: metav1.NamespaceDefault, Labels: map[string]string{v1alpha1.SequenceLabel: "probe"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "probe", Image: "example.com/probe"}}},
	}
	err := wait.PollUntilContextTimeout(ctx, labelPoll, startTimeout, true, func(ctx context.Context) (bool, error) {
		admitted, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return false, err
		}
		return admitted.Spec.SchedulerName != corev1.DefaultSchedulerName || len(admitted.Spec.SchedulingGates) > 0, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the policy of label %s: %w", v1alpha1.SequenceLabel, err)
	}
	return nil
}
