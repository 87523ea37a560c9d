package podsequence

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/printable"
	"example.com/podsequence/pkg/sequence"
)

// statusReconciler keeps the status of PodSequences and ClusterPodSequences to what the engine says of them.
type statusReconciler struct {
	engine   statusSource
	statuses statusUpdater
	recorder events.EventRecorder
	clock    clock.PassiveClock
	pacer    *pacer
	objects  objectWatcher
	circles  *circles
	// former removes what the controller left that PodSequence replaces.
	former *formerFinalizers
	// whyUnconfirmed says why it takes long to find out whether a change of a namespace is missing; empty if it does not.
	whyUnconfirmed func(namespace string) string
}

// statusSource reports on a sequence. A sequence.Engine is one.
type statusSource interface {
	Report(key types.NamespacedName) (sequence.Report, bool)
	Circle(key types.NamespacedName) sequence.Circle
}

// statusUpdater writes the status of an object. A client.SubResourceWriter is one.
type statusUpdater interface {
	Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error
}

// Reconcile writes the status of one PodSequence, or, for a request without a namespace, of one ClusterPodSequence, if it is not right, and then tells in events what is new in it.
//
// The report has the object with the status that it is compared with: one that is older than what the API server has
// cannot be written, see update, and the event that brings the newer one leads back here.
func (r *statusReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.NamespacedName
	if wait := r.pacer.wait(key); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	report, ok := r.engine.Report(key)
	circle := r.engine.Circle(key)
	r.circles.note(key, circle)
	if !ok {
		r.pacer.forget(key)
		r.former.forget(key)
		r.objects.Forget(key)
		forgetCounted(key)
		return reconcile.Result{}, nil
	}
	if len(circle.Others) > 0 {
		report.Problems = append([]sequence.Problem{circle.Problem}, report.Problems...)
	}
	r.wantObjects(key, report)
	var again reconcile.Result
	if r.former.isDue(key, report) {
		if r.former.remove(ctx, key, report) {
			return reconcile.Result{RequeueAfter: writeInterval}, nil
		}
		again.RequeueAfter = finalizerAgain
	}
	objects, unseen := r.objectsOf(key, report)
	if wait := r.pacer.confirming(key, report.Confirming() || unseen); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil // when it is confirmed, or seen, that leads back here, too
	}

	if report.Confirming() {
		// That something cannot be listed is no event of the engine.
		report.WhyUnconfirmed, again.RequeueAfter = r.whyUnconfirmed(targetOf(report.Object)), confirmAgain
	}

	before := report.Object.Status
	// The API server keeps whole seconds: with a fraction, what is written would differ from what is read back.
	after := report.Status(report.Object, r.clock.Now().Truncate(time.Second))
	withObjects(&after, objects)
	if equality.Semantic.DeepEqual(before, after) {
		r.pacer.turns.Forget(key)
		count(key, &after)
		return again, nil
	}
	news := eventsFor(before, after, report.AllProblems())
	// A pass that is not recorded is lost with the pods that prove it, and pods then wait for its group again. The state of an object
	// is what the scheduler decides by. So what acts waits for no turn.
	if recordsPass(before, after) || turnsObjects(before, after) {
		r.pacer.turns.Forget(key)
	} else if !r.pacer.turns.Turn(key, writeCost(&report.Object.Spec, &after)+len(news)) {
		return reconcile.Result{}, nil // its turn leads back here
	}
	object := withStatus(report, after)
	r.pacer.wrote(key)
	switch err := r.update(ctx, object); {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		klog.FromContext(ctx).V(4).Info("The sequence changed or is gone, will work out its status again", "err", err)
		return reconcile.Result{}, nil
	case apierrors.IsInvalid(err):
		// Rules that cannot even be evaluated keep all of the object from being written, its status too.
		note := err.Error()
		if degraded := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionDegraded); degraded.Status == metav1.ConditionTrue {
			note = degraded.Message
		}
		countStatusError(key)
		r.recorder.Eventf(object, nil, corev1.EventTypeWarning, v1alpha1.ReasonInvalidSpec, actionObserve, "%s", printable.Note(note))
		return reconcile.Result{}, err
	case err != nil:
		countStatusError(key)
		return reconcile.Result{}, err
	}
	count(key, &after)
	observeProgress(object, before, after, r.clock.Now())
	for _, e := range news {
		r.recorder.Eventf(object, nil, e.kind, e.reason, e.action, "%s", e.note)
	}
	return again, nil
}

// recordsPass reports whether a status records a pass that the one before it does not.
func recordsPass(before, after v1alpha1.PodSequenceStatus) bool {
	return slices.ContainsFunc(after.Groups, func(group v1alpha1.GroupStatus) bool {
		return group.PassedAt != nil && !slices.ContainsFunc(before.Groups, func(recorded v1alpha1.GroupStatus) bool {
			return recorded.PassedAt != nil && recorded.Hash == group.Hash
		})
	})
}

// withStatus is the object that is reported on, with another status.
func withStatus(report sequence.Report, status v1alpha1.PodSequenceStatus) client.Object {
	if report.Cluster != nil {
		cluster := report.Cluster.DeepCopy()
		cluster.Status, cluster.ManagedFields = status, nil
		return cluster
	}
	object := report.Object.DeepCopy()
	object.Status, object.ManagedFields = status, nil // the feed has cut these; the API server goes on with its own
	return object
}

// targetOf is the namespace in which the pods of a PodSequence live; empty for a ClusterPodSequence.
func targetOf(ps *v1alpha1.PodSequence) string {
	if ps.Spec.Namespace != "" {
		return ps.Spec.Namespace
	}
	return ps.Namespace
}

// update replaces the whole status, on condition that the object is still the version it was worked out from: status
// also carries what cannot be seen in the world any more, such as when a group was passed, and that must not be written
// over from an old copy. Nobody else writes status, so there is no need to leave anybody's fields alone, and unlike a
// merge patch an update also removes what is no longer so.
func (r *statusReconciler) update(ctx context.Context, object client.Object) error {
	if err := r.statuses.Update(ctx, object); err != nil {
		return fmt.Errorf("update status: %w", err)
	}
	return nil
}
