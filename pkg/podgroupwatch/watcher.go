// Package podgroupwatch knows how many pods each PodGroup asks for, of both kinds. Neither need be installed: that one is,
// also later, is told by a watch of its definition.
package podgroupwatch

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"example.com/podsequence/pkg/definitions"
	"example.com/podsequence/pkg/podgroups"
	"example.com/podsequence/pkg/reflectors"
)

// resource is what both kinds are called in URLs.
const resource = "podgroups"

// Watcher watches PodGroups. Its methods may be called at any time.
type Watcher struct {
	kinds map[podgroups.Kind]*kind
}

// kind is one of the two kinds of PodGroup.
type kind struct {
	name podgroups.Kind
	// definition is what is there while the kind is served.
	definition *definitions.Watcher
	groups     reflectors.Reflector
	// list lists PodGroups of a namespace.
	list      func(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error)
	minimumOf func(group any) (int32, error)
	// compositeOf is nil if PodGroups of the kind are never part of another one.
	compositeOf func(group any) string
	changed     func(podgroups.Reference)

	listedOnce sync.Once
	listed     chan struct{} // closed when it is first known which there are

	lock  sync.RWMutex
	known map[types.NamespacedName]facts // of those that the watch has brought
}

// facts are what a PodGroup says.
type facts struct {
	minimum   int32
	composite string
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
		k.known, k.listed = map[types.NamespacedName]facts{}, make(chan struct{})
		w.kinds[k.name] = k
	}
	return w
}

// Run watches until the context ends. It calls changed with each PodGroup whose minimum or CompositePodGroup may be another than before,
// those that come or go among them, after Minimum and Composite know of it. Calls for different kinds may overlap. Run may be called once.
func (w *Watcher) Run(ctx context.Context, changed func(podgroups.Reference)) {
	var kinds sync.WaitGroup
	for _, k := range w.kinds {
		k.changed = changed
		kinds.Go(func() { k.run(ctx) })
	}
	kinds.Wait()
}

// AwaitListed returns when it is known which PodGroups there are, or when the context ends.
func (w *Watcher) AwaitListed(ctx context.Context) {
	for _, k := range w.kinds {
		select {
		case <-k.listed:
		case <-ctx.Done():
			return
		}
	}
}

func (k *kind) setListed() { k.listedOnce.Do(func() { close(k.listed) }) }

// Minimum returns how many pods a PodGroup asks for, 0 if for none in particular. It is not known if there is no such
// PodGroup, or the watch has not brought it yet.
func (w *Watcher) Minimum(group podgroups.Reference) (minimum int32, known bool) {
	k := w.kinds[group.Kind]
	k.lock.RLock()
	defer k.lock.RUnlock()
	found, known := k.known[group.NamespacedName]
	return found.minimum, known
}

// Composite returns the name of the CompositePodGroup that a PodGroup is part of; empty if it is part of none, or not known.
func (w *Watcher) Composite(group podgroups.Reference) string {
	k := w.kinds[group.Kind]
	k.lock.RLock()
	defer k.lock.RUnlock()
	return k.known[group.NamespacedName].composite
}

// Ask asks the API server for what Minimum returns, for decisions that must not be wrong if the watch is behind.
func (w *Watcher) Ask(ctx context.Context, group podgroups.Reference) (minimum int32, exists bool, err error) {
	k := w.kinds[group.Kind]
	// By a list of one, which takes no permission besides those of the watch.
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, group.Name).String()}
	list, err := k.list(ctx, group.Namespace, options)
	switch {
	case apierrors.IsNotFound(err): // the kind is not served
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("ask for %s: %w", group, err)
	}
	err = meta.EachListItem(list, func(found runtime.Object) error {
		exists = true
		minimum, err = k.minimumOf(found)
		return err
	})
	return minimum, exists, err
}
