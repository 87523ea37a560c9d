package feed

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// apiServer is one that stores objects with versions in one order, lists them a few at a time, and whose watches bring what
// happened when the test says so.
type apiServer struct {
	mu sync.Mutex // guards the fields below, and those of its kinds
	*rand.Rand
	version int
	kinds   map[string]*storedKind
}

type storedKind struct {
	server  *apiServer
	log     []logged
	watches []*lateWatch
	broken  bool // lists fail
	lists   map[string]int
	listed  int // how many objects were in all lists
}

// logged is one write.
type logged struct {
	version int
	event   watch.Event
}

// object is what is stored.
type object interface {
	metav1.Object
	runtime.Object
}

func newAPIServer(seed uint64) *apiServer {
	return &apiServer{Rand: rand.New(rand.NewPCG(seed, 8)), version: 100, kinds: map[string]*storedKind{}}
}

// answer takes its time.
func (s *apiServer) answer() {
	s.mu.Lock()
	length := time.Duration(max(0, s.IntN(150)-50)) * time.Millisecond
	s.mu.Unlock()
	time.Sleep(length)
}

func (s *apiServer) kind(name string) *storedKind {
	if s.kinds[name] == nil {
		s.kinds[name] = &storedKind{server: s, lists: map[string]int{}}
	}
	return s.kinds[name]
}

// write stores an object, and gives it a version.
func (k *storedKind) write(event watch.EventType, stored object) {
	k.server.mu.Lock()
	defer k.server.mu.Unlock()
	k.server.version++
	stored.SetResourceVersion(strconv.Itoa(k.server.version))
	k.log = append(k.log, logged{k.server.version, watch.Event{Type: event, Object: stored.DeepCopyObject()}})
}

// at are the objects as they were at a version.
func (k *storedKind) at(version int) map[types.NamespacedName]object {
	objects := map[types.NamespacedName]object{}
	for _, entry := range k.log {
		stored := entry.event.Object.(object)
		key := types.NamespacedName{Namespace: stored.GetNamespace(), Name: stored.GetName()}
		switch {
		case entry.version > version:
		case entry.event.Type == watch.Deleted:
			delete(objects, key)
		default:
			objects[key] = stored
		}
	}
	return objects
}

// objectsAnAnswer is so small that most lists have several pages.
const objectsAnAnswer = 2

// list is a lister. A list that asks for a version or a later one may be of any such.
func (k *storedKind) list(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error) {
	k.server.answer()
	defer k.server.answer() // not while it is locked
	k.server.mu.Lock()
	defer k.server.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case k.broken:
		return nil, apierrors.NewServiceUnavailable("broken")
	}
	version, skip := k.server.version, 0
	switch {
	case options.Continue != "":
		if _, err := fmt.Sscanf(options.Continue, "%d/%d", &version, &skip); err != nil {
			return nil, err
		}
	case options.ResourceVersion != "":
		oldest, err := strconv.Atoi(options.ResourceVersion)
		if err != nil {
			return nil, err
		}
		version -= k.server.IntN(version - oldest + 1)
	}
	if skip == 0 {
		k.lists[namespace]++
	}
	objects, list := k.at(version), &metainternalversion.List{}
	list.ResourceVersion = strconv.Itoa(version)
	for i, key := range slices.SortedFunc(maps.Keys(objects), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }) {
		stored := objects[key]
		if (namespace != "" && key.Namespace != namespace) || i < skip || !selects(options.FieldSelector, stored) {
			continue
		}
		if options.Limit > 0 && len(list.Items) == min(objectsAnAnswer, int(options.Limit)) {
			list.Continue = fmt.Sprintf("%d/%d", version, i)
			break
		}
		list.Items = append(list.Items, stored.DeepCopyObject())
	}
	k.listed += len(list.Items)
	return list, nil
}

