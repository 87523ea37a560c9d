// Package podwriter makes the two writes that holding pods asks for besides binding: it lifts the gates of pods that may
// go, and tells a pod that must wait what it waits for.
package podwriter

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/podsequence/pkg/sequence"
)

const (
	// lifters bounds how many gates are lifted at once. Past this the API server is the limit.
	lifters = 16
	// explainDelay keeps pods that are let go soon after their creation from being written to at all.
	explainDelay = time.Second
	// explainQPS bounds the writes for people, so that they never compete with bindings.
	explainQPS = 50
)

// PodGetter returns a pod from a cache, or a NotFound error.
type PodGetter func(key types.NamespacedName) (*corev1.Pod, error)

// Decider answers what a pod may do. A sequence.Engine is one.
type Decider interface {
	Decide(pod *corev1.Pod) sequence.Decision
	Lift(pod *corev1.Pod) []string
}

// Options adjust a Writer.
type Options struct {
	// NoExplanations turns the writes for people off.
	NoExplanations bool
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

// Writer writes to pods. Both kinds of write are derived from the engine and the cache when their turn comes, so that
// asking for one twice, too early or too late does no harm.
type Writer struct {
	client  kubernetes.Interface
	getPod  PodGetter
	decider Decider
	options Options
	limiter *rate.Limiter // of explanations

	lifts        workqueue.TypedRateLimitingInterface[types.NamespacedName]
	explanations workqueue.TypedRateLimitingInterface[types.NamespacedName]
}

// New returns a Writer that does nothing until Run.
func New(client kubernetes.Interface, getPod PodGetter, decider Decider, options Options) *Writer {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	queue := func(name string) workqueue.TypedRateLimitingInterface[types.NamespacedName] {
		return workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](100*time.Millisecond, 30*time.Second),
			workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: name, Clock: options.Clock},
		)
	}
	return &Writer{
		client: client, getPod: getPod, decider: decider, options: options,
		limiter: rate.NewLimiter(explainQPS, explainQPS),
		lifts:   queue("podsequence_lift"), explanations: queue("podsequence_explain"),
	}
}

// Lift asks for the gates of a pod to be lifted, if the engine says so when the time comes.
func (w *Writer) Lift(pod types.NamespacedName) { w.lifts.Add(pod) }

// Explain asks for a pod to be told what it waits for, if it still waits a second from now.
func (w *Writer) Explain(pod types.NamespacedName) {
	if !w.options.NoExplanations {
		w.explanations.AddAfter(pod, explainDelay)
	}
}

// Run writes until the context ends.
func (w *Writer) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range lifters {
		workers.Go(func() { w.work(ctx, w.lifts, w.lift) })
	}
	workers.Go(func() { w.work(ctx, w.explanations, w.explain) })
	<-ctx.Done()
	w.lifts.ShutDown()
	w.explanations.ShutDown()
	workers.Wait()
}

type podFunc func(ctx context.Context, pod *corev1.Pod) error

func (w *Writer) work(ctx context.Context, queue workqueue.TypedRateLimitingInterface[types.NamespacedName], do podFunc) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		err := w.do(ctx, key, do)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Could not write to the pod, will try again", "pod", key)
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}

func (w *Writer) do(ctx context.Context, key types.NamespacedName, do podFunc) error {
	pod, err := w.getPod(key)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	err = do(ctx, pod)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (w *Writer) lift(ctx context.Context, pod *corev1.Pod) error {
	gates := w.decider.Lift(pod)
	if len(gates) == 0 {
		return nil
	}
	_, err := w.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType,
		sequence.LiftPatch(pod.UID, gates), metav1.PatchOptions{})
	if apierrors.IsConflict(err) {
		return nil // another pod has the name now; its own event asks for it
	}
	if err == nil {
		klog.FromContext(ctx).V(3).Info("Lifted gates", "pod", klog.KObj(pod), "gates", gates)
	}
	return err
}

func (w *Writer) explain(ctx context.Context, pod *corev1.Pod) error {
	decision := w.decider.Decide(pod)
	if !decision.Held {
		return nil
	}
	patch := sequence.WaitingPatch(pod, decision.Message(), w.options.Clock.Now())
	if patch == nil {
		return nil
	}
	if err := w.limiter.Wait(ctx); err != nil {
		return fmt.Errorf("wait for a turn to explain: %w", err)
	}
	_, err := w.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType,
		patch, metav1.PatchOptions{}, "status")
	if apierrors.IsConflict(err) {
		// The cache is behind; the world has moved on, and what it moved to will ask again. A pod that still waits for
		// the same group then keeps its older message, which is the lesser evil.
		return nil
	}
	return err
}
