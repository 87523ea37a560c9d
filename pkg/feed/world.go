package feed

import (
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/podsequence/pkg/sequence"
)

// watchedKind is a kind of built-in object that the engine is told of.
type watchedKind struct {
	resource schema.GroupVersionResource
	source   cache.ListerWatcher
	object   any
	store    worldStore
	kind     sequence.WorkloadKind // empty for nodes and namespaces
	breadth  sequence.Breadth      // of the questions that concern it
}

// worldStore is a store that tells when it has had its first complete list.
type worldStore interface {
	cache.TransformingStore
	cache.ReflectorBookmarkStore
	listed() <-chan struct{}
	// watch is how far it has come.
	watch() *position
}

// podsAndWorkloads are the kinds of which the engine may ask whether anything is missing.
func (f *Feed) podsAndWorkloads(core kubernetes.Interface) []watchedKind {
	v1, apps, batch := core.CoreV1().RESTClient(), core.AppsV1().RESTClient(), core.BatchV1().RESTClient()
	kinds := []watchedKind{
		watched(v1, "pods", &corev1.Pod{}, f.pods()),
		watched(apps, "daemonsets", &appsv1.DaemonSet{}, workloads[*appsv1.DaemonSet](f, sequence.KindDaemonSet)),
		watched(apps, "deployments", &appsv1.Deployment{}, workloads[*appsv1.Deployment](f, sequence.KindDeployment)),
		watched(apps, "replicasets", &appsv1.ReplicaSet{}, workloads[*appsv1.ReplicaSet](f, sequence.KindReplicaSet)),
		watched(apps, "statefulsets", &appsv1.StatefulSet{}, workloads[*appsv1.StatefulSet](f, sequence.KindStatefulSet)),
		watched(batch, "jobs", &batchv1.Job{}, workloads[*batchv1.Job](f, sequence.KindJob)),
		watched(v1, "replicationcontrollers", &corev1.ReplicationController{},
			workloads[*corev1.ReplicationController](f, sequence.KindReplicationController)),
	}
	for i, kind := range []sequence.WorkloadKind{
		sequence.KindPod, sequence.KindDaemonSet, sequence.KindDeployment, sequence.KindReplicaSet, sequence.KindStatefulSet,
		sequence.KindJob, sequence.KindReplicationController,
	} {
		kinds[i].kind = kind
		kinds[i].breadth = min(sequence.Breadth(i), sequence.OfWorkloads) // pods and DaemonSets come first
	}
	return kinds
}

func (f *Feed) nodes(core kubernetes.Interface) watchedKind {
	remove := func(node *corev1.Node) sequence.Changes { return f.engine.RemoveNode(node.Name) }
	return watched(core.CoreV1().RESTClient(), "nodes", &corev1.Node{},
		newObjectStore(f, f.engine.ApplyNode, remove, f.engine.ReplaceNodes))
}

// namespaces hands namespaces to the engine, which say what PodSequences of other namespaces they allow.
func (f *Feed) namespaces(core kubernetes.Interface) watchedKind {
	store := newObjectStore(f, f.engine.ApplyNamespace, f.engine.RemoveNamespace, f.engine.ReplaceNamespaces)
	store.trim = trimNamespace
	return watched(core.CoreV1().RESTClient(), "namespaces", &corev1.Namespace{}, store)
}

// pods hands pods to the engine.
func (f *Feed) pods() *objectStore[*corev1.Pod] {
	store := newObjectStore(f, f.engine.ApplyPod, f.engine.RemovePod, f.engine.ReplacePods)
	interned := &interned{}
	store.trim, store.intern = interned.trimPod, interned.internPod
	return store
}

func watched(client rest.Interface, resource string, object any, store worldStore) watchedKind {
	store.watch().resource = resource
	return watchedKind{
		resource: client.APIVersion().WithResource(resource), object: object, store: store,
		source: cache.NewListWatchFromClient(client, resource, corev1.NamespaceAll, fields.Everything()),
	}
}

// workloads hands one kind of workload to the engine.
func workloads[T metav1.Object](f *Feed, kind sequence.WorkloadKind) *objectStore[T] {
	return newObjectStore(f,
		func(object T) sequence.Changes { return f.engine.ApplyWorkload(object) },
		func(object T) sequence.Changes { return f.engine.RemoveWorkload(object) },
		func(list []T, version string) sequence.Changes {
			objects := make([]metav1.Object, len(list))
			for i, object := range list {
				objects[i] = object
			}
			return f.engine.ReplaceWorkloads(kind, objects, version)
		},
	)
}

// objectStore hands objects of one type to the engine.
type objectStore[T metav1.Object] struct {
	feed          *Feed
	position      *position
	apply, remove func(T) sequence.Changes
	replace       func(list []T, version string) sequence.Changes

	trim   func(T) T // of what is listed; nil if it is taken as it is
	intern func(T)   // of what is watched; nil if it is taken as it is

	once  sync.Once
	first chan struct{} // closed after the first complete list
}

func newObjectStore[T metav1.Object](f *Feed, apply, remove func(T) sequence.Changes, replace func([]T, string) sequence.Changes) *objectStore[T] {
	return &objectStore[T]{
		feed: f, position: newPosition("", f.versions), apply: apply, remove: remove, replace: replace, first: make(chan struct{}),
	}
}

func (s *objectStore[T]) Add(obj any) error       { return s.Update(obj) }
func (s *objectStore[T]) Resync() error           { return nil }
func (s *objectStore[T]) Update(obj any) error    { return s.enter(obj, s.apply) }
func (s *objectStore[T]) listed() <-chan struct{} { return s.first }
func (s *objectStore[T]) watch() *position        { return s.position }

func (s *objectStore[T]) Delete(obj any) error {
	defer s.position.removed()
	return s.enter(obj, s.remove)
}

// Bookmark notes how far the watch has come.
func (s *objectStore[T]) Bookmark(resourceVersion string) error {
	s.position.bookmark(resourceVersion)
	return nil
}

// Transformer has a reflector trim what it lists.
func (s *objectStore[T]) Transformer() cache.TransformFunc {
	if s.trim == nil {
		return nil
	}
	return func(obj any) (any, error) {
		object, err := as[T](obj)
		if err != nil {
			return nil, err
		}
		return s.trim(object), nil
	}
}

func (s *objectStore[T]) enter(obj any, enter func(T) sequence.Changes) error {
	object, err := as[T](obj)
	if err != nil {
		return err
	}
	if s.intern != nil {
		s.intern(object)
	}
	s.applyAt(object.GetResourceVersion(), func() sequence.Changes { return enter(object) })
	return nil
}

func (s *objectStore[T]) Replace(list []any, resourceVersion string) error {
	objects, err := allAs[T](list)
	if err != nil {
		return err
	}
	defer s.position.removed()
	s.applyAt(resourceVersion, func() sequence.Changes { return s.replace(objects, resourceVersion) })
	s.once.Do(func() { close(s.first) })
	return nil
}

// applyAt notes how far the watch has come before questions are asked about that.
func (s *objectStore[T]) applyAt(version string, enter func() sequence.Changes) {
	s.feed.applyAt(s.position, version, enter)
}
