// Package definitions knows whether a kind is served, by a watch of its CustomResourceDefinition. To find out by listing objects of the
// kind would take polling to notice when it comes.
package definitions

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"example.com/podsequence/internal/reflectors"
)

// Resource is what CustomResourceDefinitions are called in URLs, logs and metrics.
const Resource = "customresourcedefinitions"

// Follower does something while a kind is served. Its methods are called one at a time, in the order of the watch.
type Follower interface {
	// Served is called when the API server serves the kind. It returns when its context ends, which is when the definition is gone
	// or is another one; nothing is called before it has returned. If the definition was replaced while the watch was interrupted,
	// it is called again without Unserved.
	Served(ctx context.Context)
	// Unserved is called when the API server is first known not to serve the kind, when it no longer does, and when isDefined changes.
	// The version is that of the removal, or of the list that does not have the definition. With isDefined there is a definition
	// that is not served yet; it never will be if its names are taken.
	Unserved(ctx context.Context, isDefined bool, version string)
}

// Watcher watches one definition.
type Watcher struct {
	reflectors.Reflector
	// Status tells the operator whether the kind is installed; nil if it is not for the operator to install.
	Status *Status
}

// New returns a Watcher of the kind's CustomResourceDefinition that does nothing until Run.
func New(config *rest.Config, kind schema.GroupResource) (*Watcher, error) {
	client, err := apiextensionsclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client for custom resource definitions: %w", err)
	}
	return NewWithSource(kind, cache.NewListWatchFromClient(client.ApiextensionsV1().RESTClient(), Resource, "",
		fields.OneTermEqualSelector(metav1.ObjectNameField, kind.String()))), nil
}

// NewWithSource is New with a source of the kind's CustomResourceDefinition.
func NewWithSource(kind schema.GroupResource, source cache.ListerWatcher) *Watcher {
	failed := func(ctx context.Context, err error) {
		klog.FromContext(ctx).Error(err, "Could not watch whether a kind is installed, will retry", "definition", kind)
	}
	return &Watcher{
		Reflector: reflectors.Reflector{Name: kind.String(), Source: source, Type: &apiextensionsv1.CustomResourceDefinition{}, Failed: failed},
		Status:    &Status{Resource: kind},
	}
}

// established reports whether a definition that is there is also served.
func established(object any) bool {
	definition, ok := object.(*apiextensionsv1.CustomResourceDefinition)
	return ok && slices.ContainsFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// Ask asks the API server whether the kind is served, for decisions that must not be wrong if the watch is behind.
func (w *Watcher) Ask(ctx context.Context) (isServed bool, err error) {
	list, err := cache.ToListerWatcherWithContext(w.Source).ListWithContext(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("list the definition: %w", err)
	}
	err = meta.EachListItem(list, func(definition runtime.Object) error {
		isServed = isServed || established(definition)
		return nil
	})
	return isServed, err
}

// Run watches until the context ends, however often the watch breaks.
func (w *Watcher) Run(ctx context.Context, follower Follower) {
	s := &store{ctx: ctx, watcher: w, follower: follower}
	w.Reflector.Run(ctx, s)
	s.stop()
}

// store turns what the watch brings into calls of the follower.
type store struct {
	ctx      context.Context // of Run
	watcher  *Watcher
	follower Follower

	state state
	// The others are of the call of Served that is running: uid is that of the definition, and done is closed when it has returned.
	uid    types.UID
	cancel context.CancelFunc
	done   chan struct{}
}

// state is what the follower knows.
type state int

const (
	unknown state = iota
	undefined
	defined // but not served
	served
)

// A reflector calls its store from one goroutine, in the order of the watch.
var _ cache.ReflectorStore = &store{}

func (s *store) Add(obj any) error    { return s.Update(obj) }
func (s *store) Resync() error        { return nil }
func (s *store) Update(obj any) error { return s.Replace([]any{obj}, "") }

func (s *store) Delete(obj any) error {
	definition, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Errorf("read a definition: %w", err)
	}
	return s.Replace(nil, definition.GetResourceVersion())
}

// Replace enters the definition that there is, or that there is none. One that is served stays so, whatever it says.
func (s *store) Replace(list []any, version string) error {
	if len(list) == 0 {
		s.leave(undefined, version)
		return nil
	}
	definition, err := meta.Accessor(list[0])
	if err != nil {
		return fmt.Errorf("read a definition: %w", err)
	}
	switch {
	case s.state == served && s.uid == definition.GetUID():
	case established(list[0]):
		s.begin(definition.GetUID())
	default:
		s.leave(defined, cmp.Or(version, definition.GetResourceVersion()))
	}
	return nil
}

func (s *store) begin(uid types.UID) {
	s.stop()
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	s.state, s.uid, s.cancel, s.done = served, uid, cancel, done
	s.watcher.Status.set(klog.FromContext(ctx), true)
	go func() {
		defer close(done)
		s.follower.Served(ctx)
	}()
}

// stop ends what the follower does while the kind is served, and waits until it has ended.
func (s *store) stop() {
	if s.state == served {
		s.cancel()
		<-s.done
	}
}

func (s *store) leave(as state, version string) {
	if s.state == as {
		return
	}
	s.stop()
	s.state = as
	s.watcher.Status.set(klog.FromContext(s.ctx), false)
	s.follower.Unserved(s.ctx, as == defined, version)
}