func selects(selector string, stored object) bool {
	pod, isPod := stored.(*corev1.Pod)
	if !isPod || selector == "" {
		return true
	}
	return fields.ParseSelectorOrDie(selector).Matches(fields.Set{"spec.nodeName": pod.Spec.NodeName, "status.phase": string(pod.Status.Phase)})
}

// newest returns the newest version of any object.
func (k *storedKind) newest() (newest string, err error) {
	k.server.answer()
	defer k.server.answer() // not while it is locked
	k.server.mu.Lock()
	defer k.server.mu.Unlock()
	if k.broken {
		return "", apierrors.NewServiceUnavailable("broken")
	}
	for _, stored := range k.at(k.server.version) {
		newest = latest(newest, stored.GetResourceVersion())
	}
	return newest, nil
}

// lateWatch brings what is written when the test says so.
type lateWatch struct {
	version int
	events  chan watch.Event
	stopped sync.Once
	done    chan struct{}
}

func (k *storedKind) watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	k.server.mu.Lock()
	defer k.server.mu.Unlock()
	from, err := strconv.Atoi(options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	w := &lateWatch{version: from, events: make(chan watch.Event), done: make(chan struct{})}
	k.watches = append(k.watches, w)
	return w, nil
}

func (w *lateWatch) ResultChan() <-chan watch.Event { return w.events }
func (w *lateWatch) Stop()                          { w.stopped.Do(func() { close(w.done) }) }

// deliver delivers the next events on the watch, up to a number. It reports whether there was one.
func (k *storedKind) deliver(most int) bool {
	k.server.mu.Lock()
	var next []watch.Event
	var w *lateWatch
	if n := len(k.watches); n > 0 {
		w = k.watches[n-1]
		for _, entry := range k.log {
			if entry.version > w.version && len(next) < most {
				next = append(next, *entry.event.DeepCopy())
				w.version = entry.version
			}
		}
	}
	k.server.mu.Unlock()
	for _, event := range next {
		w.send(event)
	}
	return len(next) > 0
}

// bookmark sends a bookmark on the watch, if the watch has brought everything.
func (k *storedKind) bookmark(empty object) {
	k.server.mu.Lock()
	if len(k.watches) == 0 {
		k.server.mu.Unlock()
		return
	}
	w := k.watches[len(k.watches)-1]
	behind := len(k.log) > 0 && k.log[len(k.log)-1].version > w.version
	if !behind {
		w.version = k.server.version
	}
	empty.SetResourceVersion(strconv.Itoa(w.version))
	k.server.mu.Unlock()
	if !behind {
		w.send(watch.Event{Type: watch.Bookmark, Object: empty})
	}
}

// breakWatch ends the watch. No other watch brings the events that it has not brought.
func (k *storedKind) breakWatch() {
	k.server.mu.Lock()
	if len(k.watches) == 0 {
		k.server.mu.Unlock()
		return
	}
	w := k.watches[len(k.watches)-1]
	k.watches = nil
	k.server.mu.Unlock()
	status := apierrors.NewResourceExpired("too old").Status()
	w.send(watch.Event{Type: watch.Error, Object: &status})
}

func (w *lateWatch) send(event watch.Event) {
	select {
	case w.events <- event:
	case <-w.done:
	}
}

// source is what a reflector needs that lists by itself.
type source struct{ *storedKind }

func (s source) List(options metav1.ListOptions) (runtime.Object, error) {
	options.Limit, options.ResourceVersion = 0, ""
	return s.list(context.Background(), "", options)
}

func (s source) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.watch(context.Background(), options)
}

func (s source) IsWatchListSemanticsUnSupported() bool { return true }

// installKinds installs the kinds of sequences.
func (s *apiServer) installKinds() {
	for _, resource := range sequenceResources {
		definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: resource.GroupResource().String(), UID: "definition"}}
		definition.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
		}
		s.kind("definition of "+resource.Resource).write(watch.Added, definition)
	}
}
