package deploymentcoordination

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "example.com/podsequence/apis/apps/v1"
)

// reconciler does for one coordination at a time what Decide says. Not more than one at a time, for those that overlap
// must know of each other's decisions.
type reconciler struct {
	cached   client.Reader
	live     client.Reader
	writer   client.Client
	recorder events.EventRecorder
	clock    clock.PassiveClock
	written  written
	holder   Holder // nil if there are no PodSequences
}

// Reconcile decides anew. When what it decided from turns out to be old - a write conflicts - it leaves it at that: the
// event that brings the newer object leads back here.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := r.reconcile(ctx, request)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		klog.FromContext(ctx).V(4).Info("Something has changed meanwhile, will decide anew", "err", err)
		return reconcile.Result{}, nil
	}
	return result, err
}

func (r *reconciler) reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	around, err := r.surroundings(ctx, request.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	if r.lags(around) {
		return reconcile.Result{}, nil
	}
	if err := r.release(ctx, request.Name, around); err != nil {
		return reconcile.Result{}, err
	}
	coordination := &v1.DeploymentCoordination{}
	if err := r.cached.Get(ctx, request.NamespacedName, coordination); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.setFinalizer(ctx, coordination); err != nil || coordination.DeletionTimestamp != nil {
		return reconcile.Result{}, err
	}
	selector, err := asSelector(&coordination.Spec.LabelSelector)
	if err != nil {
		return reconcile.Result{}, r.reject(ctx, coordination, err)
	}
	in, err := r.gather(ctx, claim{coordination, selector}, around)
	if err != nil {
		return reconcile.Result{}, err
	}
	decision := Decide(in)
	if err := r.apply(ctx, in, decision); err != nil {
		return reconcile.Result{}, err
	}
	if decision.Again.IsZero() {
		return reconcile.Result{}, nil
	}
	// Zero would mean never.
	return reconcile.Result{RequeueAfter: max(decision.Again.Sub(r.clock.Now()), time.Nanosecond)}, nil
}

// lags tells whether some object is not yet in the cache as we wrote it.
func (r *reconciler) lags(around surroundings) bool {
	for i := range around.coordinations {
		if r.written.lags(&around.coordinations[i]) {
			return true
		}
	}
	for i := range around.deployments {
		if r.written.lags(&around.deployments[i]) {
			return true
		}
	}
	return false
}

// release unpauses what the coordination of this name paused and no coordination matches any more: it may have been
// deleted, even without its finalizer, or it or the Deployment may have other labels now. What another one matches is for
// that to unpause in its turn.
func (r *reconciler) release(ctx context.Context, name string, around surroundings) error {
	all := claims(around.coordinations)
	for i := range around.deployments {
		d := &around.deployments[i]
		if marked(d) != name || handlerOf(d, all) != "" {
			continue
		}
		if err := r.setPaused(ctx, d, false, ""); err != nil {
			return err
		}
		r.tellReleased(d)
	}
	return nil
}

// setFinalizer puts our finalizer on a coordination, or takes it off one that is being deleted and has released all.
func (r *reconciler) setFinalizer(ctx context.Context, c *v1.DeploymentCoordination) error {
	before := c.DeepCopy()
	changed := false
	if c.DeletionTimestamp == nil {
		changed = controllerutil.AddFinalizer(c, v1.Finalizer)
	} else {
		changed = controllerutil.RemoveFinalizer(c, v1.Finalizer)
	}
	if !changed {
		return nil
	}
	if err := r.writer.Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("set finalizer: %w", err)
	}
	r.written.note(c)
	return nil
}

// reject tells that the coordination cannot be read. Nothing else is touched.
func (r *reconciler) reject(ctx context.Context, c *v1.DeploymentCoordination, problem error) error {
	status := c.Status.DeepCopy()
	status.ObservedGeneration = c.Generation
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: v1.ReasonInvalidSelector, Message: problem.Error(),
		ObservedGeneration: c.Generation, LastTransitionTime: *seconds(r.clock.Now()),
	})
	if equality.Semantic.DeepEqual(&c.Status, status) {
		return nil
	}
	klog.FromContext(ctx).Error(problem, "The DeploymentCoordination cannot be read")
	return r.writeStatus(ctx, c, *status)
}
