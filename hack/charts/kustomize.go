package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// render builds kustomizations under manifests/ with some of the components there, as operators do in one of their own.
func render(bases []string, components ...string) (resmap.ResMap, error) {
	directory, err := os.MkdirTemp("", "podsequence-charts-")
	if err != nil {
		return nil, fmt.Errorf("make directory for a kustomization: %w", err)
	}
	defer func() { _ = os.RemoveAll(directory) }()
	if directory, err = filepath.EvalSymlinks(directory); err != nil {
		return nil, fmt.Errorf("find directory of a kustomization: %w", err)
	}
	root, err := filepath.Abs(manifests)
	if err != nil {
		return nil, fmt.Errorf("find manifests: %w", err)
	}
	if root, err = filepath.Rel(directory, root); err != nil {
		return nil, fmt.Errorf("find manifests: %w", err)
	}
	text := "kind: Kustomization\nsortOptions: {order: legacy}\nresources:\n"
	for _, base := range bases {
		text += "- " + filepath.Join(root, base) + "\n"
	}
	text += "components:\n"
	for _, component := range components {
		text += "- " + filepath.Join(root, component) + "\n"
	}
	if err := os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write kustomization: %w", err)
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return nil, fmt.Errorf("render %v with %v: %w", bases, components, err)
	}
	return resources, nil
}
