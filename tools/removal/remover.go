package removal

import (
	"context"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize is how many objects one request lists.
const pageSize = 500

// Options say what belongs to us, and how to remove it.
type Options struct {
	// SchedulerNames are the profiles of podsequence-scheduler: nobody schedules their pods once it is gone.
	SchedulerNames []string
	// GatePrefixes are the beginnings of our gates: nobody lifts them once we are gone.
	GatePrefixes []string
	// Timeout is how long to wait at most for each object that takes time to go.
	Timeout time.Duration
	// Out is told of every step.
	Out io.Writer
}

// Remover removes PodSequence from one cluster.
type Remover struct {
	Options
	client client.WithWatch
	// changes counts what was changed.
	changes int
}

// New returns a Remover. The client's scheme must know the kinds of Kubernetes and ours.
func New(c client.WithWatch, options Options) *Remover {
	return &Remover{Options: options, client: c}
}

// say prints a line.
func (r *Remover) say(format string, args ...any) { fmt.Fprintf(r.Out, format+"\n", args...) }

// did prints and counts one change.
func (r *Remover) did(verb, kind string, object metav1.Object) {
	r.changes++
	r.say("%-9s %s %s", verb, kind, nameOf(object))
}

// nameOf is how people name an object.
func nameOf(object metav1.Object) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// isAbsent reports whether an object is not there, or not even its kind.
func isAbsent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// delete deletes an object if it is there and is not being deleted already. It reports whether it is there.
func (r *Remover) delete(ctx context.Context, object client.Object, policy metav1.DeletionPropagation) (bool, error) {
	kind := object.GetObjectKind().GroupVersionKind()
	found := metadataOf(kind)
	err := r.client.Get(ctx, client.ObjectKeyFromObject(object), found)
	if isAbsent(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get %s %s: %w", kind.Kind, nameOf(object), err)
	}
	if found.DeletionTimestamp != nil {
		return true, nil
	}
	doomed := &unstructured.Unstructured{} // of any kind, whether the scheme knows it or not
	doomed.SetGroupVersionKind(kind)
	doomed.SetNamespace(found.Namespace)
	doomed.SetName(found.Name)
	uid := client.Preconditions{UID: &found.UID}
	if err := r.client.Delete(ctx, doomed, uid, client.PropagationPolicy(policy)); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("delete %s %s: %w", kind.Kind, nameOf(object), err)
	}
	r.did("deleted", kind.Kind, object)
	return true, nil
}

func metadataOf(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}

// each calls visit with every object of the kind of the empty list. There are none if the kind is not there.
func (r *Remover) each(ctx context.Context, empty client.ObjectList, visit func(client.Object) error, options ...client.ListOption) error {
	options = append(options, client.Limit(pageSize))
	for token := ""; ; {
		list := empty.DeepCopyObject().(client.ObjectList) // decoding leaves what the answer lacks as it was
		err := r.client.List(ctx, list, append(options, client.Continue(token))...)
		if isAbsent(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		err = meta.EachListItem(list, func(item runtime.Object) error { return visit(item.(client.Object)) })
		if err != nil {
			return err
		}
		if token = list.GetContinue(); token == "" {
			return nil
		}
	}
}

// eachMetadata is each for a kind of which only metadata matter.
func (r *Remover) eachMetadata(
	ctx context.Context, kind schema.GroupVersionKind, visit func(*metav1.PartialObjectMetadata) error, options ...client.ListOption,
) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return r.each(ctx, list, func(object client.Object) error {
		metadata := object.(*metav1.PartialObjectMetadata)
		metadata.SetGroupVersionKind(kind)
		return visit(metadata)
	}, options...)
}
