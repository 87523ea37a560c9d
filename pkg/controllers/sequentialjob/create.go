package sequentialjob

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/printable"
)

// refusedBefore is the obstacle that the object's status tells of.
func refusedBefore(w world) *obstacle {
	message := strings.TrimPrefix(w.object.Status.Message, progressOf(w).step()+": ")
	return &obstacle{reason: v1alpha1.ReasonJobCreateFailed, message: message}
}

// attemptCost is how many small writes it costs to ask for a Job that is refused: the request, the read before it, the status
// and the event.
const attemptCost = 4

// maxPostponed is how soon a postponed object is looked at again: the API server may accept Jobs by then.
const maxPostponed = 5 * time.Second

// errPostponed is the error of a pass that has to wait for others.
var errPostponed = errors.New("the API server refuses Jobs of the namespace: waiting to ask for the next")

// mayAttempt returns errPostponed if it is too early to ask for a Job that was not refused yet, in a namespace where the API server
// has just refused another: it probably refuses this one, too, and all that follows is that status says so.
func (r *reconciler) mayAttempt(w world, d decision) error {
	key := client.ObjectKeyFromObject(w.object)
	if d.write != createJob || isRefused(w.object.Status) || !r.refusals.refuses(key.Namespace) {
		r.attempts.Forget(key)
		return nil
	}
	if !r.attempts.Turn(key, attemptCost) {
		return errPostponed
	}
	return nil
}

// create creates the Job of the current step, and puts it, or what stands in its way, into the world.
func (r *reconciler) create(ctx context.Context, w *world, deadline jobDeadline) error {
	if err := r.checkSteps(ctx, w); err != nil || w.obstacle != nil {
		return err
	}
	index, object := progressOf(*w).current, client.ObjectKeyFromObject(w.object)
	job := newJob(w.object, index, deadline)
	err := r.createJob(ctx, w, job, index)
	switch {
	case err == nil:
		r.refusals.created(object)
		r.checked.forget(object)
		w.jobs[index] = job
		observePause(w.jobs[index-1], r.clock.Now())
		return nil
	case apierrors.IsAlreadyExists(err):
		return r.lookAt(ctx, w, index, client.ObjectKeyFromObject(job))
	}
	return r.refused(ctx, w, job, err)
}

// refused puts into the world that the API server refuses the Job of the current step, if it does.
func (r *reconciler) refused(ctx context.Context, w *world, job *batchv1.Job, err error) error {
	object := client.ObjectKeyFromObject(w.object)
	switch {
	case isFieldError(err):
		w.obstacle = &obstacle{reason: v1alpha1.ReasonInvalidSpec, message: printable.Note(err.Error()), final: true}
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return errStale
	case isAnswer(err): // of a quota, an admission policy, a webhook that is down: all of that may change
		klog.FromContext(ctx).V(2).Info("The API server refuses a Job, will retry", "job", klog.KObj(job), "err", err)
		r.mayBeAcceptedLater(w, fmt.Sprintf("the API server refuses Job %s, will retry: %v", job.Name, err))
		return nil
	}
	if isRefused(w.object.Status) {
		r.refusals.failed(object) // it must not keep the others from trying
	}
	return fmt.Errorf("create Job: %w", err)
}

// mayBeAcceptedLater puts into the world that the API server refuses a Job for now.
func (r *reconciler) mayBeAcceptedLater(w *world, message string) {
	r.refusals.failed(client.ObjectKeyFromObject(w.object))
	countWriteError("jobs")
	w.obstacle = &obstacle{reason: v1alpha1.ReasonJobCreateFailed, message: printable.Note(message)}
}

// isAnswer reports whether the API server itself answered.
func isAnswer(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer)
}

// isFieldError reports whether the API server itself found fields of the Job to be wrong, which no retry changes.
// Admission policies answer with the same reason, but name no field. What webhooks answer is their own choice; the API
// server puts before it whose answer it is.
func isFieldError(err error) bool {
	if isUnknownField(err) {
		return true
	}
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || !apierrors.IsInvalid(err) {
		return false
	}
	status := answer.Status()
	if strings.HasPrefix(status.Message, "admission webhook ") || status.Details == nil || len(status.Details.Causes) == 0 {
		return false
	}
	return !slices.ContainsFunc(status.Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "" })
}

// lookAt finds out whose the Job is that has the name ours must have. The cache may be behind, and a conflict is final:
// so it asks the API server.
func (r *reconciler) lookAt(ctx context.Context, w *world, index int32, key types.NamespacedName) error {
	job := &batchv1.Job{}
	if err := r.live.Get(ctx, key, job); err != nil {
		return fmt.Errorf("get Job that exists already: %w", err) // it may just have gone: try again
	}
	owner := metav1.GetControllerOfNoCopy(job)
	switch {
	case isOurs(w.object, job):
		w.jobs[index] = job // created by a pass that came to an end before it could say so
	// Nobody but the object itself can have its name now, so that owner is gone, and the garbage collector comes.
	case owner != nil && isOurKind(owner) && owner.Name == w.object.Name, job.DeletionTimestamp != nil:
		w.obstacle = &obstacle{
			reason: v1alpha1.ReasonWaitingForOld, message: fmt.Sprintf("an earlier Job %s is still being deleted", job.Name),
		}
	default:
		w.obstacle = &obstacle{
			reason:  v1alpha1.ReasonJobNameConflict,
			message: fmt.Sprintf("a Job %s exists that does not belong to this SequentialJob, and is left alone: give one of the two another name", job.Name),
			final:   true,
		}
	}
	return nil
}
