package sequentialjob

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// noon is the time of all tests.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 500e6, time.UTC)

func seconds(after int) *metav1.Time {
	return ptr.To(metav1.NewTime(noon.Truncate(time.Second).Add(time.Duration(after) * time.Second)))
}

// worldWrapper builds a world.
type worldWrapper struct{ world }

// makeWorld begins the world of an object of that many steps, of which nothing has been done.
func makeWorld(steps int) *worldWrapper {
	object := &v1alpha1.SequentialJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "etl", UID: types.UID("etl-uid"), Generation: 1},
	}
	for i := range steps {
		object.Spec.Containers = append(object.Spec.Containers, corev1.Container{
			Name: fmt.Sprintf("step-%d", i), Image: "example.com/step",
		})
	}
	return &worldWrapper{world{object: object, jobs: map[int32]*batchv1.Job{}, now: noon}}
}

// at is a status that has noted that a step was started.
func (w *worldWrapper) at(index int32) *worldWrapper {
	status := &w.object.Status
	status.Phase, status.StartTime = v1alpha1.PhaseRunning, seconds(-60)
	status.State.Active = 1
	status.Progress.CurrentIndex = ptr.To(index)
	for i := range index {
		status.Progress.CompletedIndices = append(status.Progress.CompletedIndices, i)
	}
	return w
}

func (w *worldWrapper) spec(change func(*v1alpha1.SequentialJobSpec)) *worldWrapper {
	change(&w.object.Spec)
	return w
}

func (w *worldWrapper) status(change func(*v1alpha1.SequentialJobStatus)) *worldWrapper {
	change(&w.object.Status)
	return w
}

// job puts the Job of a step into the world.
func (w *worldWrapper) job(index int32, changes ...func(*batchv1.Job)) *worldWrapper {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: jobName("etl", index), UID: types.UID(fmt.Sprintf("job-%d", index))}}
	for _, change := range changes {
		change(job)
	}
	w.jobs[index] = job
	return w
}

// restored gives the object the label of Velero.
func (w *worldWrapper) restored() *worldWrapper {
	w.object.Labels = map[string]string{v1alpha1.LabelRestored: "tuesday"}
	return w
}

// progressing is a status whose condition Progressing has the reason.
func (w *worldWrapper) progressing(reason string) *worldWrapper {
	meta.SetStatusCondition(&w.object.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionProgressing, Status: "False", Reason: reason})
	return w
}

func (w *worldWrapper) obstructed(o obstacle) *worldWrapper {
	w.obstacle = &o
	return w
}

func complete(job *batchv1.Job) {
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
}

// allPodsSucceeded is short of complete: the Job controller has yet to say so.
func allPodsSucceeded(job *batchv1.Job) {
	job.Status.Succeeded = 1
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue}}
}

func failedFor(reason string) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Status.Conditions = []batchv1.JobCondition{{
			Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: reason, Message: "it failed",
		}}
	}
}

func stopped(job *batchv1.Job)     { job.Spec.ActiveDeadlineSeconds = ptr.To[int64](0) }
func terminating(job *batchv1.Job) { job.DeletionTimestamp = seconds(0) }

// suspendedByOther is a Job that the Job controller has seen to be suspended.
func suspendedByOther(job *batchv1.Job) {
	job.Spec.Suspend = ptr.To(true)
	job.Status.Conditions = []batchv1.JobCondition{{
		Type: batchv1.JobSuspended, Status: corev1.ConditionTrue, LastTransitionTime: *seconds(-20),
	}}
}

// createdSuspended is a Job that a webhook suspended as it was created.
func createdSuspended(job *batchv1.Job) { job.Generation, job.Spec.Suspend = 1, ptr.To(true) }

// resumedAt is a Job that was suspended before.
func resumedAt(at *metav1.Time) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Status.StartTime = at
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse}}
	}
}

func active(job *batchv1.Job) { job.Status.Active = 1 }

// attemptsFailed is a Job of which so many attempts have failed.
func attemptsFailed(failed, limit int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Status.Failed, job.Spec.BackoffLimit = failed, &limit }
}

// podsEnd is a Job whose pods are being deleted.
func podsEnd(job *batchv1.Job) { job.Status.Terminating = ptr.To[int32](1) }

// limitedTo is a Job that has a deadline from us.
func limitedTo(seconds int64) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Spec.ActiveDeadlineSeconds = &seconds
		job.Annotations = map[string]string{v1alpha1.AnnotationDeadline: fmt.Sprint(seconds)}
	}
}

func startedAt(at *metav1.Time) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Status.StartTime = at }
}
func suspendedByUs(job *batchv1.Job) {
	suspendedByOther(job)
	job.Annotations = map[string]string{v1alpha1.AnnotationSuspended: "true"}
}

func suspend(spec *v1alpha1.SequentialJobSpec) { spec.Suspend = true }

func deadline(seconds int64) func(*v1alpha1.SequentialJobSpec) {
	return func(spec *v1alpha1.SequentialJobSpec) { spec.ActiveDeadlineSeconds = &seconds }
}

func timeToLive(seconds int32) func(*v1alpha1.SequentialJobSpec) {
	return func(spec *v1alpha1.SequentialJobSpec) { spec.TTLSecondsAfterFinished = &seconds }
}

func finishedAt(at *metav1.Time) func(*v1alpha1.SequentialJobStatus) {
	return func(status *v1alpha1.SequentialJobStatus) {
		status.Phase, status.CompletionTime = v1alpha1.PhaseSucceeded, at
	}
}

func (w *worldWrapper) deleted() *worldWrapper {
	w.object.DeletionTimestamp = seconds(0)
	return w
}

func (w *worldWrapper) undecodable(why string) *worldWrapper {
	w.unreadable = why
	return w
}

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name)}
}

func keyOf(object metav1.ObjectMeta) types.NamespacedName {
	return types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
}
