package sequentialjob

import (
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// lateStart is how much later than the whole a Job's own deadline may be. It is later by as much as the Job controller
// takes to start the Job, and that is not worth a write.
const lateStart = 10 * time.Second

// endOf is when activeDeadlineSeconds are over; nil while their time does not run.
func endOf(spec *v1alpha1.SequentialJobSpec, status v1alpha1.SequentialJobStatus) *time.Time {
	if spec.ActiveDeadlineSeconds == nil || status.StartTime == nil {
		return nil
	}
	left := *spec.ActiveDeadlineSeconds - status.UsedSeconds
	return ptr.To(status.StartTime.Add(time.Duration(left) * time.Second))
}

// startOf is when the Job controller started the Job, or last resumed it; nil while that is not known.
func startOf(job *batchv1.Job) *metav1.Time {
	if job == nil || isSuspended(job) || conditionOf(job, batchv1.JobSuspended) != nil {
		return nil
	}
	return job.Status.StartTime
}

// jobDeadline is the deadline that a Job has of its own: what is left of that of the whole. So it holds while nothing runs
// this controller. The annotation has the same number, so that a deadline that a policy of the cluster gave the Job, or
// somebody changed, is left alone.
type jobDeadline struct{ seconds *int64 }

// deadlineFrom is the deadline of a Job that is started then.
func deadlineFrom(start time.Time, end *time.Time) jobDeadline {
	if end == nil {
		return jobDeadline{}
	}
	left := end.Sub(start)
	seconds := int64(left / time.Second)
	if left%time.Second > 0 {
		seconds++ // it must not end before the whole does
	}
	return jobDeadline{ptr.To(max(1, seconds))}
}

// deadlineOnHold is the deadline of a Job that somebody else is to resume.
func deadlineOnHold(spec *v1alpha1.SequentialJobSpec, status v1alpha1.SequentialJobStatus) jobDeadline {
	if spec.ActiveDeadlineSeconds == nil {
		return jobDeadline{}
	}
	return jobDeadline{ptr.To(max(1, *spec.ActiveDeadlineSeconds-status.UsedSeconds))}
}

// annotation is the value of the annotation, or nil for none.
func (d jobDeadline) annotation() *string {
	if d.seconds == nil {
		return nil
	}
	return ptr.To(strconv.FormatInt(*d.seconds, 10))
}

// isOursToSet reports whether the Job has the deadline that we gave it, or none.
func isOursToSet(job *batchv1.Job) bool {
	set, marked := job.Annotations[v1alpha1.AnnotationDeadline]
	if job.Spec.ActiveDeadlineSeconds == nil {
		return !marked
	}
	return set == strconv.FormatInt(*job.Spec.ActiveDeadlineSeconds, 10)
}

// hasOurDeadline reports whether the Job fails by the deadline of the whole.
func hasOurDeadline(job *batchv1.Job) bool {
	return isStopped(job) || (job.Spec.ActiveDeadlineSeconds != nil && isOursToSet(job))
}

// isNeededOnHold reports whether a Job that is on hold must have that deadline in place of its own.
func (d jobDeadline) isNeededOnHold(job *batchv1.Job) bool {
	return isOursToSet(job) && !isStopped(job) && !ptr.Equal(job.Spec.ActiveDeadlineSeconds, d.seconds)
}

// isNeeded reports whether a Job that runs must have that deadline in place of its own, because that of the whole was
// changed, or the Job was suspended meanwhile, or was started late.
func (d jobDeadline) isNeeded(job *batchv1.Job) bool {
	has := job.Spec.ActiveDeadlineSeconds
	switch {
	case isStopped(job) || !isOursToSet(job):
		return false
	case has == nil || d.seconds == nil:
		return has != d.seconds
	}
	return *has < *d.seconds || *has > *d.seconds+int64(lateStart/time.Second)
}
