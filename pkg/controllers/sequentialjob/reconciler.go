package sequentialjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/printable"
	"example.com/podsequence/internal/stale"
	"example.com/podsequence/internal/statusbudget"
	"example.com/podsequence/internal/takeover"
)

// maxWrites is how many writes to a Job one pass makes at most. One is the rule; two it takes when a Job that we find in
// place of creating it must be changed as well. More are made only if somebody undoes them.
const maxWrites = 2

var (
	// errStale ends a pass that began with an old copy of the object. The watch brings the newer one.
	errStale = errors.New("the SequentialJob has changed or is gone")
	// errWriteUndone makes the reconciler repeat the pass later.
	errWriteUndone = errors.New("somebody undid at once what was written to a Job")
)

// reconciler runs SequentialJobs.
type reconciler struct {
	cache    client.Reader
	pods     client.Reader // those of steps, see stripPod
	notes    *notes
	live     client.Reader // asks the API server itself
	writer   client.Client
	recorder events.EventRecorder
	clock    clock.PassiveClock
	written  *written
	checked  *checked
	former   *takeover.Finalizers
	refusals *refusals
	// attempts bounds how often the API server is asked for Jobs in namespaces where it refuses them.
	attempts statusbudget.Turns
}

// Reconcile takes one SequentialJob as far as it can go now.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	w, known, err := r.gather(ctx, request.NamespacedName)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case !known:
		r.written.forget(request.NamespacedName)
		r.checked.forget(request.NamespacedName)
		r.former.Forget(request.NamespacedName)
		r.refusals.done(request.NamespacedName)
		r.attempts.Forget(request.NamespacedName)
		r.notes.forget(request.NamespacedName)
		forgetCounted(request.NamespacedName)
		return reconcile.Result{}, nil
	case r.written.isOlder(w.object):
		return reconcile.Result{}, nil // the watch brings what was written
	}
	// Of an object that cannot be decoded there is only a part here: the patch has the finalizers alone.
	isDone, left := r.former.Remove(ctx, r.writer, w.object)
	if isDone {
		return reconcile.Result{}, nil
	}
	if left != nil {
		left = fmt.Errorf("the object cannot be deleted: %w", left)
	}
	result, err := r.advance(ctx, request, w)
	return result, errors.Join(err, left)
}

// advance takes the object as far as it can go now.
func (r *reconciler) advance(ctx context.Context, request reconcile.Request, w world) (reconcile.Result, error) {
	r.listen(ctx, &w)
	d, err := r.decideAndApply(ctx, w)
	if !w.hearAgain.IsZero() && (d.wake.IsZero() || w.hearAgain.Before(d.wake)) {
		d.wake = w.hearAgain
	}
	if errors.Is(err, errPostponed) {
		return reconcile.Result{RequeueAfter: maxPostponed}, nil
	}
	if refused := (*refusedChange)(nil); errors.As(err, &refused) {
		countWriteError("jobs")
		r.refusals.done(request.NamespacedName)
		if failed := r.report(ctx, w.object, d.status); failed != nil && !errors.Is(failed, errStale) {
			return reconcile.Result{}, errors.Join(err, failed)
		}
		return reconcile.Result{}, err
	}
	if err == nil {
		// One that is being deleted keeps its status, and asks for no Job any more.
		if !isRefused(d.status) || w.object.DeletionTimestamp != nil {
			r.refusals.done(request.NamespacedName)
		}
		err = r.report(ctx, w.object, d.status)
		if err == nil {
			count(request.NamespacedName, &d.status)
			observeSteps(w, w.object.Status, d.status)
		}
	}
	switch {
	case errors.Is(err, errStale):
		klog.FromContext(ctx).V(4).Info("Read an old copy, will go on with the newer one")
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, err
	case d.wake.IsZero():
		return reconcile.Result{}, nil
	}
	// A moment that has passed since is no reason to forget about it.
	return reconcile.Result{RequeueAfter: max(d.wake.Sub(r.clock.Now()), 1)}, nil
}

