package feed

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
)

// watchedKind is a kind of built-in object that the engine gets.
type watchedKind struct {
	resource schema.GroupVersionResource
	source   cache.ListerWatcher
	object   any
	store    worldStore
}

// worldStore is a store that says when it has had its first complete list.
type worldStore interface {
	cache.TransformingStore
	listed() <-chan struct{}
	// watch is how far it has come.
	watch() *position
}

// podsAndWorkloads are the kinds that the engine gets only in namespaces of interest.
func (f *Feed) podsAndWorkloads(clients clients) ([]watchedKind, error) {
	core, err := clients.of(corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	pods := scoped(core, "pods", &corev1.Pod{}, f.pods())
	pods.object = nil // also undecoded ones
	kinds := []watchedKind{pods}
	for _, row := range sequence.WorkloadKinds() {
		client, err := clients.of(row.Resource.GroupVersion())
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, scoped(client, row.Resource.Resource, row.Object, workloads[metav1.Object](f, row.Kind)))
	}
	return kinds, nil
}

func (f *Feed) nodes(core rest.Interface) watchedKind {
	remove := func(node *corev1.Node) sequence.Changes { return f.engine.RemoveNode(node.Name) }
	return watched(core, "nodes", &corev1.Node{},
		newObjectStore(f, f.engine.ApplyNode, remove, f.engine.ReplaceNodes))
}

// watchedNamespaces hands namespaces to the engine, which say what PodSequences of other namespaces they allow, and have labels.
func (f *Feed) watchedNamespaces(core rest.Interface) watchedKind {
	store := newObjectStore(f, f.applyNamespace, f.removeNamespace, f.replaceNamespaces)
	store.trim = trimNamespace
	return watched(core, "namespaces", &corev1.Namespace{}, store)
}

func (f *Feed) applyNamespace(namespace *corev1.Namespace) sequence.Changes {
	if f.interest.holdNamespace(namespace, f.clock.Now()) {
		return f.engine.ApplyIncompleteNamespace(namespace)
	}
	return f.engine.ApplyNamespace(namespace)
}

func (f *Feed) removeNamespace(namespace *corev1.Namespace) sequence.Changes {
	f.interest.dropNamespace(namespace.Name, f.clock.Now())
	return f.engine.RemoveNamespace(namespace)
}

func (f *Feed) replaceNamespaces(list []*corev1.Namespace, version string) sequence.Changes {
	present := make(map[string]struct{}, len(list))
	for i, namespace := range list {
		present[namespace.Name] = struct{}{}
		if f.interest.holdNamespace(namespace, f.clock.Now()) {
			// The engine gets that there is one and whether it requires a sequence, but not what else it says. Without a version it
			// does not keep out what comes later.
			list[i] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace.Name, UID: namespace.UID}}
			if required, given := namespace.Annotations[v1alpha1.RequireSequenceAnnotation]; given {
				metav1.SetMetaDataAnnotation(&list[i].ObjectMeta, v1alpha1.RequireSequenceAnnotation, required)
			}
		}
	}
	f.interest.dropNamespaces(present, f.clock.Now())
	return f.engine.ReplaceNamespaces(list, version)
}

// pods hands pods to the engine: of namespaces that are not of interest those that wait for a node, for whether they may be
// scheduled depends on when the engine has seen them first.
func (f *Feed) pods() *objectStore[*corev1.Pod] {
	store := newObjectStore(f, f.engine.ApplyPod, f.engine.RemovePod, f.engine.ReplacePods)
	store.applyListed = f.engine.ApplyListedPod
	interned := &podInterner{}
	store.trim, store.intern, store.decode = interned.trimPod, interned.internPod, f.decodePod
	scope := newScope(store)
	scope.outside, scope.wanted, scope.known = waitsForNode, isWaitingForNode, f.engine.KnowsUnbound
	scope.others = []string{hasNode, hasEndedWithoutNode}
	return store
}

// waitsForNode selects the pods for which isWaitingForNode is true.
var waitsForNode = fields.AndSelectors(
	fields.OneTermEqualSelector("spec.nodeName", ""),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
).String()

// hasNode and hasEndedWithoutNode select all other pods. A selector has no "or"; these are all phases but the two of the end.
var (
	hasNode             = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
	hasEndedWithoutNode = fields.AndSelectors(
		fields.OneTermEqualSelector("spec.nodeName", ""),
		fields.OneTermNotEqualSelector("status.phase", ""),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodPending)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodRunning)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodUnknown)),
	).String()
)

func isWaitingForNode(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// scoped is a kind that the engine gets only in namespaces of interest.
func scoped[T metav1.Object](client rest.Interface, resource string, object T, store *objectStore[T]) watchedKind {
	kind := watched(client, resource, object, store)
	store.scope.list, store.scope.watch = listerOf(client, resource), kind.source.(cache.WatcherWithContext).WatchWithContext
	kind.source = store.scope
	return kind
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
	store := newObjectStore(f,
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
	newScope(store)
	return store
}
