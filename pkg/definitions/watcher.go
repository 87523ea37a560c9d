// Package definitions knows whether a kind is installed, by a watch of the one CustomResourceDefinition that defines it. To
// find out by listing objects of the kind would take polling to notice when it comes.
package definitions

import (
	"context"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const resource = "customresourcedefinitions"

// Follower does something while a kind is installed. Its methods are called one at a time, in the order of the watch.
type Follower interface {
	// Installed is called when the API server serves the kind. If the definition was replaced while the watch was
	// interrupted, it is called again, without Removed.
	Installed(ctx context.Context)
	// Removed is called when the definition is gone, and when it is first known that there is none.
	Removed(ctx context.Context)
}

// Watcher watches one definition.
type Watcher struct {
	status *Status
	source cache.ListerWatcher
}

// New returns a Watcher that does nothing until Run.
func New(config *rest.Config, kind schema.GroupResource) (*Watcher, error) {
	client, err := apiextensionsclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client for custom resource definitions: %w", err)
	}
	return newWatcher(kind, cache.NewListWatchFromClient(client.ApiextensionsV1().RESTClient(), resource, "",
		fields.OneTermEqualSelector(metav1.ObjectNameField, kind.String()))), nil
}

func newWatcher(kind schema.GroupResource, source cache.ListerWatcher) *Watcher {
	return &Watcher{status: &Status{Resource: kind}, source: source}
}

// Run watches until the context ends, however often the watch breaks.
func (w *Watcher) Run(ctx context.Context, follower Follower) {
	store := &store{ctx: ctx, status: w.status, follower: follower}
	reflector := cache.NewReflectorWithOptions(w.source, &apiextensionsv1.CustomResourceDefinition{}, store,
		cache.ReflectorOptions{Name: "podsequence/" + w.status.Resource.String()})
	backoff := wait.Backoff{Duration: 200 * time.Millisecond, Cap: 30 * time.Second, Steps: 10, Factor: 2, Jitter: 0.2}
	_ = backoff.DelayWithReset(clock.RealClock{}, 2*time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Could not watch whether a kind is installed, will retry", "definition", w.status.Resource)
		}
		return false, nil
	})
}

// store turns what the watch brings into calls of the follower.
type store struct {
	ctx      context.Context // of Run
	status   *Status
	follower Follower

	served types.UID // of the definition that the follower was told of last
	gone   bool      // the follower was told that there is none
}

// A reflector calls its store from one goroutine, in the order of the watch.
var _ cache.ReflectorStore = &store{}

func (s *store) Add(obj any) error { return s.Update(obj) }
func (s *store) Resync() error     { return nil }
func (s *store) Delete(any) error  { return s.Replace(nil, "") }

func (s *store) Update(obj any) error {
	definition, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
	switch {
	case !ok:
		return fmt.Errorf("watch brought a %T, want a %T", obj, definition)
	case definition.UID == s.served:
		return nil
	case !established(definition):
		// Until then it is as if there was none: it may never be, if its names are taken.
		return s.Replace(nil, "")
	}
	s.served, s.gone = definition.UID, false
	s.status.Set(klog.FromContext(s.ctx), true)
	s.follower.Installed(s.ctx)
	return nil
}

func (s *store) Replace(list []any, _ string) error {
	if len(list) > 0 {
		return s.Update(list[0])
	}
	if s.gone {
		return nil
	}
	s.served, s.gone = "", true
	s.status.Set(klog.FromContext(s.ctx), false)
	s.follower.Removed(s.ctx)
	return nil
}

func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}