// decideAndApply makes the writes that are decided on, until there are none. The refusal of a write that may be accepted
// later is reported in status; if it is of a Job that is there, it is an error as well.
func (r *reconciler) decideAndApply(ctx context.Context, w world) (d decision, err error) {
	for range maxWrites {
		if d = decide(w); d.write == nothing {
			return d, nil
		}
		if d.write == createJob && !r.refusals.mayTry(client.ObjectKeyFromObject(w.object), isRefused(w.object.Status)) {
			w.obstacle = refusedBefore(w)
			continue
		}
		if err := r.mayAttempt(w, d); err != nil {
			return decision{}, err
		}
		if err := r.confirm(ctx, w.object); err != nil {
			return decision{}, err
		}
		switch d.write {
		case deleteObject:
			return decision{status: w.object.Status}, r.delete(ctx, w.object)
		case deleteJob:
			err = r.deleteJob(ctx, w)
		case createJob:
			err = r.create(ctx, &w, d.deadline)
		case suspendJob:
			err = r.patch(ctx, w, suspendPatch)
		case resumeJob:
			err = r.patch(ctx, w, func(job *batchv1.Job) patch { return resumePatch(job, d.deadline) })
		case limitJob:
			err = r.patch(ctx, w, func(job *batchv1.Job) patch { return limitPatch(job, d.deadline) })
		case stopJob:
			err = r.patch(ctx, w, stopPatch)
		}
		if refused := (*refusedChange)(nil); errors.As(err, &refused) {
			return decision{status: changeRefused(w, d, refused)}, err
		}
		if err != nil {
			return decision{}, err
		}
	}
	if d = decide(w); d.write != nothing {
		return decision{}, errWriteUndone
	}
	return d, nil
}

// confirm returns errStale if the object is not what the API server has. A step that was deleted by hand would be run
// again if it was decided on from a copy that does not say yet that it was started.
func (r *reconciler) confirm(ctx context.Context, object *v1alpha1.SequentialJob) error {
	current := &metav1.PartialObjectMetadata{}
	current.SetGroupVersionKind(v1alpha1.SequentialJobKind)
	switch err := r.live.Get(ctx, client.ObjectKeyFromObject(object), current); {
	case apierrors.IsNotFound(err):
		return errStale
	case err != nil:
		return fmt.Errorf("get current version of SequentialJob: %w", err)
	case current.UID != object.UID || current.ResourceVersion != object.ResourceVersion:
		return errStale
	}
	return nil
}

// patch changes the Job of the current step, and updates the world accordingly.
func (r *reconciler) patch(ctx context.Context, w world, change func(*batchv1.Job) patch) error {
	p := progressOf(w)
	content, err := json.Marshal(change(p.job))
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: p.job.Namespace, Name: p.job.Name}}
	err = r.writer.Patch(ctx, job, client.RawPatch(types.MergePatchType, content))
	if apierrors.IsNotFound(err) || stale.IsConflict(err) {
		return errStale // it was deleted, has changed, or another has its name: that brings us back
	}
	if err != nil {
		return changeError("patch Job", err)
	}
	w.jobs[p.current] = job
	return nil
}

// deleteJob removes the discarded Job, its pods first: the next one is created when the Job is gone. The delete is
// conditional on the Job's version: one that has completed meanwhile counts, and its step must not run again.
func (r *reconciler) deleteJob(ctx context.Context, w world) error {
	p := progressOf(w)
	job := p.discarded.DeepCopy()
	err := r.writer.Delete(ctx, job, client.Preconditions{UID: ptr.To(job.UID), ResourceVersion: ptr.To(job.ResourceVersion)},
		client.PropagationPolicy(metav1.DeletePropagationForeground))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return errStale // it is gone or has changed: that brings us back
	}
	if err != nil {
		return changeError("delete Job", err)
	}
	job.DeletionTimestamp = w.seconds()
	w.jobs[p.current] = job
	return nil
}

// delete removes the object, its Jobs first, if it is still as we saw it: the time to live may have been prolonged.
func (r *reconciler) delete(ctx context.Context, object *v1alpha1.SequentialJob) error {
	err := r.writer.Delete(ctx, object,
		client.Preconditions{UID: ptr.To(object.UID), ResourceVersion: ptr.To(object.ResourceVersion)},
		client.PropagationPolicy(metav1.DeletePropagationForeground))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return errStale
	}
	if err != nil {
		return fmt.Errorf("delete SequentialJob: %w", err)
	}
	return nil
}

// report replaces the status if it is not right, on condition that the object is still the version it was worked out
// from, and then tells what is new in it.
func (r *reconciler) report(ctx context.Context, object *v1alpha1.SequentialJob, status v1alpha1.SequentialJobStatus) error {
	before := object.Status
	if equality.Semantic.DeepEqual(before, status) {
		return nil
	}
	object = object.DeepCopy()
	object.Status = status
	err := r.writer.Status().Update(ctx, object)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return errStale
	}
	if apierrors.IsInvalid(err) {
		// Rules that cannot even be evaluated keep all of the object from being written, its status too.
		r.recorder.Eventf(object, nil, corev1.EventTypeWarning, v1alpha1.ReasonInvalidSpec, actionObserve, "%s", printable.Note(status.Message))
	}
	if err != nil {
		countWriteError("status")
		return fmt.Errorf("update status: %w", err)
	}
	r.written.remember(object)
	for _, e := range eventsFor(object, before, status) {
		// Events that differ only in their notes are taken for one that happens again: the Job tells them apart.
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: jobName(object.Name, e.index)}}
		r.recorder.Eventf(object, job, e.kind, e.reason, e.action, "%s", e.note)
	}
	return nil
}
