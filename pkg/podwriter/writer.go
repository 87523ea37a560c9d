// Package podwriter makes the writes that holding pods asks for besides binding: it lifts the gates of pods that may be
// scheduled, tells a pod that must wait what it waits for, by its condition and later by an event, and clears its nomination.
package podwriter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/fairqueue"
	"example.com/podsequence/internal/printable"
	"example.com/podsequence/internal/stale"
	"example.com/podsequence/internal/statusbudget"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/report"
)

const (
	// lifters bounds how many gates are lifted at once. Past this the API server is the limit.
	lifters = 16
	// explainDelay keeps pods that are released soon after their creation from being written to at all.
	explainDelay = time.Second
	// nominationDelay keeps the nominations of pods that wait for a moment only, such as until a pass is recorded. It is shorter than
	// explainDelay, so that the explanation is made from the version without nomination.
	nominationDelay = explainDelay / 2
)

// PodGetter returns a pod, from a cache if there is one, or a NotFound error.
type PodGetter func(ctx context.Context, pod types.NamespacedName) (*corev1.Pod, error)

// Decider answers what a pod may do. A sequence.Engine is one.
type Decider interface {
	Decide(pod *corev1.Pod) report.Decision
	Lift(pod types.NamespacedName) sequence.Lift
	Nomination(pod types.NamespacedName) sequence.Nomination
	Waiting(sequence types.NamespacedName) []types.NamespacedName
}

// Options adjust a Writer.
type Options struct {
	// Explains reports whether it is for this Writer to tell the pod what it waits for; nil turns explanations off.
	Explains func(pod *corev1.Pod) bool
	// Reporter is who the events of held pods come from.
	Reporter string
	// Unknown says what must become known before the Decider can be asked what the pod waits for; that is then the
	// explanation. It is empty if nothing must, and nil if that is never so.
	Unknown func(pod *corev1.Pod) string
	// CatchUp returns once the decider knows every PodSequence that there was when it was called and that may hold pods of a namespace:
	// no gate is lifted before that. Nil if that needs no waiting.
	CatchUp func(ctx context.Context, namespace string) error
	// Budget bounds the program's writes for people, of which explanations and events are. If it is nil, the Writer has one of its
	// own, of statusbudget.DefaultTotal a second.
	Budget *statusbudget.Budget
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

// Writer writes to pods. Every write is derived from the engine and the cache when their turn comes, so that
// asking for one twice, too early or too late does no harm.
type Writer struct {
	client  kubernetes.Interface
	getPod  PodGetter
	decider Decider
	options Options
	// own is the budget if the program has no other.
	own *statusbudget.Budget
	// explainTurns and eventTurns say when explanations and events may be written.
	explainTurns, eventTurns statusbudget.Turns

	// The queues serve namespaces in turn: many pods of one do not delay those of another.
	lifts        workqueue.TypedRateLimitingInterface[types.NamespacedName]
	explanations workqueue.TypedRateLimitingInterface[types.NamespacedName]
	nominations  workqueue.TypedRateLimitingInterface[types.NamespacedName]
	// events queues the pods that were held less than eventDelay ago, and those whose event is due.
	events workqueue.TypedRateLimitingInterface[types.NamespacedName]
	// advanced are sequences whose waiting pods are to be explained anew.
	advanced workqueue.TypedRateLimitingInterface[types.NamespacedName]
}

// New returns a Writer that does nothing until Run.
func New(client kubernetes.Interface, getPod PodGetter, decider Decider, options Options) *Writer {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.CatchUp == nil {
		options.CatchUp = func(context.Context, string) error { return nil }
	}
	if options.Unknown == nil {
		options.Unknown = func(*corev1.Pod) string { return "" }
	}
	queue := func(name string) workqueue.TypedRateLimitingInterface[types.NamespacedName] {
		return fairqueue.New(
			func(key types.NamespacedName) string { return key.Namespace },
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](100*time.Millisecond, 30*time.Second),
			workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: name, Clock: options.Clock},
		)
	}
	w := &Writer{
		client: client, getPod: getPod, decider: decider, options: options,
		lifts:        queue("podsequence_lift"),
		explanations: queue("podsequence_explain"),
		nominations:  queue("podsequence_nomination"),
		events:       queue("podsequence_event"),
		advanced:     queue("podsequence_advance"),
	}
	budget := options.Budget
	if budget == nil {
		w.own = statusbudget.New(statusbudget.DefaultTotal)
		budget = w.own
	}
	w.explainTurns, w.eventTurns = budget.For(w.explanations.Add), budget.For(w.events.Add)
	return w
}

// Lift asks for the gates of a pod to be lifted, if the engine says so when the time comes.
func (w *Writer) Lift(pod types.NamespacedName) { w.lifts.Add(pod) }

