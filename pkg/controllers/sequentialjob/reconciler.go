package sequentialjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/fairqueue"
	"example.com/podsequence/internal/podtrouble"
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

// queueOf returns what makes the queue, which serves namespaces in turn, and by which refusals wake objects.
func (r *reconciler) queueOf() func(string, workqueue.TypedRateLimiter[reconcile.Request]) queue {
	inTurn := fairqueue.By(func(request reconcile.Request) string { return request.Namespace })
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) queue {
		q := inTurn(name, limiter)
		r.refusals = newRefusals(r.clock, func(key types.NamespacedName, after time.Duration) {
			q.AddAfter(reconcile.Request{NamespacedName: key}, after)
		})
		return q
	}
}

// jobIsGone lets refused Jobs of the namespace be tried again: a quota that counts Jobs may have room now.
func (r *reconciler) jobIsGone(_ context.Context, e ctrlevent.DeleteEvent, _ queue) {
	r.refusals.retryNow(e.Object.GetNamespace())
}

// concernedBy is the object that a Job matters to: the one that controls it, or one whose step must have its name. The
// owner is taken by its name and not by its UID, since an object may wait for the Jobs of its predecessor to go.
func (r *reconciler) concernedBy(ctx context.Context, job client.Object) []reconcile.Request {
	if owner := metav1.GetControllerOfNoCopy(job); owner != nil && isOurKind(owner) {
		return requestFor(job.GetNamespace(), owner.Name)
	}
	base, _, ok := cutJobName(job.GetName())
	switch {
	case !ok:
		return nil
	case len(base) < maxBase:
		return requestFor(job.GetNamespace(), base) // it does no harm if there is none
	}
	objects := &unstructured.UnstructuredList{}
	objects.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("SequentialJobList"))
	if err := r.cache.List(ctx, objects, client.InNamespace(job.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot tell which SequentialJob a Job matters to", "job", klog.KObj(job))
		return nil
	}
	for i := range objects.Items {
		if name := objects.Items[i].GetName(); baseName(name) == base {
			return requestFor(job.GetNamespace(), name)
		}
	}
	return nil
}

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

// checkSteps asks the API server by dry run, before the first step starts, whether it would create the Jobs of all steps: a mistake in a
// later step must not be found when the steps before have done their work. What it finds becomes the obstacle of the first step.
//
// A full quota refuses the first step as well, so what a later one alone is refused for is in that step. Nothing needs to be recorded,
// since a Job of a step shows that all steps were checked.
func (r *reconciler) checkSteps(ctx context.Context, w *world) error {
	p := progressOf(*w)
	if p.current > 0 || p.steps == 1 || r.checked.has(w.object) {
		return nil
	}
	for index := range p.steps {
		job := newJob(w.object, index, jobDeadline{})
		err := r.createJob(ctx, w, job, index, client.DryRunAll)
		switch {
		case err == nil, apierrors.IsAlreadyExists(err): // whose Job that is may have changed when it is the turn of the step
		case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "dry run"):
			klog.FromContext(ctx).V(2).Info("A webhook supports no dry run, so steps cannot be checked before they start", "err", err)
			r.checked.remember(w.object)
			return nil
		case index == 0:
			return r.refused(ctx, w, job, err)
		case isFieldError(err):
			w.obstacle = &obstacle{reason: v1alpha1.ReasonInvalidSpec, step: &index, final: true, message: printable.Note(fmt.Sprintf(
				"no step was started, because the Job of this one is wrong (delete the SequentialJob and create it corrected): %v", err))}
			return nil
		case isAnswer(err):
			r.mayBeAcceptedLater(w, fmt.Sprintf("waits, because the API server would refuse Job %s of %s, will retry: %v",
				job.Name, p.at(w.object, index).step(), err))
			return nil
		default:
			return fmt.Errorf("create Job by dry run: %w", err)
		}
	}
	r.checked.remember(w.object)
	return nil
}

