package feed

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/inventory"
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
	cache.ReflectorStore
	listed() <-chan struct{}
}

// watchBuiltInKinds makes the feed watch pods, workloads, namespaces, which say what PodSequences of other namespaces they allow and have
// labels, and, if asked to, nodes.
func (f *Feed) watchBuiltInKinds(config *rest.Config, nodes bool) error {
	clients, err := newClients(config)
	if err != nil {
		return err
	}
	core, err := clients.of(corev1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	namespaces := newObjectStore(f, f.engine.ApplyNamespace, f.engine.RemoveNamespace, f.engine.ReplaceNamespaces)
	f.namespaces = &position{resource: "namespaces"}
	namespaces.position = f.namespaces
	f.world = []watchedKind{
		watched(core, "pods", &corev1.Pod{}, newObjectStore(f, f.engine.ApplyPod, f.engine.RemovePod, f.engine.ReplacePods)),
		watched(core, "namespaces", &corev1.Namespace{}, namespaces),
	}
	if nodes {
		remove := func(node *corev1.Node) sequence.Changes { return f.engine.RemoveNode(node.Name) }
		f.world = append(f.world, watched(core, "nodes", &corev1.Node{}, newObjectStore(f, f.engine.ApplyNode, remove, f.engine.ReplaceNodes)))
	}
	for _, row := range inventory.WorkloadKinds {
		client, err := clients.of(row.Resource.GroupVersion())
		if err != nil {
			return err
		}
		f.world = append(f.world, watched(client, row.Resource.Resource, row.Object, f.workloads(row.Kind)))
	}
	return nil
}

func watched(client rest.Interface, resource string, object any, store worldStore) watchedKind {
	return watchedKind{
		resource: client.APIVersion().WithResource(resource), object: object, store: store,
		source: cache.NewListWatchFromClient(client, resource, corev1.NamespaceAll, fields.Everything()),
	}
}

// workloads hands one kind of workload to the engine.
func (f *Feed) workloads(kind inventory.Kind) *objectStore[metav1.Object] {
	replace := func(list []metav1.Object, version string) sequence.Changes {
		return f.engine.ReplaceWorkloads(kind, list, version)
	}
	return newObjectStore(f, f.engine.ApplyWorkload, f.engine.RemoveWorkload, replace)
}