// ClearNomination asks for the nomination of a pod to be cleared, if the engine says so in a moment from now.
func (w *Writer) ClearNomination(pod types.NamespacedName) {
	w.nominations.AddAfter(pod, nominationDelay)
}

// Explain asks for a pod to be told what it waits for, if it still waits a second from now; or, if it waits only for
// gates of others by then, to be told that no longer. A pod that still waits ten seconds from now also gets an event.
func (w *Writer) Explain(pod types.NamespacedName) {
	if w.options.Explains != nil {
		w.explanations.AddAfter(pod, explainDelay)
		w.events.AddAfter(pod, eventDelay)
	}
}

// ExplainAll asks for all pods that a sequence holds to be told what they wait for. It costs the caller nothing,
// however many they are.
func (w *Writer) ExplainAll(sequence types.NamespacedName) {
	if w.options.Explains != nil {
		w.advanced.AddAfter(sequence, explainDelay)
	}
}

// Run writes until the context ends.
func (w *Writer) Run(ctx context.Context) {
	var workers sync.WaitGroup
	if w.own != nil {
		workers.Go(func() { _ = w.own.Start(ctx) })
	}
	for range lifters {
		workers.Go(func() { w.work(ctx, w.lifts, w.lift) })
	}
	workers.Go(func() { w.work(ctx, w.explanations, w.explain) })
	workers.Go(func() { w.work(ctx, w.nominations, w.clearNomination) })
	workers.Go(func() { w.work(ctx, w.events, w.writeEvent) })
	workers.Go(func() { w.work(ctx, w.advanced, w.explainAll) })
	<-ctx.Done()
	w.lifts.ShutDown()
	w.explanations.ShutDown()
	w.nominations.ShutDown()
	w.events.ShutDown()
	w.advanced.ShutDown()
	workers.Wait()
}

func (w *Writer) work(
	ctx context.Context,
	queue workqueue.TypedRateLimitingInterface[types.NamespacedName],
	write func(context.Context, types.NamespacedName) error,
) {
	for {
		pod, shutdown := queue.Get()
		if shutdown {
			return
		}
		err := write(ctx, pod)
		switch {
		case err == nil, apierrors.IsNotFound(err), ctx.Err() != nil:
			queue.Forget(pod)
		case errors.Is(err, errUnknown):
			queue.AddRateLimited(pod)
		case stale.IsConflict(err):
			// The pod, or its name's owner, has changed: the patch is dropped, and worked out anew from what is there now.
			queue.AddRateLimited(pod)
		default:
			writeErrors.Inc()
			klog.FromContext(ctx).Error(err, "Could not write to the pod, will retry", "pod", pod)
			queue.AddRateLimited(pod)
		}
		queue.Done(pod)
	}
}

func (w *Writer) lift(ctx context.Context, pod types.NamespacedName) error {
	lift := w.decider.Lift(pod)
	if len(lift.Gates) == 0 {
		return nil
	}
	if err := w.options.CatchUp(ctx, pod.Namespace); err != nil {
		return err
	}
	if lift = w.decider.Lift(pod); len(lift.Gates) == 0 {
		return nil // a sequence that was not known a moment ago holds it
	}
	_, err := w.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType,
		sequence.LiftPatch(lift), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("lift gates %q: %w", lift.Gates, err)
	}
	klog.FromContext(ctx).V(3).Info("Lifted gates", "pod", pod, "gates", lift.Gates)
	return nil
}

// clearNomination gives back the room that is kept for a pod that must wait. The patch is made from the version that the engine knows,
// not from a cache that may not have the nomination yet.
func (w *Writer) clearNomination(ctx context.Context, pod types.NamespacedName) error {
	nomination := w.decider.Nomination(pod)
	switch {
	case nomination.UID == "":
		return nil
	case nomination.Recording:
		return errUnknown
	}
	_, err := w.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType,
		nomination.ClearPatch(), metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("clear the nomination of a held pod: %w", err)
	}
	klog.FromContext(ctx).V(3).Info("Cleared the nomination of a held pod", "pod", pod)
	return nil
}

func (w *Writer) explainAll(_ context.Context, sequence types.NamespacedName) error {
	for _, pod := range w.decider.Waiting(sequence) {
		w.explanations.Add(pod)
	}
	return nil
}

// explain tells a pod what it waits for once it is the turn of its namespace.
func (w *Writer) explain(ctx context.Context, key types.NamespacedName) error {
	pod, patch, err := w.explanation(ctx, key)
	if pod == nil || patch == nil {
		w.explainTurns.Forget(key)
		return err
	}
	if !w.explainTurns.Turn(key, 1) {
		return nil
	}
	return cmp.Or(w.patchStatus(ctx, pod, patch), err)
}

