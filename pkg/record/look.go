package record

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/inventory"
)

// readers bounds how many reads are made at once for a sequence.
const readers = 16

// eyes read what there is. No read names a resource version: each answer has everything that was written before it was asked for.
type eyes struct {
	workloads map[inventory.Kind]getter
	pods      metadata.Getter
}

// getter reads workloads of one kind as the Go types of client-go.
type getter struct {
	client   rest.Interface
	resource string
}

// newEyes makes eyes of a configuration without a rate limit: readers and workers bound how much is asked.
func newEyes(config *rest.Config, client *http.Client) (*eyes, error) {
	pods, err := metadata.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make client for the metadata of pods: %w", err)
	}
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	built, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make client for workloads: %w", err)
	}
	groups := map[schema.GroupVersion]rest.Interface{
		corev1.SchemeGroupVersion:  built.CoreV1().RESTClient(),
		appsv1.SchemeGroupVersion:  built.AppsV1().RESTClient(),
		batchv1.SchemeGroupVersion: built.BatchV1().RESTClient(),
	}
	e := &eyes{workloads: map[inventory.Kind]getter{}, pods: pods.Resource(corev1.SchemeGroupVersion.WithResource("pods"))}
	for _, row := range inventory.WorkloadKinds {
		e.workloads[row.Kind] = getter{groups[row.Resource.GroupVersion()], row.Resource.Resource}
	}
	return e, nil
}

// look reads what must be looked at. The pods come last, so that they are not older than a workload.
func (e *eyes) look(ctx context.Context, ripe sequence.Ripe) (sequence.Looked, error) {
	workloads, err := e.workloadsOf(ctx, ripe)
	if err != nil {
		return sequence.Looked{}, err
	}
	pods, err := e.podsIn(ctx, ripe.PodNamespaces)
	return sequence.Looked{Workloads: workloads, Pods: pods}, err
}

// workloadsOf returns those workloads of a Ripe that exist.
func (e *eyes) workloadsOf(ctx context.Context, ripe sequence.Ripe) ([]metav1.Object, error) {
	found := make([]metav1.Object, len(ripe.Workloads))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for i, workload := range ripe.Workloads {
		group.Go(func() (err error) {
			found[i], err = e.workloads[workload.Kind].get(ctx, workload.Namespace, workload.Name)
			return err
		})
	}
	err := group.Wait()
	return slices.DeleteFunc(found, func(workload metav1.Object) bool { return workload == nil }), err
}

// podsIn returns all pods of some namespaces.
func (e *eyes) podsIn(ctx context.Context, namespaces []string) ([]metav1.PartialObjectMetadata, error) {
	found := make([][]metav1.PartialObjectMetadata, len(namespaces))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for i, namespace := range namespaces {
		group.Go(func() error {
			pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return e.pods.Namespace(namespace).List(ctx, options)
			})
			err := pages.EachListItem(ctx, metav1.ListOptions{}, func(pod runtime.Object) error {
				found[i] = append(found[i], *pod.(*metav1.PartialObjectMetadata))
				return nil
			})
			if err != nil {
				return fmt.Errorf("list pods in namespace %s: %w", namespace, err)
			}
			return nil
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}

// get returns a workload, or nil if it does not exist.
func (g getter) get(ctx context.Context, namespace, name string) (metav1.Object, error) {
	object, err := g.client.Get().Namespace(namespace).Resource(g.resource).Name(name).Do(ctx).Get()
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s/%s: %w", g.resource, namespace, name, err)
	}
	workload, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("read a workload: %w", err)
	}
	return workload, nil
}
