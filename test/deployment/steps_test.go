package deployment

import (
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// runSteps runs three SequentialJobs: one into its deadline, one whose step's Job is deleted by hand, and one that runs again
// after it failed. It removes them all when they have ended.
func runSteps(s *site, namespace string) {
	s.Helper()
	steps := func(name string) *batchv1alpha1.SequentialJob {
		return &batchv1alpha1.SequentialJob{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: batchv1alpha1.SequentialJobSpec{
				Containers:              []corev1.Container{{Name: "step", Image: "example.com/step"}},
				TTLSecondsAfterFinished: ptr.To[int32](1),
			},
		}
	}
	late := steps("late")
	late.Spec.ActiveDeadlineSeconds = ptr.To[int64](2)
	create(s, late)
	create(s, steps("broken"))
	again := steps("again")
	again.Spec.TTLSecondsAfterFinished, again.Spec.BackoffLimit = nil, ptr.To[int32](0)
	again.Finalizers = []string{batchv1alpha1.FormerFinalizer}
	again.Spec.Template.Annotations = map[string]string{cluster.FailAfter: "0s"}
	create(s, again)

	job := &batchv1.Job{}
	cluster.Await(s, "the step to have its Job", func() bool {
		return s.cluster.API.Get(s.Context(), types.NamespacedName{Namespace: namespace, Name: "broken-0"}, job) == nil && job.Status.Active > 0
	})
	require.NoError(s, s.cluster.API.Delete(s.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	awaitFailed := func(retry string) {
		cluster.Await(s, "again to fail", func() bool {
			err := s.cluster.API.Get(s.Context(), client.ObjectKeyFromObject(again), again)
			return err == nil && again.Status.Phase == batchv1alpha1.PhaseFailed && again.Status.Retry == retry
		})
	}
	patch := func(content string) {
		require.NoError(s, s.cluster.API.Patch(s.Context(), again, client.RawPatch(types.MergePatchType, []byte(content))))
	}
	awaitFailed("")
	patch(`{"metadata":{"annotations":{"batch.example.com/retry":"1"}}}`)
	awaitFailed("1")
	patch(`{"spec":{"ttlSecondsAfterFinished":1}}`)
	for _, name := range []string{"late", "broken", "again"} {
		cluster.Await(s, name+" to have ended and to be removed", func() bool {
			err := s.cluster.API.Get(s.Context(), types.NamespacedName{Namespace: namespace, Name: name}, &batchv1alpha1.SequentialJob{})
			return apierrors.IsNotFound(err)
		})
	}
}
