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
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// programs are the names of our images in the manifests.
var programs = []string{"podsequence-scheduler", "podsequence-controller"}

func main() {
	image := flag.String("image", "podsequence:latest",
		"`REPOSITORY:TAG` that both images are named after, see setImages")
	without := flag.String("without", "", "`KINDS` to leave out, separated by commas")
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
	if err := setImages(resources, image); err != nil {
		return err
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

// setImages gives each of our programs the image that is named for it: of team/podsequence:v1 the scheduler gets
// team/podsequence-scheduler:v1.
func setImages(resources resmap.ResMap, image string) error {
	repository, tag := splitTag(image)
	for _, program := range programs {
		component := strings.TrimPrefix(program, "podsequence")
		filter := imagetag.LegacyFilter{ImageTag: types.Image{Name: program, NewName: repository + component, NewTag: tag}}
		if err := resources.ApplyFilter(filter); err != nil {
			return fmt.Errorf("set image of %s: %w", program, err)
		}
	}
	return nil
}

// splitTag parts repository and tag. A colon before a slash belongs to the port of a registry.
func splitTag(image string) (repository, tag string) {
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		return image[:colon], image[colon+1:]
	}
	return image, "latest"
}
