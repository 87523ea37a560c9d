package podseqctl

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// Source is where the commands read from.
type Source interface {
	// Gather reads what has to do with the pods of a namespace, see snapshot.Reader.
	Gather(ctx context.Context, namespace string, all bool) (*snapshot.Objects, error)
	// List reads the sequences of a namespace, all if it is empty, and those that are cluster-scoped. It also says what may not
	// be read.
	List(ctx context.Context, namespace string) (sequences []*snapshot.Sequence, unread []string, err error)
	// Get reads one sequence: a ClusterPodSequence if the namespace is empty.
	Get(ctx context.Context, namespace, name string) (*snapshot.Sequence, error)
	// Changed returns a channel that has a token whenever something may be different: sequences, and pods of the namespace.
	Changed(ctx context.Context, namespace string) (<-chan struct{}, error)
}

// apiSource reads from the API server.
type apiSource struct {
	*snapshot.Reader
	core    kubernetes.Interface
	dynamic dynamic.Interface
}

func (s *apiSource) List(ctx context.Context, namespace string) (sequences []*snapshot.Sequence, unread []string, err error) {
	list, err := s.dynamic.Resource(v1alpha1.PodSequenceResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, listError("PodSequences", namespace, s.Served(ctx, v1alpha1.PodSequenceResource, err))
	}
	items := list.Items
	list, err = s.dynamic.Resource(v1alpha1.ClusterPodSequenceResource).List(ctx, metav1.ListOptions{})
	err = s.Served(ctx, v1alpha1.ClusterPodSequenceResource, err)
	missing, notInstalled := errors.AsType[*snapshot.NotInstalledError](err)
	switch {
	case err == nil:
		items = append(items, list.Items...)
	case notInstalled:
		unread = append(unread, missing.Error())
	case apierrors.IsForbidden(err):
		unread = append(unread, "you may not read ClusterPodSequences; "+snapshot.AskFor(snapshot.ClusterViewRole, ""))
	default:
		return nil, nil, fmt.Errorf("list ClusterPodSequences: %w", err)
	}
	for i := range items {
		each, err := snapshot.NewSequence(&items[i])
		if err != nil {
			unread = append(unread, err.Error())
			continue
		}
		sequences = append(sequences, each)
	}
	return sequences, unread, nil
}

func listError(what, namespace string, err error) error {
	_, notInstalled := errors.AsType[*snapshot.NotInstalledError](err)
	switch {
	case notInstalled:
		return err
	case apierrors.IsForbidden(err) && namespace == "":
		return fmt.Errorf("list %s of all namespaces: %w; leave --all-namespaces out, or %s", what, err, snapshot.AskFor("view", ""))
	case apierrors.IsForbidden(err):
		return fmt.Errorf("list %s: %w; %s", what, err, snapshot.AskFor("view", namespace))
	}
	return fmt.Errorf("list %s: %w", what, err)
}

func (s *apiSource) Get(ctx context.Context, namespace, name string) (*snapshot.Sequence, error) {
	kind := v1alpha1.ClusterPodSequenceResource
	var resource dynamic.ResourceInterface = s.dynamic.Resource(kind)
	if namespace != "" {
		kind = v1alpha1.PodSequenceResource
		resource = s.dynamic.Resource(kind).Namespace(namespace)
	}
	object, err := resource.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, s.Served(ctx, kind, err)
	}
	return snapshot.NewSequence(object)
}

func (s *apiSource) Changed(ctx context.Context, namespace string) (<-chan struct{}, error) {
	changed := make(chan struct{}, 1)
	var watched int
	var failed error
	for _, resource := range []dynamic.ResourceInterface{
		s.dynamic.Resource(v1alpha1.PodSequenceResource).Namespace(namespace),
		s.dynamic.Resource(v1alpha1.ClusterPodSequenceResource),
		s.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(namespace),
	} {
		list, err := resource.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			failed = err
			continue // what may not be read is not shown either
		}
		watched++
		go follow(ctx, resource, list, changed)
	}
	if watched == 0 {
		if apierrors.IsForbidden(failed) {
			failed = fmt.Errorf("%w; %s", failed, snapshot.AskFor("view", namespace))
		}
		return nil, fmt.Errorf("watch: %w", failed)
	}
	return changed, nil
}

// follow watches a kind until the context ends. A watch that ends begins anew, and counts as a change.
func follow(ctx context.Context, resource dynamic.ResourceInterface, list *unstructured.UnstructuredList, changed chan<- struct{}) {
	version := list.GetResourceVersion()
	for ctx.Err() == nil {
		watcher, err := resource.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
		if err == nil {
			for event := range watcher.ResultChan() {
				if event.Type == watch.Error {
					break
				}
				notify(changed)
			}
			watcher.Stop()
		}
		version = "" // from now on
		notify(changed)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): // not faster than the API server allows
		}
	}
}

func notify(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}
