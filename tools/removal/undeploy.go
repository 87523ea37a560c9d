package removal

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// policyKinds change new objects: they give pods to our scheduler and pause Deployments.
var policyKinds = []string{"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}

// Undeploy removes what the manifests installed, but for the kinds and their objects, and releases what we held. The order
// matters: nothing new is given to us, then our programs end, then they may write nothing any more, and only then is released
// what they would take hold of again.
func (r *Remover) Undeploy(ctx context.Context, manifests []*unstructured.Unstructured) error {
	if err := r.deleteAll(ctx, ofKinds(manifests, policyKinds...)); err != nil {
		return err
	}
	if err := r.stopPrograms(ctx, ofKinds(manifests, deploymentKind)); err != nil {
		return err
	}
	others := notOfKinds(manifests, append(policyKinds, definitionKind, namespaceKind, deploymentKind)...)
	if err := r.deleteAll(ctx, others); err != nil {
		return err
	}
	if err := r.releaseAll(ctx); err != nil {
		return err
	}
	if err := r.deleteNamespaces(ctx, ofKinds(manifests, namespaceKind)); err != nil {
		return err
	}
	// Until now an API server may not have known that the policy which pauses Deployments is gone.
	if err := r.releaseAll(ctx); err != nil {
		return err
	}
	if r.changes == 0 {
		r.say("Nothing to do: no part of PodSequence is deployed, and no Deployment is paused by it.")
	}
	if err := r.reportSteps(ctx); err != nil {
		return err
	}
	return r.reportPods(ctx, r.SchedulerNames)
}

func (r *Remover) deleteAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if _, err := r.delete(ctx, object, metav1.DeletePropagationBackground); err != nil {
			return err
		}
	}
	return nil
}

// stopPrograms deletes Deployments and waits until their pods have ended.
func (r *Remover) stopPrograms(ctx context.Context, deployments []*unstructured.Unstructured) error {
	return r.deleteAndAwait(ctx, deployments, metav1.DeletePropagationForeground, func(ctx context.Context, d *unstructured.Unstructured) string {
		return r.podsOf(ctx, d)
	})
}

// podsOf names the pods of a Deployment that have not ended.
func (r *Remover) podsOf(ctx context.Context, d *unstructured.Unstructured) string {
	selector, _, _ := unstructured.NestedStringMap(d.Object, "spec", "selector", "matchLabels")
	var names []string
	err := r.each(ctx, &corev1.PodList{}, func(object client.Object) error {
		pod := object.(*corev1.Pod)
		names = append(names, fmt.Sprintf("%s on node %s", pod.Name, pod.Spec.NodeName))
		return nil
	}, client.InNamespace(d.GetNamespace()), client.MatchingLabels(selector))
	if err != nil {
		return err.Error()
	}
	if len(names) == 0 {
		return "the garbage collector of kube-controller-manager has not removed it yet"
	}
	return "its pods have not ended: " + strings.Join(names, ", ")
}

// deleteNamespaces waits for what is in the namespaces, too.
func (r *Remover) deleteNamespaces(ctx context.Context, namespaces []*unstructured.Unstructured) error {
	return r.deleteAndAwait(ctx, namespaces, metav1.DeletePropagationBackground, func(ctx context.Context, n *unstructured.Unstructured) string {
		namespace := &corev1.Namespace{}
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(n), namespace); err != nil {
			return err.Error()
		}
		var why []string
		for _, condition := range namespace.Status.Conditions {
			if condition.Status == corev1.ConditionTrue {
				why = append(why, condition.Message)
			}
		}
		return strings.Join(why, "; ")
	})
}

// deleteAndAwait deletes all objects, then waits for each; why says what keeps one.
func (r *Remover) deleteAndAwait(
	ctx context.Context, objects []*unstructured.Unstructured, policy metav1.DeletionPropagation,
	why func(context.Context, *unstructured.Unstructured) string,
) error {
	var going []*unstructured.Unstructured
	for _, object := range objects {
		exists, err := r.delete(ctx, object, policy)
		if err != nil {
			return err
		}
		if exists {
			going = append(going, object)
		}
	}
	for _, object := range going {
		err := r.awaitGone(ctx, object.GroupVersionKind(), client.ObjectKeyFromObject(object), func(ctx context.Context) string {
			return why(ctx, object)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
