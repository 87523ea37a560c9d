package sequentialjob

import (
	"context"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/printable"
)

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

// checked are the objects all of whose steps the API server would accept, and that have yet to start the first. A process that has just
// started remembers nothing, and asks again.
type checked struct {
	lock    sync.Mutex
	objects map[types.NamespacedName]version
}

// version is what was checked of an object.
type version struct {
	uid        types.UID
	generation int64
}

func newChecked() *checked { return &checked{objects: map[types.NamespacedName]version{}} }

func (c *checked) has(object *v1alpha1.SequentialJob) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.objects[client.ObjectKeyFromObject(object)] == version{object.UID, object.Generation}
}

func (c *checked) remember(object *v1alpha1.SequentialJob) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.objects[client.ObjectKeyFromObject(object)] = version{object.UID, object.Generation}
}

func (c *checked) forget(key types.NamespacedName) {
	c.lock.Lock()
	defer c.lock.Unlock()
	delete(c.objects, key)
}
