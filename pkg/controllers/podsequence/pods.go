package podsequence

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/podsequence/pkg/sequence/report"
)

// waitingPods are the unbound pods of other schedulers: the only ones that this controller tells what they wait for. The
// engine keeps too little of a pod for that, and a cache of all pods would be large for the sake of few.
type waitingPods struct {
	prefixes []string

	factory informers.SharedInformerFactory
	lister  listers.PodLister
	synced  cache.InformerSynced
}

func newWaitingPods(client kubernetes.Interface, options Options) *waitingPods {
	selector := waitingPodsSelector(options.SchedulerNames).String()
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTweakListOptions(func(list *metav1.ListOptions) { list.FieldSelector = selector }),
		informers.WithTransform(trim),
	)
	pods := factory.Core().V1().Pods()
	return &waitingPods{
		prefixes: options.GatePrefixes,
		factory:  factory, lister: pods.Lister(), synced: pods.Informer().HasSynced,
	}
}

func waitingPodsSelector(ourSchedulers []string) fields.Selector {
	terms := []fields.Selector{fields.OneTermEqualSelector("spec.nodeName", "")}
	for _, name := range ourSchedulers {
		terms = append(terms, fields.OneTermNotEqualSelector("spec.schedulerName", name))
	}
	return fields.AndSelectors(terms...)
}

// start watches until the context ends.
func (w *waitingPods) start(ctx context.Context) { w.factory.StartWithContext(ctx) }

// get waits until all pods are in: one that is not there after that is not one of these.
func (w *waitingPods) get(ctx context.Context, key types.NamespacedName) (*corev1.Pod, error) {
	if !cache.WaitForCacheSync(ctx.Done(), w.synced) {
		return nil, fmt.Errorf("wait for the list of pods: %w", context.Cause(ctx))
	}
	return w.lister.Pods(key.Namespace).Get(key.Name)
}

// isOurs reports whether it is for us to say what the pod waits for: because we hold it, or because we said so before.
func (w *waitingPods) isOurs(pod *corev1.Pod) bool {
	return w.carriesGate(pod) || report.TellsWait(pod)
}

// carriesGate reports whether the pod has a gate that is for us to lift. Without one nothing holds it, whatever a sequence
// says.
func (w *waitingPods) carriesGate(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(gate corev1.PodSchedulingGate) bool {
		return slices.ContainsFunc(w.prefixes, func(prefix string) bool { return strings.HasPrefix(gate.Name, prefix) })
	})
}

// trim keeps of a pod what the engine decides by and what a patch of its condition is made from.
func trim(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil // the tombstone of a pod that was trimmed when it came
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			Labels: pod.Labels, CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
		},
		Spec: corev1.PodSpec{
			NodeName: pod.Spec.NodeName, SchedulerName: pod.Spec.SchedulerName, SchedulingGates: pod.Spec.SchedulingGates,
		},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, Conditions: pod.Status.Conditions},
	}, nil
}
