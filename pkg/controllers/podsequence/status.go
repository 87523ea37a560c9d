package podsequence

import (
	"context"
	"fmt"
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
	"example.com/podsequence/internal/printable"
	"example.com/podsequence/internal/takeover"
	"example.com/podsequence/pkg/record"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
)

// finalizerAgain is when a finalizer that could not be removed is tried again.
const finalizerAgain = 30 * time.Second

// statusReconciler keeps the status of PodSequences and ClusterPodSequences to what the engine says of them.
type statusReconciler struct {
	engine   statusSource
	statuses statusUpdater
	recorder events.EventRecorder
	clock    clock.PassiveClock
	pacer    *pacer
	objects  objectWatcher
	circles  *circles
	// former removes from objects what the controller left that PodSequence replaces.
	former  *takeover.Finalizers
	patcher takeover.Patcher
	// whyUnrecorded says why the passes of a sequence cannot be recorded; empty if they can.
	whyUnrecorded func(key types.NamespacedName) string
}

// statusSource reports on a sequence. A sequence.Engine is one.
type statusSource interface {
	Report(key types.NamespacedName) (report.Report, bool)
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
		r.former.Forget(key)
		r.objects.Forget(key)
		forgetCounted(key)
		return reconcile.Result{}, nil
	}
	if len(circle.Others) > 0 {
		report.Problems = append([]order.Problem{circle.Problem}, report.Problems...)
	}
	r.wantObjects(key, report)
	var again reconcile.Result
	if report.Cluster == nil {
		stored := &metav1.PartialObjectMetadata{ObjectMeta: report.Object.ObjectMeta}
		stored.SetGroupVersionKind(v1alpha1.PodSequenceKind)
		switch isDone, err := r.former.Remove(ctx, r.patcher, stored); {
		case isDone:
			return reconcile.Result{RequeueAfter: writeInterval}, nil
		case err != nil:
			klog.FromContext(ctx).Error(err, "The sequence cannot be deleted, will retry")
			again.RequeueAfter = finalizerAgain
		}
	}
	objects, unseen := r.objectsOf(key, report)
	if wait := r.pacer.settling(key, report.Recording() || unseen); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil // when it is recorded, or seen, that leads back here, too
	}

	if report.Recording() {
		// That a pass cannot be recorded is no event of the engine.
		report.WhyUnrecorded, again.RequeueAfter = r.whyUnrecorded(key), recordingAgain
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
	// The state of an object is what the scheduler decides by. So what acts waits for no turn.
	if turnsObjects(before, after) {
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
	observeReady(key, before, after)
	for _, e := range news {
		r.recorder.Eventf(e.regarding(object), nil, e.kind, e.reason, e.action, "%s", e.note)
	}
	return again, nil
}

// withStatus is the object that is reported on, with another status.
func withStatus(report report.Report, status v1alpha1.PodSequenceStatus) client.Object {
	if report.Cluster != nil {
		cluster := report.Cluster.DeepCopy()
		cluster.Status, cluster.ManagedFields = status, nil
		return cluster
	}
	object := report.Object.DeepCopy()
	object.Status, object.ManagedFields = status, nil // the feed has cut these; the API server goes on with its own
	return object
}

// update replaces the whole status, on condition that the object is still the version it was worked out from: status
// also carries what cannot be seen in the world any more, such as when a group was passed, and that must not be written
// over from an old copy. So what else was written meanwhile, such as a pass, is not lost, and unlike a merge patch an update
// also removes what is no longer so.
func (r *statusReconciler) update(ctx context.Context, object client.Object) error {
	if err := r.statuses.Update(ctx, object); err != nil {
		return fmt.Errorf("update status: %w", err)
	}
	return nil
}

// wantObjects names the objects to the watcher that a sequence waits for.
func (r *statusReconciler) wantObjects(key types.NamespacedName, report report.Report) {
	var references []v1alpha1.ObjectReference
	for i := range report.Groups {
		references = append(references, report.Groups[i].Objects...)
	}
	r.objects.Want(key, references)
}

// objectsOf returns the records of the objects that each group waits for. It reports whether some object has not been seen yet, though
// nothing is known to be in the way. What is recorded of such an object stays, unless there is more to say of one that is not ready.
func (r *statusReconciler) objectsOf(key types.NamespacedName, report report.Report) (records [][]v1alpha1.ObjectStatus, unseen bool) {
	recorded := map[v1alpha1.ObjectReference]*v1alpha1.ObjectStatus{}
	if status := &report.Object.Status; status.ObservedUID == "" || status.ObservedUID == report.Object.UID {
		recorded = order.ObjectRecords(status)
	}
	written := order.WrittenAt(report.Object, record.FieldManager) // that one says nothing of objects
	records = make([][]v1alpha1.ObjectStatus, len(report.Groups))
	for i := range report.Groups {
		for j := range report.Groups[i].Objects {
			reference := &report.Groups[i].Objects[j]
			observed, known := r.objects.Observe(key, reference)
			before := recorded[*reference]
			switch {
			case known, observed.Message != "" && (before == nil || before.State != v1alpha1.ObjectSatisfied):
				records[i] = append(records[i], recordOf(reference, observed, before, written))
			case before != nil:
				records[i] = append(records[i], *before)
				unseen = true
			default:
				unseen = true
			}
		}
	}
	return records, unseen
}
