package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/fluxcd/pkg/ssa"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	fluxController = "kustomize-controller"
	fluxGroup      = "kustomize.toolkit.fluxcd.io"
)

// fluxFlags defines the options of a Kustomization, and returns what applies an object as kustomize-controller does.
func fluxFlags(flags *flag.FlagSet) func(context.Context, *rest.Config, *unstructured.Unstructured) (string, error) {
	force := flags.Bool("force", false, "spec.force of the Kustomization")
	strategy := flags.String("ssa", "", "value of the annotation "+fluxGroup+"/ssa of the object")
	return func(ctx context.Context, config *rest.Config, object *unstructured.Unstructured) (string, error) {
		if *strategy != "" {
			annotate(object, fluxGroup+"/ssa", *strategy)
		}
		api, err := client.New(config, client.Options{})
		if err != nil {
			return "", fmt.Errorf("create client: %w", err)
		}
		manager := ssa.NewResourceManager(api, nil, ssa.Owner{Field: fluxController, Group: fluxGroup})
		manager.SetOwnerLabels([]*unstructured.Unstructured{object}, "shop", "flux-system")
		changes, err := manager.ApplyAllStaged(ctx, []*unstructured.Unstructured{object}, fluxOptions(*force))
		if err != nil {
			return "", fmt.Errorf("apply: %w", err)
		}
		return changes.String(), nil
	}
}

// fluxOptions are those with which kustomize-controller applies. It takes over what a manager wrote whose name begins with that of one
// of these, and removes of it what the manifest does not have.
func fluxOptions(force bool) ssa.ApplyOptions {
	options := ssa.DefaultApplyOptions()
	options.Force = force
	options.ExclusionSelector = map[string]string{fluxGroup + "/reconcile": "disabled", fluxGroup + "/ssa": "Ignore"}
	options.IfNotPresentSelector = map[string]string{fluxGroup + "/ssa": "IfNotPresent"}
	options.ForceSelector = map[string]string{fluxGroup + "/force": "enabled"}
	options.Cleanup = ssa.ApplyCleanupOptions{
		Annotations: []string{corev1.LastAppliedConfigAnnotation},
		FieldManagers: []ssa.FieldManager{
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: fluxController, OperationType: metav1.ManagedFieldsOperationUpdate},
		},
		Exclusions: map[string]string{fluxGroup + "/ssa": "Merge"},
	}
	return options
}

func annotate(object *unstructured.Unstructured, name, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	object.SetAnnotations(annotations)
}
