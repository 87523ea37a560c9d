package podseqctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

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

// Quotas returns the quotas of a namespace.
func (s *apiSource) Quotas(ctx context.Context, namespace string) ([]*corev1.ResourceQuota, error) {
	list, err := s.core.CoreV1().ResourceQuotas(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list ResourceQuotas: %w", err)
	}
	quotas := make([]*corev1.ResourceQuota, len(list.Items))
	for i := range list.Items {
		quotas[i] = &list.Items[i]
	}
	return quotas, nil
}

func (s *apiSource) KubernetesVersion(ctx context.Context) (string, error) {
	var info version.Info
	body, err := s.core.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(body, &info); err != nil {
		return "", fmt.Errorf("read the version of the API server: %w", err)
	}
	return info.GitVersion, nil
}

func (s *apiSource) Programs(ctx context.Context, namespace string) ([]Program, error) {
	list, err := s.core.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=podsequence"})
	if err != nil {
		return nil, err
	}
	programs := make([]Program, 0, len(list.Items))
	for _, d := range list.Items {
		p := Program{Namespace: d.Namespace, Name: d.Name, Ready: d.Status.ReadyReplicas, Replicas: ptr.Deref(d.Spec.Replicas, 1)}
		if containers := d.Spec.Template.Spec.Containers; len(containers) > 0 {
			p.Image = containers[0].Image
		}
		programs = append(programs, p)
	}
	return programs, nil
}

func (s *apiSource) Patch(ctx context.Context, of *snapshot.Sequence, patch []byte, dryRun bool) error {
	_, err := s.resourceOf(of).Patch(ctx, of.Key().Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: fieldManager, DryRun: dryRunOf(dryRun)})
	return err
}

func (s *apiSource) Emit(ctx context.Context, event *eventsv1.Event, dryRun bool) error {
	_, err := s.core.EventsV1().Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{FieldManager: fieldManager, DryRun: dryRunOf(dryRun)})
	return err
}

func (s *apiSource) Whoami(ctx context.Context) (string, error) {
	review, err := s.core.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("ask who the user is: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

func (s *apiSource) resourceOf(of *snapshot.Sequence) dynamic.ResourceInterface {
	if of.IsCluster() {
		return s.dynamic.Resource(v1alpha1.ClusterPodSequenceResource)
	}
	return s.dynamic.Resource(v1alpha1.PodSequenceResource).Namespace(of.Key().Namespace)
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
