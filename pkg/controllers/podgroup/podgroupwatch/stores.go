package podgroupwatch

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"example.com/podsequence/internal/podgroups"
)

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

// groupStore enters PodGroups into what is known of their kind. An informer does not: it ends without giving its handlers what
// waits for them, so that nobody would be told of a PodGroup that was removed just before the definition.
type groupStore struct{ kind *kind }

// A reflector calls its store from one goroutine, in the order of the watch.
var _ cache.ReflectorStore = groupStore{}

func (s groupStore) Add(group any) error { return s.Update(group) }
func (s groupStore) Resync() error       { return nil }

func (s groupStore) Update(group any) error {
	key, minimum, err := s.kind.read(group)
	if err != nil {
		return err
	}
	s.kind.set(key, minimum)
	return nil
}

func (s groupStore) Delete(group any) error {
	key, _, err := s.kind.read(group)
	if err != nil {
		return err
	}
	s.kind.remove(key)
	return nil
}

func (s groupStore) Replace(list []any, _ string) error {
	minimums := make(map[types.NamespacedName]int32, len(list))
	for _, group := range list {
		key, minimum, err := s.kind.read(group)
		if err != nil {
			return err
		}
		minimums[key] = minimum
	}
	s.kind.replace(minimums)
	s.kind.listed.Store(true)
	s.kind.unreadable.Store(false)
	return nil
}

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
