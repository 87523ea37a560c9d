package podgroupwatch

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"example.com/podsequence/pkg/podgroups"
)

// run watches the kind while it is served, until the context ends.
func (k *kind) run(ctx context.Context) {
	k.definition.Failed, k.groups.Failed = k.countFailed(k.definition.Name), k.countFailed(k.groups.Name)
	k.definition.Run(ctx, k)
}

func (k *kind) countFailed(resource string) func(context.Context, error) {
	return func(ctx context.Context, err error) {
		watchErrors.WithLabelValues(resource).Inc()
		klog.FromContext(ctx).Error(err, "Could not list and watch, will retry", "resource", resource)
	}
}

// Served implements definitions.Follower.
func (k *kind) Served(ctx context.Context) {
	k.groups.Run(ctx, groupStore{k})
	k.replace(map[types.NamespacedName]facts{})
}

// Unserved implements definitions.Follower.
func (k *kind) Unserved(context.Context, bool, string) { k.setListed() }

// groupStore enters PodGroups into what is known of their kind. An informer does not: it ends without giving its handlers what
// waits for them, so that nobody would be told of a PodGroup that was removed just before the definition.
type groupStore struct{ kind *kind }

// A reflector calls its store from one goroutine, in the order of the watch.
var _ cache.ReflectorStore = groupStore{}

func (s groupStore) Add(group any) error { return s.Update(group) }
func (s groupStore) Resync() error       { return nil }

func (s groupStore) Update(group any) error {
	key, found, err := s.kind.read(group)
	if err != nil {
		return err
	}
	s.kind.set(key, found)
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
	groups := make(map[types.NamespacedName]facts, len(list))
	for _, group := range list {
		key, found, err := s.kind.read(group)
		if err != nil {
			return err
		}
		groups[key] = found
	}
	s.kind.replace(groups)
	s.kind.setListed()
	return nil
}

func (k *kind) read(group any) (types.NamespacedName, facts, error) {
	object, err := meta.Accessor(group)
	if err != nil {
		return types.NamespacedName{}, facts{}, fmt.Errorf("read one of %s: %w", k.name, err)
	}
	found := facts{}
	if k.compositeOf != nil {
		found.composite = k.compositeOf(group)
	}
	found.minimum, err = k.minimumOf(group)
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}, found, err
}

func (k *kind) set(key types.NamespacedName, now facts) {
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
func (k *kind) replace(groups map[types.NamespacedName]facts) {
	k.lock.Lock()
	before := k.known
	k.known = groups
	var differ []types.NamespacedName
	for key, now := range groups {
		if was, known := before[key]; !known || was != now {
			differ = append(differ, key)
		}
	}
	for key := range before {
		if _, still := groups[key]; !still {
			differ = append(differ, key)
		}
	}
	k.lock.Unlock()
	for _, key := range differ {
		k.changed(podgroups.Reference{Kind: k.name, NamespacedName: key})
	}
}
