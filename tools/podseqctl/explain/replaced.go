package explain

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/internal/podtrouble"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/tools/podseqctl/text"
)

// splitReplaced parts pods into those that count and those that failed and that their controllers replace. kubelet leaves pods that it
// rejected, or evicted, beside their replacements.
func splitReplaced(pods []*corev1.Pod) (present, replaced []*corev1.Pod) {
	for _, pod := range pods {
		if inventory.IsReplaced(pod) {
			replaced = append(replaced, pod)
		} else {
			present = append(present, pod)
		}
	}
	return present, replaced
}

// replaced says why the newest of the pods that failed did, for its replacement may fail in the same way. It says nothing of none.
func (e *Explainer) replaced(pods []*corev1.Pod) []Reason {
	if len(pods) == 0 {
		return nil
	}
	newest := slices.MaxFunc(pods, func(a, b *corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	r := Reason{Subject: e.name("pod", newest), State: Waiting, Message: fmt.Sprintf("failed%s; %s", podtrouble.Failure(newest), e.replacedBy(newest))}
	if more := len(pods) - 1; more > 0 {
		r.Message += fmt.Sprintf("; %s failed before it", text.Count(more, "more pod"))
	}
	return []Reason{r}
}

// replacedBy says what the controller of a pod that failed does.
func (e *Explainer) replacedBy(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if job, ok := e.Snapshot.Workload(inventory.KindJob, pod.Namespace, owner.Name).(*batchv1.Job); ok && owner.Kind == string(inventory.KindJob) {
		if c := jobFailed(job); c != nil {
			return fmt.Sprintf("Job %s has failed (%s) and creates no more pods", owner.Name, c.Reason)
		}
	}
	return fmt.Sprintf("%s %s replaces it", owner.Kind, owner.Name)
}

// jobFailed returns the condition that says that a Job failed; nil if it did not.
func jobFailed(job *batchv1.Job) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if c := &job.Status.Conditions[i]; c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}
