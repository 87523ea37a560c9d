package controlplane

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/tools/sandbox/controlplane/stages"
)

// stageDefinition defines the kind Stage of KWOK, which itself checks what is in a Stage.
const stageDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: stages.kwok.x-k8s.io
spec:
  group: kwok.x-k8s.io
  names: {kind: Stage, listKind: StageList, plural: stages, singular: stage}
  scope: Cluster
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// applyStages makes the API server serve Stages, and creates those that KWOK plays.
func (b *bringUp) applyStages(ctx context.Context) error {
	applier, err := client.New(b.cluster.config, client.Options{})
	if err != nil {
		return fmt.Errorf("create client for stages: %w", err)
	}
	ours, err := stages.Documents(b.plan.NodeMonitorGracePeriod)
	if err != nil {
		return err
	}
	definition, err := decodeObjects(stageDefinition)
	if err != nil {
		return err
	}
	if err := applyAll(ctx, applier, definition); err != nil {
		return err
	}
	if err := waitForDefinitions(ctx, b.cluster.config, definition); err != nil {
		return err
	}
	all, err := decodeObjects(append(ours, b.plan.Stages...)...)
	if err != nil {
		return err
	}
	return applyAll(ctx, applier, all)
}

func decodeObjects(documents ...string) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, 0, len(documents))
	for _, document := range documents {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, fmt.Errorf("decode stage: %w", err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}
