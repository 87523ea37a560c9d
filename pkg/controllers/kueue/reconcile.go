package kueue

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/internal/printable"
	"example.com/podsequence/pkg/sequence"
)

// Sequences says whose turn it is.
type Sequences interface {
	// WouldHold says what would hold pods that are created together. It is not known until all PodSequences and pods are known.
	WouldHold(pods ...*corev1.Pod) (hold sequence.Hold, known bool)
	// Places returns the groups that sequences have for a pod.
	Places(pod *corev1.Pod) []sequence.Place
	// CatchUp returns once every PodSequence is known that there was when it was called.
	CatchUp(ctx context.Context, pod *corev1.Pod) error
}

// reconciler answers for checks: a request is for a namespace, or for an AdmissionCheck, which has none.
type reconciler struct {
	workloads, checks client.Reader
	writer            client.StatusClient
	recorder          events.EventRecorder
	clock             clock.PassiveClock
	sequences         Sequences
}

var errUnknown = errors.New("not all PodSequences and pods are known")

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var err error
	if request.Namespace == "" {
		err = r.activate(ctx, request.Name)
	} else {
		err = r.answer(ctx, request.Namespace)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil // the event of the newer version is on its way
	}
	return reconcile.Result{}, err
}

// activate says of a check that somebody answers for it. Kueue admits nothing in queues with other checks.
func (r *reconciler) activate(ctx context.Context, name string) error {
	check := newObject(AdmissionCheckKind)
	if err := r.checks.Get(ctx, client.ObjectKey{Name: name}, check); err != nil {
		return err //nolint:wrapcheck // it is told apart by its kind
	}
	if !answersFor(check) {
		return nil
	}
	before := check.DeepCopy()
	conditions, err := conditionsOf(check)
	if err != nil {
		return err
	}
	changed := meta.SetStatusCondition(&conditions, metav1.Condition{
		Type: active, Status: metav1.ConditionTrue, Reason: "Active", ObservedGeneration: check.GetGeneration(),
		Message: "podsequence-controller answers for this check",
	})
	if !changed {
		return nil
	}
	if err := setConditions(check, conditions); err != nil {
		return err
	}
	return r.patch(ctx, before, check)
}

// ours returns the names of the checks of this controller.
func (r *reconciler) ours(ctx context.Context) (sets.Set[string], error) {
	list := newList(AdmissionCheckKind)
	if err := r.checks.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list AdmissionChecks: %w", err)
	}
	names := sets.New[string]()
	for i := range list.Items {
		if answersFor(&list.Items[i]) {
			names.Insert(list.Items[i].GetName())
		}
	}
	return names, nil
}

func answersFor(check *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(check.Object, "spec", "controllerName")
	return name == CheckController
}

// answer writes what is to be written to the Workloads of a namespace.
func (r *reconciler) answer(ctx context.Context, namespace string) error {
	ours, err := r.ours(ctx)
	if err != nil {
		return err
	}
	list := newList(WorkloadKind)
	if err := r.workloads.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list Workloads: %w", err)
	}
	waiters, objects, err := r.gather(list, ours)
	if err != nil {
		return err
	}
	groups := newNeighbors(waiters)
	var errs []error
	for i, w := range waiters {
		note := groups.note(w, waiters)
		d := decide(w.workload, ours, w.hold, note)
		if d.opens() && !w.runs() {
			if d, err = r.confirm(ctx, w, ours, note); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		if err := r.write(ctx, objects[i], d, note); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// gather works out what the Workloads wait for. Those of which nothing is asked are left out.
func (r *reconciler) gather(list *unstructured.UnstructuredList, ours sets.Set[string]) (waiters []*waiter, objects []*unstructured.Unstructured, err error) {
	anyHeld := false
	for i := range list.Items {
		w, err := readWorkload(&list.Items[i])
		if err != nil {
			return nil, nil, err
		}
		if !hasAny(w, ours) && w.condition(requeued).Reason != ReasonWaits {
			continue
		}
		hold, known := r.sequences.WouldHold(w.pods()...)
		if !known {
			return nil, nil, errUnknown
		}
		anyHeld = anyHeld || hold.Held()
		waiters, objects = append(waiters, &waiter{workload: w, hold: hold}), append(objects, &list.Items[i])
	}
	if !anyHeld {
		return waiters, objects, nil
	}
	for _, w := range waiters {
		for _, pod := range w.pods() {
			for _, place := range r.sequences.Places(pod) {
				w.groups = append(w.groups, groupOf{place.Sequence, place.Group})
			}
		}
	}
	return waiters, objects, nil
}

// confirm decides once more when every PodSequence is known that there is.
func (r *reconciler) confirm(ctx context.Context, w *waiter, ours sets.Set[string], note string) (decision, error) {
	pods := w.pods()
	for _, pod := range pods {
		if err := r.sequences.CatchUp(ctx, pod); err != nil {
			return decision{}, fmt.Errorf("wait until PodSequences are known: %w", err)
		}
	}
	hold, known := r.sequences.WouldHold(pods...)
	if !known {
		return decision{}, errUnknown
	}
	return decide(w.workload, ours, hold, note), nil
}

// write writes a decision on condition that the Workload is still the version that it was made for.
func (r *reconciler) write(ctx context.Context, object *unstructured.Unstructured, d decision, note string) error {
	if d.empty() {
		return nil
	}
	changed := object.DeepCopy()
	if err := d.applyTo(changed, metav1.NewTime(r.clock.Now())); err != nil {
		return err
	}
	if err := r.patch(ctx, object, changed); err != nil {
		return err
	}
	if note != "" && len(d.checks) > 0 {
		r.recorder.Eventf(object, nil, corev1.EventTypeWarning, "WorkloadsWaitForEachOther", "Check", "%s", printable.Note(d.checks[0].Message))
	}
	return nil
}

func (r *reconciler) patch(ctx context.Context, before, after *unstructured.Unstructured) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.writer.Status().Patch(ctx, after, patch); err != nil {
		return fmt.Errorf("patch status of %s %s: %w", before.GetKind(), client.ObjectKeyFromObject(before), err)
	}
	return nil
}

// asked asks for an AdmissionCheck, and for all namespaces with Workloads: they may have to be answered for it.
func (r *reconciler) asked(ctx context.Context, check client.Object) []reconcile.Request {
	requests := []reconcile.Request{{NamespacedName: client.ObjectKey{Name: check.GetName()}}}
	list := newList(WorkloadKind)
	if err := r.workloads.List(ctx, list); err != nil {
		return requests // the context has ended
	}
	seen := map[string]struct{}{}
	for i := range list.Items {
		namespace := list.Items[i].GetNamespace()
		if _, known := seen[namespace]; !known {
			seen[namespace] = struct{}{}
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace}})
		}
	}
	return requests
}

type withConditions struct {
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

func conditionsOf(object *unstructured.Unstructured) ([]metav1.Condition, error) {
	read := withConditions{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read); err != nil {
		return nil, fmt.Errorf("read conditions: %w", err)
	}
	return read.Status.Conditions, nil
}

func setConditions(object *unstructured.Unstructured, conditions []metav1.Condition) error {
	written := withConditions{}
	written.Status.Conditions = conditions
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&written)
	if err != nil {
		return fmt.Errorf("write conditions: %w", err)
	}
	list, _, err := unstructured.NestedFieldNoCopy(content, "status", "conditions")
	if err != nil {
		return fmt.Errorf("write conditions: %w", err)
	}
	return unstructured.SetNestedField(object.Object, list, "status", "conditions") //nolint:wrapcheck // it cannot fail but on a broken object
}
