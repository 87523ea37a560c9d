package player

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/prove/plan"
)

const (
	// requestTimeout is how long a request may take until it is made again: a stopped API server never answers.
	requestTimeout = 5 * time.Second
	// retryPause is between two tries.
	retryPause = 100 * time.Millisecond
	// refusalPatience is how long a request is tried again that the API server may accept later: in a namespace that is not
	// ready for pods yet, or under a name that another object has which is on its way out.
	refusalPatience = 10 * time.Second
	// patience is how long any other request is tried again.
	patience = 3 * time.Minute
)

// kinds are those that plans have objects of.
var kinds = map[string]schema.GroupVersion{
	"Namespace": {Version: "v1"}, "Node": {Version: "v1"}, "Pod": {Version: "v1"}, "Service": {Version: "v1"}, "ReplicationController": {Version: "v1"},
	"Deployment": {Group: "apps", Version: "v1"}, "ReplicaSet": {Group: "apps", Version: "v1"}, "StatefulSet": {Group: "apps", Version: "v1"},
	"DaemonSet": {Group: "apps", Version: "v1"}, "Job": {Group: "batch", Version: "v1"},
	"PodSequence": v1alpha1.GroupVersion, "ClusterPodSequence": v1alpha1.GroupVersion,
}

// refused says that the API server has refused a step, or that there was nothing to do it to. That happens to users, too.
type refused struct{ error }

// user does what steps say about objects.
type user struct{ api client.Client }

// do does a step about objects, as often as it takes until there is an answer.
func (u user) do(ctx context.Context, step plan.Step) error {
	began := time.Now()
	for {
		request, cancel := context.WithTimeout(ctx, requestTimeout)
		err := u.try(request, step)
		cancel()
		waited := time.Since(began)
		switch {
		case err == nil:
			return nil
		case final(step.Verb, err), mayPass(err) && waited > refusalPatience:
			return refused{err}
		case ctx.Err() != nil || waited > patience:
			return err
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
}

// final reports whether the same request would get the same answer. What is not found when it is created is its kind, whose definition
// may come back.
func final(verb plan.Verb, err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err) && verb != plan.Create
}

func mayPass(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}

func (u user) try(ctx context.Context, step plan.Step) error {
	switch step.Verb {
	case plan.PatchPods, plan.DeletePods:
		return u.eachPod(ctx, step)
	case plan.Create:
		return u.create(ctx, step)
	case plan.Reboot:
		return cluster.RebootSimulated(ctx, u.api, step.Args[0], "at "+step.At.String())
	}
	policy := metav1.DeletePropagationBackground
	if step.Verb == plan.DeleteAs {
		policy, step.Args = metav1.DeletionPropagation(step.Args[0]), step.Args[1:]
	}
	object, err := named(step)
	if err != nil {
		return err
	}
	patch := client.RawPatch(types.MergePatchType, []byte(step.Body))
	switch step.Verb {
	case plan.Patch:
		return u.api.Patch(ctx, object, patch)
	case plan.PatchStatus:
		return u.api.Status().Patch(ctx, object, patch)
	case plan.Delete, plan.DeleteAs:
		return u.api.Delete(ctx, object, client.PropagationPolicy(policy))
	}
	return fmt.Errorf("%s is nothing to do to an object", step.Verb)
}

// named is an object with the name that a step has, and nothing else.
func named(step plan.Step) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	version, known := kinds[step.Args[0]]
	if !known {
		return nil, fmt.Errorf("unknown kind %s", step.Args[0])
	}
	object.SetGroupVersionKind(version.WithKind(step.Args[0]))
	namespace, name, namespaced := strings.Cut(step.Args[1], "/")
	if !namespaced {
		namespace, name = "", step.Args[1]
	}
	object.SetNamespace(namespace)
	object.SetName(name)
	return object, nil
}

func (u user) create(ctx context.Context, step plan.Step) error {
	object, err := named(step)
	if err != nil {
		return err
	}
	there := object.DeepCopy()
	if err := json.Unmarshal([]byte(step.Body), &object.Object); err != nil {
		return fmt.Errorf("decode object: %w", err)
	}
	err = u.api.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	// An earlier try may have created it, though its answer was lost.
	if found := u.api.Get(ctx, client.ObjectKeyFromObject(there), there); found == nil && there.GetDeletionTimestamp() == nil {
		return nil
	}
	return err
}

// eachPod does something to all pods there are of a namespace with some labels.
func (u user) eachPod(ctx context.Context, step plan.Step) error {
	selector, err := labels.Parse(step.Args[1])
	if err != nil {
		return err
	}
	var pods corev1.PodList
	if err := u.api.List(ctx, &pods, client.InNamespace(step.Args[0]), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return err
	}
	var errs []error
	for i := range pods.Items {
		pod := &pods.Items[i]
		if step.Verb == plan.DeletePods {
			err = u.api.Delete(ctx, pod)
		} else {
			err = u.api.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(step.Body)))
		}
		errs = append(errs, client.IgnoreNotFound(err))
	}
	return errors.Join(errs...)
}

func isRefused(err error) bool {
	var r refused
	return errors.As(err, &r)
}
