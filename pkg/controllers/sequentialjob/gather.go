package sequentialjob

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// ownerIndex finds the Jobs that an object controls by its UID.
const ownerIndex = "metadata.controllerUID"

func indexOwner(object client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil && isOurKind(owner) {
		return []string{string(owner.UID)}
	}
	return nil
}

// isOurKind reports whether an owner is a SequentialJob.
func isOurKind(owner *metav1.OwnerReference) bool {
	return owner.APIVersion == v1alpha1.GroupVersion.String() && owner.Kind == v1alpha1.SequentialJobKind.Kind
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

func newUnstructured() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.SequentialJobKind)
	return object
}

// decode makes a SequentialJob of what is stored. One that cannot be decoded, because it was stored when the definition
// allowed more, keeps its name, its status and its steps, as far as they can be; the watch that brought it carries on.
func decode(stored *unstructured.Unstructured) (object *v1alpha1.SequentialJob, unreadable string) {
	convert := runtime.DefaultUnstructuredConverter.FromUnstructured
	object = &v1alpha1.SequentialJob{}
	err := convert(stored.Object, object)
	if err == nil {
		return object, ""
	}
	// Metadata is the API server's, so it can be decoded; a status that cannot is worked out anew.
	readable := map[string]any{"metadata": stored.Object["metadata"]}
	try := func(field string, value any) {
		readable[field] = value
		if convert(readable, &v1alpha1.SequentialJob{}) != nil {
			delete(readable, field)
		}
	}
	try("status", stored.Object["status"])
	if containers, ok, _ := unstructured.NestedFieldNoCopy(stored.Object, "spec", "containers"); ok {
		try("spec", map[string]any{"containers": containers})
	}
	object = &v1alpha1.SequentialJob{}
	_ = convert(readable, object) // it was tried
	return object, fmt.Sprintf("the object cannot be decoded: %v", err)
}
