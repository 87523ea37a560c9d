package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// argoController is the field manager with which Argo CD applies on the server.
const argoController = "argocd-controller"

// argoFlags defines the sync options of an Application, and returns what syncs an object as Argo CD does.
func argoFlags(flags *flag.FlagSet) func(context.Context, *rest.Config, *unstructured.Unstructured) (string, error) {
	serverSide := flags.Bool("server-side", false, common.SyncOptionServerSideApply)
	replace := flags.Bool("replace", false, common.SyncOptionReplace)
	force := flags.Bool("force", false, common.SyncOptionForce)
	return func(ctx context.Context, config *rest.Config, object *unstructured.Unstructured) (string, error) {
		return argoSync(ctx, config, object, sync.WithServerSideApply(*serverSide), sync.WithReplace(*replace),
			sync.WithOperationSettings(false, false, *force, false))
	}
}

// argoSync syncs an object with what the cluster has of it.
func argoSync(ctx context.Context, config *rest.Config, object *unstructured.Unstructured, options ...sync.SyncOpt) (string, error) {
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	live, err := kubectl.GetResource(ctx, config, object.GroupVersionKind(), object.GetName(), object.GetNamespace())
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("read the object: %w", err)
	}
	if err != nil {
		live = nil
	}
	state := sync.ReconciliationResult{Live: []*unstructured.Unstructured{live}, Target: []*unstructured.Unstructured{object}}
	syncing, end, err := sync.NewSyncContext("revision", state, config, config, kubectl, object.GetNamespace(),
		append(options, sync.WithLogr(logr.Discard()), sync.WithServerSideApplyManager(argoController))...)
	if err != nil {
		return "", fmt.Errorf("begin: %w", err)
	}
	defer end()
	syncing.Sync()
	_, _, results := syncing.GetState()
	if len(results) != 1 {
		return "", fmt.Errorf("there are %d results of one object", len(results))
	}
	if results[0].Status != common.ResultCodeSynced {
		return "", errors.New(results[0].Message)
	}
	return results[0].Message, nil
}
