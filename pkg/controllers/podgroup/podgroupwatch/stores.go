package podgroupwatch

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

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
