package integration

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// KWOK plays the kubelets, but it is not as stubborn. After a request that was refused it waits up to many minutes; one
// that broke off it does not repeat; and of many pods that are bound while it starts it forgets some. What a test of faults
// is about is not whether KWOK gets over them.

// restartKubelets ends KWOK's waits.
func (s *story) restartKubelets() {
	s.Helper()
	s.Restart(controlplane.Kwok)
}

// kubeletPatience is how long a pod may stay as it is although it is bound, and to be ready soon.
const kubeletPatience = 5 * time.Second

// wakeKubelets changes an annotation of pods that KWOK seems to have forgotten, so that it looks at them again.
func (s *story) wakeKubelets() error {
	var pods corev1.PodList
	if err := s.API.List(s.Ctx, &pods, client.InNamespace(s.Namespace)); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Spec.NodeName == "" || pod.Annotations[cluster.ReadyAfter] == "never" || cluster.IsReady(pod) || time.Since(newestMove(pod)) < kubeletPatience {
			continue
		}
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, wokenAt, time.Now().Format(time.RFC3339))
		if err := s.API.Patch(s.Ctx, pod, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			return err
		}
	}
	return nil
}

const wokenAt = "test.example.com/woken-at"

// newestMove is when something last happened to the pod, as far as it says.
func newestMove(pod *corev1.Pod) time.Time {
	newest := pod.CreationTimestamp.Time
	for _, c := range pod.Status.Conditions {
		if c.LastTransitionTime.After(newest) {
			newest = c.LastTransitionTime.Time
		}
	}
	if woken, err := time.Parse(time.RFC3339, pod.Annotations[wokenAt]); err == nil && woken.After(newest) {
		newest = woken
	}
	return newest
}
