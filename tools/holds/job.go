package holds

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// JobIsFinished reports whether a Job has completed or failed. It creates no more pods.
func JobIsFinished(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

// JobCreatesPods reports whether a Job has yet to create pods, even if none of those that it has fails.
func JobCreatesPods(job *batchv1.Job) bool {
	switch done := job.Status.Succeeded; {
	case JobIsFinished(job):
		return false
	case ptr.Deref(job.Spec.Suspend, false):
		return true
	case job.Spec.Completions != nil:
		return *job.Spec.Completions > done+job.Status.Active
	default: // a work queue: once a pod has succeeded, there is no work for another
		return done == 0 && ptr.Deref(job.Spec.Parallelism, 1) > job.Status.Active
	}
}
