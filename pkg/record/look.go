package record

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/inventory"
)

const (
	// readers bounds how many reads are made at once for a sequence.
	readers = 16
	// maxGets is how many workloads of a kind and a namespace are got one by one. More are listed.
	maxGets = 50
	// podsAPage is how many pods are listed at once.
	podsAPage = 1000
)

// eyes read what there is. No read names a resource version: each answer has everything that was written before it was asked for.
type eyes struct {
	kinds map[inventory.Kind]kind
	pods  metadata.Getter
}

// newEyes makes eyes of a configuration without a rate limit: readers and workers bound how much is asked.
func newEyes(config *rest.Config, client *http.Client) (*eyes, error) {
	pods, err := metadata.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make client for the metadata of pods: %w", err)
	}
	e := &eyes{kinds: map[inventory.Kind]kind{}, pods: pods.Resource(corev1.SchemeGroupVersion.WithResource("pods"))}
	for _, row := range inventory.WorkloadKinds {
		version := row.Resource.GroupVersion()
		config := rest.CopyConfig(config)
		config.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion()
		config.ContentType = runtime.ContentTypeProtobuf
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
		if config.GroupVersion, config.APIPath = &version, "/apis"; version.Group == corev1.GroupName {
			config.APIPath = "/api"
		}
		client, err := rest.RESTClientForConfigAndClient(config, client)
		if err != nil {
			return nil, fmt.Errorf("make client for %s: %w", row.Resource.Resource, err)
		}
		e.kinds[row.Kind] = kind{client, row.Resource.Resource}
	}
	return e, nil
}

// look reads what must be looked at. The pods come last, so that they are not older than a workload.
func (e *eyes) look(ctx context.Context, ripe sequence.Ripe) (sequence.Looked, error) {
	workloads, err := e.workloads(ctx, ripe)
	if err != nil {
		return sequence.Looked{}, err
	}
	pods, err := e.podsIn(ctx, ripe.PodNamespaces)
	return sequence.Looked{Workloads: workloads, Pods: pods}, err
}

// workloads returns those workloads of a Ripe that exist, in any order.
func (e *eyes) workloads(ctx context.Context, ripe sequence.Ripe) ([]metav1.Object, error) {
	type place struct {
		kind      inventory.Kind
		namespace string
	}
	asked := map[place]sets.Set[string]{}
	for _, workload := range ripe.Workloads {
		at := place{workload.Kind, workload.Namespace}
		if asked[at] == nil {
			asked[at] = sets.New[string]()
		}
		asked[at].Insert(workload.Name)
	}
	var found collector[metav1.Object]
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for at, names := range asked {
		kind, known := e.kinds[at.kind]
		switch {
		case !known:
			group.Go(func() error {
				return fmt.Errorf("read %s in namespace %s: it is no kind of workloads", at.kind, at.namespace)
			})
		case len(names) > maxGets:
			group.Go(func() error { return kind.list(ctx, at.namespace, names, found.add) })
		default:
			for name := range names {
				group.Go(func() error { return kind.get(ctx, at.namespace, name, found.add) })
			}
		}
	}
	err := group.Wait()
	return found.all, err
}

// podsIn returns all pods of some namespaces.
func (e *eyes) podsIn(ctx context.Context, namespaces []string) ([]metav1.PartialObjectMetadata, error) {
	var found collector[metav1.PartialObjectMetadata]
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for _, namespace := range namespaces {
		group.Go(func() error {
			pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return e.pods.Namespace(namespace).List(ctx, options)
			})
			pages.PageSize = podsAPage
			list, _, err := pages.List(ctx, metav1.ListOptions{})
			if err != nil {
				return fmt.Errorf("list pods in namespace %s: %w", namespace, err)
			}
			return meta.EachListItem(list, func(pod runtime.Object) error {
				found.add(*pod.(*metav1.PartialObjectMetadata))
				return nil
			})
		})
	}
	err := group.Wait()
	return found.all, err
}

// kind reads workloads of one kind as the Go types of client-go.
type kind struct {
	client   rest.Interface
	resource string
}

// get adds a workload if it exists.
func (k kind) get(ctx context.Context, namespace, name string, add func(metav1.Object)) error {
	object, err := k.client.Get().Namespace(namespace).Resource(k.resource).Name(name).Do(ctx).Get()
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get %s %s/%s: %w", k.resource, namespace, name, err)
	}
	return accept(object, add)
}

// list adds those workloads of a namespace that have one of the names.
func (k kind) list(ctx context.Context, namespace string, names sets.Set[string], add func(metav1.Object)) error {
	list, err := k.client.Get().Namespace(namespace).Resource(k.resource).Do(ctx).Get()
	if err != nil {
		return fmt.Errorf("list %s in namespace %s: %w", k.resource, namespace, err)
	}
	return meta.EachListItem(list, func(object runtime.Object) error {
		return accept(object, func(workload metav1.Object) {
			if names.Has(workload.GetName()) {
				add(workload)
			}
		})
	})
}

func accept(object runtime.Object, add func(metav1.Object)) error {
	workload, err := meta.Accessor(object)
	if err != nil {
		return fmt.Errorf("read a workload: %w", err)
	}
	add(workload)
	return nil
}

// collector takes what several readers find.
type collector[T any] struct {
	mu  sync.Mutex
	all []T
}

func (c *collector[T]) add(one T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, one)
}
