package sequentialjob

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/census"
	"example.com/podsequence/internal/telemetry"
)

var (
	jobsByPhase  = telemetry.SequentialJob.GaugeVec("sequentialjobs", "SequentialJobs, by phase.", "phase")
	stepDuration = telemetry.SequentialJob.Histogram("sequentialjob_step_seconds",
		"Seconds that completed Jobs of steps took, from the times in their status.", telemetry.Durations)
	stepPause = telemetry.SequentialJob.Histogram("sequentialjob_step_pause_seconds",
		"Seconds from when the Job of a step completed until the next Job was created. Times of the API server are whole seconds.",
		prometheus.ExponentialBuckets(0.1, 2, 14))
	writeErrors = telemetry.SequentialJob.CounterVec("sequentialjob_write_errors_total",
		"Failed writes of the SequentialJob controller, by resource (jobs, status). It retries them. A conflict with another writer is "+
			"not counted.", "resource")
	failedByReason = telemetry.SequentialJob.GaugeVec("failed_sequentialjobs",
		"SequentialJobs that have failed, by reason. They stay so until somebody retries or deletes them.", "reason")

	phases     = census.New[types.NamespacedName](jobsByPhase)
	failedJobs = census.New[types.NamespacedName](failedByReason)
)

// count updates the metrics with the status of a SequentialJob.
func count(key types.NamespacedName, status *v1alpha1.SequentialJobStatus) {
	phases.Set(key, census.One(string(status.Phase)))
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionFailed); c != nil && c.Status == metav1.ConditionTrue {
		failedJobs.Set(key, census.One(c.Reason))
		countProblem(key, 1)
	} else {
		failedJobs.Forget(key)
		countProblem(key, 0)
	}
}

// forgetCounted removes a SequentialJob from the metrics.
func forgetCounted(key types.NamespacedName) {
	phases.Forget(key)
	failedJobs.Forget(key)
	countProblem(key, 0)
}

func countProblem(key types.NamespacedName, count int) {
	census.Problems.Set("SequentialJob", key.Namespace, key.Name, count)
}

// countWriteError counts a failed write for a SequentialJob.
func countWriteError(resource string) { writeErrors.WithLabelValues(resource).Inc() }

// observeSteps measures the steps that are completed by a status that the one before did not say so of.
func observeSteps(w world, before, after v1alpha1.SequentialJobStatus) {
	for _, i := range after.Progress.CompletedIndices {
		if job := w.jobs[i]; job != nil && !isCompleted(before, i) && job.Status.StartTime != nil && job.Status.CompletionTime != nil {
			stepDuration.Observe(max(0, job.Status.CompletionTime.Sub(job.Status.StartTime.Time).Seconds()))
		}
	}
}

// observePause measures how long the step waited after the Job of the one before; nil if there is none.
func observePause(before *batchv1.Job, now time.Time) {
	if before != nil && before.Status.CompletionTime != nil {
		stepPause.Observe(max(0, now.Sub(before.Status.CompletionTime.Time).Seconds()))
	}
}