// explanation returns the pod and the patch that tells it what it waits for, nil if there is nothing to be told. The error is
// errUnknown if what it is told now may become wrong without anybody's report.
func (w *Writer) explanation(ctx context.Context, key types.NamespacedName) (*corev1.Pod, []byte, error) {
	pod, err := w.getPod(ctx, key)
	if err != nil {
		return nil, nil, fmt.Errorf("get pod to explain its wait: %w", err)
	}
	if pod.Spec.NodeName != "" || !w.options.Explains(pod) {
		return nil, nil, nil
	}
	now := w.options.Clock.Now()
	if unknown := w.options.Unknown(pod); unknown != "" {
		return pod, report.WaitingPatch(pod, unknown, now), errUnknown
	}
	if decision := w.decider.Decide(pod); decision.Held {
		return pod, report.WaitingPatch(pod, decision.Message(), now), nil
	}
	lifted := w.decider.Lift(key).Gates
	left := slices.DeleteFunc(slices.Clone(pod.Spec.SchedulingGates), func(g corev1.PodSchedulingGate) bool { return slices.Contains(lifted, g.Name) })
	switch len(left) {
	case len(pod.Spec.SchedulingGates): // also where the decider does not know yet that the gates were lifted
		return pod, report.StillGatedPatch(pod, now), nil
	case 0:
		return pod, nil, nil // it is about to go
	}
	return pod, nil, errUnknown // it will wait for the gates of others, and nobody reports when ours is gone
}

// errUnknown makes the writer look at a pod again, with back-off: nobody reports when what is unknown becomes known, or when the
// reason changes why it is not.
var errUnknown = errors.New("what the pod waits for is not known yet")

func (w *Writer) patchStatus(ctx context.Context, pod *corev1.Pod, patch []byte) error {
	_, err := w.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType,
		patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("explain the wait: %w", err)
	}
	return nil
}

// writeEvent writes the one event of a pod that has been held for eventDelay and still is. People read events: kubectl describe pod
// shows neither the reason nor the message of the condition.
func (w *Writer) writeEvent(ctx context.Context, key types.NamespacedName) error {
	pod, event, err := w.eventToWrite(ctx, key)
	if event == nil {
		w.eventTurns.Forget(key)
		return err
	}
	if age := w.options.Clock.Since(pod.CreationTimestamp.Time); 0 <= age && age < eventDelay {
		w.events.AddAfter(key, eventDelay-age) // it has the name of the pod that was held before
		return nil
	}
	if !w.eventTurns.Turn(key, 1) {
		return nil
	}
	_, err = w.client.EventsV1().Events(pod.Namespace).Create(ctx, event, metav1.CreateOptions{})
	switch {
	case err == nil, apierrors.IsAlreadyExists(err): // this program wrote it before it was restarted, or the other program did
		return nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		// The namespace is being deleted, or a quota or a policy refuses the event. To try again would not help.
		klog.FromContext(ctx).V(2).Info("The event of a held pod was refused", "pod", key, "err", err)
		return nil
	}
	return fmt.Errorf("write the event of a held pod: %w", err)
}

// eventToWrite returns the pod and its event, nil if there is nothing to be said.
func (w *Writer) eventToWrite(ctx context.Context, key types.NamespacedName) (*corev1.Pod, *eventsv1.Event, error) {
	pod, err := w.getPod(ctx, key)
	if err != nil {
		return nil, nil, fmt.Errorf("get pod to write its event: %w", err)
	}
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || !w.options.Explains(pod) {
		return nil, nil, nil
	}
	reason, note := v1alpha1.ReasonWaitingForPodSequence, w.options.Unknown(pod)
	if decision := w.decider.Decide(pod); decision.Held {
		if decision.Groups > 0 {
			reason = v1alpha1.EventWaitingForGroup
		}
		if note == "" {
			note = decision.Message()
		}
	}
	if note == "" {
		return nil, nil, nil // it was released
	}
	return pod, w.eventOf(pod, reason, note), nil
}

// eventOf returns the event. Its name follows from the pod's UID, so that a pod has one.
func (w *Writer) eventOf(pod *corev1.Pod, reason, note string) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: pod.Namespace, Name: "podsequence-" + string(pod.UID)},
		EventTime:           metav1.NewMicroTime(w.options.Clock.Now()),
		ReportingController: w.options.Reporter,
		ReportingInstance:   w.options.Reporter,
		Action:              actionHolding,
		Reason:              reason,
		Type:                corev1.EventTypeNormal,
		Note:                printable.Note(note),
		Regarding: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		},
	}
}
