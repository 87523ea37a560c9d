package podgroup

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/internal/fairqueue"
	"example.com/podsequence/internal/stale"
)

const (
	// fieldOwner and the name of a group are who our writes say they come from.
	fieldOwner = "podsequence-controller-podgroup"
	// writers is how many labels are written at once.
	writers = 16
)

// labeller writes labels, to one pod of each namespace in turn: a large group delays those of no other namespace. What it is
// asked for stays right: that all of a pod's group have run since it came. So it does not matter when it is written, and a
// failure is tried again for this pod alone.
type labeller struct {
	options Options
	writer  client.Writer
	caches  []client.Reader // a pod is in one of them
	queue   workqueue.TypedRateLimitingInterface[types.NamespacedName]

	lock sync.Mutex
	// wanted are the pods that are to be labelled, for the group that they were in when that was decided.
	wanted map[types.NamespacedName]pledge
	// written are the versions of pods that result from our writes, until the cache has them.
	written map[types.NamespacedName]string
}

// pledge is a pod and a group.
type pledge struct {
	uid   types.UID
	group types.NamespacedName
}

func newLabeller(options Options, writer client.Writer, caches ...client.Reader) *labeller {
	return &labeller{
		options: options, writer: writer, caches: caches,
		queue: fairqueue.New(
			func(pod types.NamespacedName) string { return pod.Namespace },
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](100*time.Millisecond, 30*time.Second),
			workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: "podgroup_label"},
		),
		wanted: map[types.NamespacedName]pledge{}, written: map[types.NamespacedName]string{},
	}
}

// want asks for labels to be given to pods, and to be taken from those that have them for another group.
func (l *labeller) want(pods []*corev1.Pod) {
	for _, pod := range pods {
		key := client.ObjectKeyFromObject(pod)
		l.lock.Lock()
		l.wanted[key] = pledge{pod.UID, l.options.groupOf(pod)}
		l.lock.Unlock()
		l.queue.Add(key)
	}
}

// seen gets the pods that the cache has, and forgets what it was to bring.
func (l *labeller) seen(pod *corev1.Pod) {
	key := client.ObjectKeyFromObject(pod)
	l.lock.Lock()
	defer l.lock.Unlock()
	if version, ok := l.written[key]; ok && !isOlder(pod.ResourceVersion, version) {
		delete(l.written, key)
	}
}

// gone gets the pods that there are no longer.
func (l *labeller) gone(pod *corev1.Pod) {
	l.lock.Lock()
	defer l.lock.Unlock()
	delete(l.written, client.ObjectKeyFromObject(pod))
}

// Start writes until the context ends. It implements manager.Runnable.
func (l *labeller) Start(ctx context.Context) error {
	var workers sync.WaitGroup
	for range writers {
		workers.Go(func() {
			for l.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	l.queue.ShutDown()
	workers.Wait()
	return nil
}

// next writes to the pod whose turn it is. It returns false when no more are to come.
func (l *labeller) next(ctx context.Context) bool {
	pod, shutdown := l.queue.Get()
	if shutdown {
		return false
	}
	defer l.queue.Done(pod)
	done, err := l.write(ctx, pod)
	switch {
	case done:
		l.queue.Forget(pod)
	case ctx.Err() != nil:
	default:
		if !stale.IsConflict(err) { // else it has changed meanwhile, or another has its name: the cache will say which
			labelErrors.Inc()
			if l.queue.NumRequeues(pod) == 0 { // a line each, though it may be refused for as long as the pod is there
				klog.FromContext(ctx).Error(err, "Could not label a pod of a group, will retry", "pod", pod)
			}
		}
		l.queue.AddRateLimited(pod)
	}
	return true
}

// write works out from the cache what to write to a pod, if anything. It reports whether the pod is done with.
func (l *labeller) write(ctx context.Context, key types.NamespacedName) (done bool, err error) {
	l.lock.Lock()
	want, ok := l.wanted[key]
	version := l.written[key]
	l.lock.Unlock()
	if !ok {
		return true, nil
	}
	defer func() {
		if done {
			l.finish(key, want)
		}
	}()
	pod, err := l.get(ctx, key)
	if pod == nil {
		return err == nil, err
	}
	moved := l.options.isMoved(pod)
	switch {
	case pod.UID != want.uid, isOlder(pod.ResourceVersion, version):
		return true, nil // it is another, or has been written to
	case !moved && (l.options.isLabelled(pod) || l.options.groupOf(pod) != want.group):
		return true, nil
	}
	version, err = l.patch(ctx, pod, moved)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	l.lock.Lock()
	l.written[key] = version
	l.lock.Unlock()
	return true, nil
}

// get returns a pod from the caches; nil if it is in none.
func (l *labeller) get(ctx context.Context, key types.NamespacedName) (*corev1.Pod, error) {
	for _, cache := range l.caches {
		pod := &corev1.Pod{}
		err := cache.Get(ctx, key, pod)
		if err == nil {
			return pod, nil
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("get pod: %w", err)
		}
	}
	return nil, nil
}

// finish forgets what was wanted, unless more is by now.
func (l *labeller) finish(key types.NamespacedName, want pledge) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.wanted[key] == want {
		delete(l.wanted, key)
	}
}

// patch gives a pod the label or takes it away, and returns the version that results.
func (l *labeller) patch(ctx context.Context, pod *corev1.Pod, remove bool) (version string, err error) {
	var value any = ReadyValue
	if remove {
		value = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "labels": map[string]any{l.options.ReadyLabel: value},
	}})
	if err != nil {
		return "", fmt.Errorf("encode label: %w", err)
	}
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	owner := client.FieldOwner(fieldOwner + "/" + l.options.groupOf(pod).Name)
	if err := l.writer.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), owner); err != nil {
		return "", fmt.Errorf("label pod: %w", err)
	}
	klog.FromContext(ctx).V(3).Info("Labelled a pod of a group", "pod", klog.KObj(pod), "ready", !remove)
	return object.ResourceVersion, nil
}

func isOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
