// Package podgroupwatch knows how many pods each PodGroup asks for, of both kinds. Neither need be installed. That Coscheduling's is, also
// later, is told by a watch of its definition. That of Kubernetes itself is watched if it is served at first: to have it served later takes a
// restart of the API server with other flags. A kind that cannot be read is as one that is not installed; the log and a metric say so.
package podgroupwatch

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"example.com/podsequence/internal/definitions"
	"example.com/podsequence/internal/podgroups"
	"example.com/podsequence/internal/reflectors"
)

// Watcher watches PodGroups. Its methods may be called at any time.
type Watcher struct {
	kinds map[podgroups.Kind]*kind
}

// kind is one of the two kinds of PodGroup.
type kind struct {
	name podgroups.Kind
	// definition is what is there while the kind is served; nil if the kind is built in.
	definition *definitions.Watcher
	groups     reflectors.Reflector
	client     dynamic.NamespaceableResourceInterface
	minimumOf  func(group *unstructured.Unstructured) int32
	changed    func(podgroups.Reference)
	// unreadable reports that the API server could not read the kind, for a list or a watch, and no list is complete since.
	unreadable atomic.Bool
	// listed reports that a list was complete once.
	listed atomic.Bool

	lock  sync.RWMutex
	known map[types.NamespacedName]int32 // what those ask for that the watch has brought
}

// run watches the kind while it is served, until the context ends.
func (k *kind) run(ctx context.Context) {
	if k.definition == nil {
		k.Served(ctx)
		return
	}
	k.definition.Failed = func(ctx context.Context, err error) { k.countFailed(ctx, err, k.definition.Name) }
	k.definition.Run(ctx, k)
}

func (k *kind) countFailed(ctx context.Context, err error, resource string) {
	watchErrors.WithLabelValues(resource).Inc()
	klog.FromContext(ctx).Error(err, "Could not list and watch; unknown PodGroups of this kind do not count, will retry", "resource", resource, "kind", k.name)
}

// Served implements definitions.Follower. The watch of a kind that is built in and was never served ends.
func (k *kind) Served(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k.groups.Failed = func(ctx context.Context, err error) {
		if k.definition == nil && !k.listed.Load() && apierrors.IsNotFound(err) {
			klog.FromContext(ctx).Info("PodGroups of this kind are not served; restart this program when they are", "kind", k.name)
			cancel()
			return
		}
		if apierrors.IsInternalError(err) { // any other failure says that the API server is busy or away, or what Ask is told as well
			k.unreadable.Store(true)
		}
		k.countFailed(ctx, err, k.groups.Name)
	}
	k.groups.Run(ctx, groupStore{k})
	k.replace(map[types.NamespacedName]int32{})
}

// Unserved implements definitions.Follower.
func (k *kind) Unserved(context.Context, bool, string) {}

func (k *kind) read(group any) (types.NamespacedName, int32, error) {
	object, ok := group.(*unstructured.Unstructured)
	if !ok {
		return types.NamespacedName{}, 0, fmt.Errorf("the API server sent a %T, want one of %s", group, k.name)
	}
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}, k.minimumOf(object), nil
}

func (k *kind) set(key types.NamespacedName, now int32) {
	k.lock.Lock()
	before, known := k.known[key]
	k.known[key] = now
	k.lock.Unlock()
	if !known || before != now {
		k.changed(podgroups.Reference{Kind: k.name, NamespacedName: key})
	}
}

func (k *kind) remove(key types.NamespacedName) {
	k.lock.Lock()
	delete(k.known, key)
	k.lock.Unlock()
	k.changed(podgroups.Reference{Kind: k.name, NamespacedName: key})
}

// replace is one step for those who ask: a relist must not show PodGroups of different times together.
func (k *kind) replace(minimums map[types.NamespacedName]int32) {
	k.lock.Lock()
	before := k.known
	k.known = minimums
	var differ []types.NamespacedName
	for key, now := range minimums {
		if was, known := before[key]; !known || was != now {
			differ = append(differ, key)
		}
	}
	for key := range before {
		if _, still := minimums[key]; !still {
			differ = append(differ, key)
		}
	}
	k.lock.Unlock()
	for _, key := range differ {
		k.changed(podgroups.Reference{Kind: k.name, NamespacedName: key})
	}
}

// New returns a Watcher that knows nothing until Run.
func New(config *rest.Config) (*Watcher, error) {
	config = rest.CopyConfig(config)
	rest.AddUserAgent(config, "podgroups")
	coscheduling, err := newCoscheduling(config)
	if err != nil {
		return nil, err
	}
	native, err := newNative(config)
	if err != nil {
		return nil, err
	}
	return newWatcher(coscheduling, native), nil
}

func newWatcher(kinds ...*kind) *Watcher {
	w := &Watcher{kinds: map[podgroups.Kind]*kind{}}
	for _, k := range kinds {
		k.known = map[types.NamespacedName]int32{}
		w.kinds[k.name] = k
	}
	return w
}

// Run watches until the context ends. It calls changed with each PodGroup whose minimum may be another than before, those that come or go
// among them, after Minimum knows of it. Calls for different kinds may overlap. Run may be called once.
func (w *Watcher) Run(ctx context.Context, changed func(podgroups.Reference)) {
	var kinds sync.WaitGroup
	for _, k := range w.kinds {
		k.changed = changed
		kinds.Go(func() { k.run(ctx) })
	}
	kinds.Wait()
}

// Minimum returns how many pods a PodGroup asks for, 0 if for none in particular. It is not known if there is no such
// PodGroup, or the watch has not brought it yet.
func (w *Watcher) Minimum(group podgroups.Reference) (minimum int32, known bool) {
	k := w.kinds[group.Kind]
	k.lock.RLock()
	defer k.lock.RUnlock()
	minimum, known = k.known[group.NamespacedName]
	return minimum, known
}

// Ask asks the API server for what Minimum returns, for decisions that must not be wrong if the watch is behind. Nothing exists of a kind
// that is not served in the version that this program reads, or that it may not read, or that the API server cannot read, for the watch or for Ask.
func (w *Watcher) Ask(ctx context.Context, group podgroups.Reference) (minimum int32, exists bool, err error) {
	k := w.kinds[group.Kind]
	// By a list of one, which takes no permission besides those of the watch.
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, group.Name).String()}
	list, err := k.client.Namespace(group.Namespace).List(ctx, options)
	switch {
	case err != nil && (apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsInternalError(err) && k.unreadable.Load()):
		return 0, false, nil // the log says so, when the watch fails
	case err != nil:
		return 0, false, fmt.Errorf("ask for %s: %w", group, err)
	case len(list.Items) == 0:
		return 0, false, nil
	}
	return k.minimumOf(&list.Items[0]), true, nil
}
