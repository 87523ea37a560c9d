package controlplane_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "example.com/app"}}}
}

func createPod(
	ctx context.Context, t *testing.T, client kubernetes.Interface, name string, annotations map[string]string,
) *corev1.Pod {
	t.Helper()
	pod, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec:       podSpec(),
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return pod
}

func annotate(ctx context.Context, t *testing.T, client kubernetes.Interface, pod *corev1.Pod, key, value string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	require.NoError(t, err)
	_, err = client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
}

// waitForPod watches a pod until the condition holds, and returns it as it was then.
func waitForPod(
	ctx context.Context, t *testing.T, client kubernetes.Interface, pod *corev1.Pod, done func(*corev1.Pod) bool,
) *corev1.Pod {
	t.Helper()
	event, err := watchtools.UntilWithSync(ctx, podNamed(client, pod), &corev1.Pod{}, nil,
		func(event watch.Event) (bool, error) {
			return done(event.Object.(*corev1.Pod)), nil
		})
	require.NoError(t, err)
	return event.Object.(*corev1.Pod)
}

func podNamed(client kubernetes.Interface, pod *corev1.Pod) cache.ListerWatcher {
	return cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", pod.Namespace,
		fields.OneTermEqualSelector(metav1.ObjectNameField, pod.Name))
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return corev1.PodCondition{}
}

func isReady(pod *corev1.Pod) bool {
	return condition(pod, corev1.PodReady).Status == corev1.ConditionTrue
}

// restarts is how often the pod's first container was started again.
func restarts(pod *corev1.Pod) int32 {
	if len(pod.Status.ContainerStatuses) == 0 {
		return 0
	}
	return pod.Status.ContainerStatuses[0].RestartCount
}

func isRunning(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func assertTerminated(t *testing.T, pod *corev1.Pod, wantCode int32) {
	t.Helper()
	assert.False(t, isReady(pod))
	terminated := pod.Status.ContainerStatuses[0].State.Terminated
	require.NotNil(t, terminated)
	assert.Equal(t, wantCode, terminated.ExitCode)
	assert.False(t, terminated.FinishedAt.Before(&terminated.StartedAt))
	assert.Nil(t, pod.Status.ContainerStatuses[0].State.Running)
}

// commandLine is that of a running process; zombies have none.
func commandLine(pid int) string {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(content)
}
