package sequentialjob

import (
	"maps"
	"math"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// newJob is the Job of a step that is started now. Labels and annotations of the template go to the Job too, where queueing systems look for
// theirs.
func newJob(object *v1alpha1.SequentialJob, index int32, deadline jobDeadline) *batchv1.Job {
	template := object.Spec.Template.DeepCopy()
	labels := with(template.Labels, map[string]string{
		v1alpha1.LabelName:      baseName(object.Name),
		v1alpha1.LabelStepIndex: strconv.Itoa(int(index)),
	})
	annotations := maps.Clone(template.Annotations)
	for _, own := range []string{v1alpha1.AnnotationSuspended, v1alpha1.AnnotationDeadline} {
		delete(annotations, own)
	}
	jobAnnotations := maps.Clone(annotations)
	if value := deadline.annotation(); value != nil {
		jobAnnotations = with(annotations, map[string]string{v1alpha1.AnnotationDeadline: *value})
	}

	pod := template.Spec
	pod.Containers = []corev1.Container{containerOf(object, index)}
	if pod.RestartPolicy == "" {
		pod.RestartPolicy = corev1.RestartPolicyNever
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       object.Namespace,
			Name:            jobName(object.Name, index),
			Labels:          labels,
			Annotations:     jobAnnotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(object, v1alpha1.SequentialJobKind)},
		},
		Spec: batchv1.JobSpec{
			ActiveDeadlineSeconds: deadline.seconds,

			BackoffLimit:     ptr.To(ptr.Deref(object.Spec.BackoffLimit, v1alpha1.DefaultBackoffLimit)),
			PodFailurePolicy: podFailurePolicy(&object.Spec, object.Spec.Containers[index].Name),
			// A pod that ends slowly still works: the next one waits for it.
			PodReplacementPolicy: ptr.To(batchv1.Failed),
			// Policies of the cluster give Jobs without a time to live one of their own. A completed Job must not be gone
			// before its completion is in status; the object's own time to live takes the Jobs with it.
			TTLSecondsAfterFinished: ptr.To[int32](math.MaxInt32),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels: maps.Clone(labels), Annotations: maps.Clone(annotations), Finalizers: template.Finalizers,
				},
				Spec: pod,
			},
		},
	}
}

// containerOf is the container of a step. Args without a command are for a shell: SequentialJobs have always meant that.
func containerOf(object *v1alpha1.SequentialJob, index int32) corev1.Container {
	container := *object.Spec.Containers[index].DeepCopy()
	if len(container.Command) == 0 && len(container.Args) > 0 {
		container.Command = []string{"sh", "-c"}
	}
	return container
}

// with returns a copy of the first map with what is in the second.
func with(some, more map[string]string) map[string]string {
	both := make(map[string]string, len(some)+len(more))
	maps.Copy(both, some)
	maps.Copy(both, more)
	return both
}

// isOurs reports whether the object controls the Job. One that an earlier object of the same name left is not ours.
func isOurs(object *v1alpha1.SequentialJob, job *batchv1.Job) bool {
	return metav1.IsControlledBy(job, object)
}

// isComplete reports whether the Job has succeeded. That all its pods have is not enough.
func isComplete(job *batchv1.Job) bool {
	return conditionOf(job, batchv1.JobComplete) != nil
}

// failureOf is the condition that says that the Job has failed, or nil.
func failureOf(job *batchv1.Job) *batchv1.JobCondition {
	return conditionOf(job, batchv1.JobFailed)
}

// conditionOf is a condition of the Job if it is true.
func conditionOf(job *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if c := &job.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

func isSuspended(job *batchv1.Job) bool { return ptr.Deref(job.Spec.Suspend, false) }

// isMarkedSuspended reports whether we suspended the Job, so that it is for us to resume it. If it is not suspended any
// more, somebody else has resumed it.
func isMarkedSuspended(job *batchv1.Job) bool {
	_, marked := job.Annotations[v1alpha1.AnnotationSuspended]
	return marked
}

// isQuiet reports whether a suspended Job has no pod that works. The Job controller has seen that it is suspended, or
// the Job was created so and has never been anything else.
func isQuiet(job *batchv1.Job) bool {
	if conditionOf(job, batchv1.JobSuspended) == nil {
		return job.Generation == 1
	}
	return job.Status.Active == 0 && ptr.Deref(job.Status.Terminating, 0) == 0
}

// isStopped reports whether the Job was told to end, see stopPatch.
func isStopped(job *batchv1.Job) bool {
	return job.Spec.ActiveDeadlineSeconds != nil && *job.Spec.ActiveDeadlineSeconds == 0
}

// patch is a merge patch for one Job and no later one of the same name.
type patch struct {
	Metadata patchMetadata  `json:"metadata"`
	Spec     map[string]any `json:"spec"`
}

type patchMetadata struct {
	UID             string             `json:"uid"`
	ResourceVersion string             `json:"resourceVersion,omitempty"`
	Annotations     map[string]*string `json:"annotations,omitempty"`
}

// suspendPatch is conditional on the Job's version: what somebody else suspends at the same time is not for us to resume.
func suspendPatch(job *batchv1.Job) patch {
	return patch{
		Metadata: patchMetadata{
			UID: string(job.UID), ResourceVersion: job.ResourceVersion,
			Annotations: map[string]*string{v1alpha1.AnnotationSuspended: ptr.To("true")},
		},
		Spec: map[string]any{"suspend": true},
	}
}

// resumePatch is conditional on the Job's version: somebody else may suspend it at the same time.
func resumePatch(job *batchv1.Job, deadline jobDeadline) patch {
	p := patch{
		Metadata: patchMetadata{
			UID: string(job.UID), ResourceVersion: job.ResourceVersion,
			Annotations: map[string]*string{v1alpha1.AnnotationSuspended: nil},
		},
		Spec: map[string]any{"suspend": false},
	}
	if isOursToSet(job) {
		p.limit(deadline)
	}
	return p
}

// limitPatch is conditional on the Job's version: a deadline that somebody else sets at the same time is left alone.
func limitPatch(job *batchv1.Job, deadline jobDeadline) patch {
	p := patch{
		Metadata: patchMetadata{UID: string(job.UID), ResourceVersion: job.ResourceVersion, Annotations: map[string]*string{}},
		Spec:     map[string]any{},
	}
	p.limit(deadline)
	return p
}

func (p *patch) limit(deadline jobDeadline) {
	p.Metadata.Annotations[v1alpha1.AnnotationDeadline] = deadline.annotation()
	p.Spec["activeDeadlineSeconds"] = deadline.seconds
}

// stopPatch returns a patch that makes the Job controller treat the Job as any Job whose deadline is over: it ends the pods and
// marks the Job Failed with the reason DeadlineExceeded. The Job stays, so that people can look at it.
func stopPatch(job *batchv1.Job) patch {
	return patch{
		Metadata: patchMetadata{UID: string(job.UID)},
		Spec:     map[string]any{"activeDeadlineSeconds": 0},
	}
}