// gather learns what is known of an object and its Jobs. known is false if there is no such object.
func (r *reconciler) gather(ctx context.Context, key types.NamespacedName) (w world, known bool, err error) {
	stored := newUnstructured()
	if err := r.cache.Get(ctx, key, stored); apierrors.IsNotFound(err) {
		return world{}, false, nil
	} else if err != nil {
		return world{}, false, fmt.Errorf("get SequentialJob: %w", err)
	}
	w = world{stored: stored.Object, now: r.clock.Now(), jobs: map[int32]*batchv1.Job{}}
	w.object, w.unreadable = decode(stored)

	var jobs batchv1.JobList
	// Nothing here changes a Job, so the cache's own objects do.
	err = r.cache.List(ctx, &jobs, client.InNamespace(key.Namespace), client.MatchingFields{ownerIndex: string(w.object.UID)},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return world{}, false, fmt.Errorf("list Jobs: %w", err)
	}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if base, index, ok := cutJobName(job.Name); ok && base == baseName(key.Name) {
			w.jobs[index] = job
		}
	}
	return w, true, r.findMissing(ctx, w)
}

// findMissing asks the API server for the Job of the current step if the cache does not have it although it was created:
// it may be too new for the cache, and that would look as if somebody had deleted it.
func (r *reconciler) findMissing(ctx context.Context, w world) error {
	p := progressOf(w)
	if p.current == p.steps || p.job != nil || p.discarded != nil {
		return nil
	}
	finished := w.object.Status.CompletionTime != nil
	if wasStarted := p.wasStarted(w.object.Status); (finished || !wasStarted) && !isRetryAsked(w.object) {
		return nil
	}
	job := &batchv1.Job{}
	key := types.NamespacedName{Namespace: w.object.Namespace, Name: jobName(w.object.Name, p.current)}
	switch err := r.live.Get(ctx, key, job); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("get Job: %w", err)
	case isOurs(w.object, job):
		w.jobs[p.current] = job
	}
	return nil
}

// createJob creates the Job of a step. Fields of its pods that this program does not know go to the API server as they are stored: it may
// be newer. What the API server does not know either is a mistake, such as a misspelled name, and it says so.
func (r *reconciler) createJob(ctx context.Context, w *world, job *batchv1.Job, index int32, options ...client.CreateOption) error {
	whole, err := withUnknownFields(job, w.stored, index)
	if err != nil {
		return err
	}
	if whole == nil {
		return r.writer.Create(ctx, job, options...)
	}
	strict := client.WithFieldValidation(r.writer, metav1.FieldValidationStrict)
	if err := strict.Create(ctx, whole, options...); err != nil {
		return err
	}
	*job = batchv1.Job{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(whole.Object, job); err != nil {
		return fmt.Errorf("decode created Job: %w", err)
	}
	return nil
}

// concernedByPod is the object whose step a pod belongs to.
func (r *reconciler) concernedByPod(ctx context.Context, pod *corev1.Pod) []reconcile.Request {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "Job" {
		return nil
	}
	return r.concernedBy(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: owner.Name}})
}

// listen finds out what the pods of the current step say. Why it says nothing is of no interest to the steps themselves.
func (r *reconciler) listen(ctx context.Context, w *world) {
	p := progressOf(*w)
	if p.job == nil || w.object.Status.CompletionTime != nil || w.object.DeletionTimestamp != nil {
		r.notes.forget(client.ObjectKeyFromObject(w.object))
		return
	}
	pods := corev1.PodList{}
	err := r.pods.List(ctx, &pods, client.InNamespace(w.object.Namespace), client.MatchingFields{ownJobIndex: string(p.job.UID)}, client.UnsafeDisableDeepCopy)
	if err == nil && failureOf(p.job) != nil {
		// It is over, so this is the last word, and the cache may be behind.
		err = r.live.List(ctx, &pods, client.InNamespace(w.object.Namespace), client.Limit(mostPods), client.MatchingLabels{
			v1alpha1.LabelName: baseName(w.object.Name), v1alpha1.LabelStepIndex: strconv.Itoa(int(p.current)),
		})
		for i := range pods.Items {
			pods.Items[i].Status.Message = podtrouble.Of(&pods.Items[i])
		}
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot find out what the pods of a step say")
		return
	}
	newest := newestOf(pods.Items, p.job.UID)
	heard, again := wordOf(p.job, newest, w.now)
	note := r.notes.take(client.ObjectKeyFromObject(w.object), p.job.UID, heard, newest != nil || heard != word{}, w.now)
	w.heard, w.heardLast, w.hearAgain = note.said, note.heard.text, note.due()
	if !again.IsZero() && (w.hearAgain.IsZero() || again.Before(w.hearAgain)) {
		w.hearAgain = again
	}
}
