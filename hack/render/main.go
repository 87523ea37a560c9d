// render prints a kustomization as `kubectl kustomize` does, for a make that needs no kubectl and no cluster:
//
//	go run ./hack/render -image example.com/team/podsequence:v1 manifests/default
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/filters/imagetag"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	image := flag.String("image", "podsequence:latest",
		"`REPOSITORY:TAG` from which the names of both images are made, or the references of all images: see parseImages")
	without := flag.String("without", "", "`KINDS` to leave out, with commas between them")
	flag.Parse()
	if err := render(flag.Arg(0), *image, strings.Split(*without, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func render(kustomization, image string, without []string) error {
	options := krusty.MakeDefaultOptions()
	// Then kustomizations choose their order.
	options.Reorder = krusty.ReorderOptionUnspecified
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), kustomization)
	if err != nil {
		return fmt.Errorf("render %s: %w", kustomization, err)
	}
	images, err := parseImages(image)
	if err != nil {
		return err
	}
	for _, image := range images {
		if err := resources.ApplyFilter(imagetag.LegacyFilter{ImageTag: image}); err != nil {
			return fmt.Errorf("set image of %s: %w", image.Name, err)
		}
	}
	for _, resource := range slices.Clone(resources.Resources()) {
		if slices.Contains(without, resource.GetKind()) {
			if err := resources.Remove(resource.CurId()); err != nil {
				return fmt.Errorf("leave out %s: %w", resource.CurId(), err)
			}
		}
	}
	text, err := resources.AsYaml()
	if err != nil {
		return fmt.Errorf("encode %s: %w", kustomization, err)
	}
	_, err = os.Stdout.Write(text)
	return err
}
