package main

import (
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
)

// programs are the names of our images in the manifests.
var programs = []string{"podsequence-scheduler", "podsequence-controller"}

// others are the ends of the names of images that are built beside them and that no manifest has.
var others = []string{"-kubectl"}

// digest matches what a reference says which image it is by.
var digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// parseImages returns the image of each of our programs. The text is either REPOSITORY[:TAG], which both are named after: of
// team/podsequence:v1 the scheduler gets team/podsequence-scheduler:v1. Or it has the reference of each, separated by white
// space, for a digest is of one image: team/podsequence-scheduler:v1@sha256:... team/podsequence-controller:v1@sha256:... .
func parseImages(text string) ([]types.Image, error) {
	references := strings.Fields(text)
	if len(references) == 1 && !strings.Contains(references[0], "@") {
		repository, tag := splitTag(references[0])
		var images []types.Image
		for _, program := range programs {
			images = append(images, types.Image{Name: program, NewName: repository + suffix(program), NewTag: tag})
		}
		return images, nil
	}

	found := map[string]types.Image{}
	for _, reference := range references {
		name, sum, hasDigest := strings.Cut(reference, "@")
		if hasDigest && !digest.MatchString(sum) {
			return nil, fmt.Errorf("image %q: %q is no digest, which is sha256: and 64 digits from 0 to f", reference, sum)
		}
		image := types.Image{Digest: sum}
		if image.NewName, image.NewTag = splitTag(name); hasDigest && !hasTag(name) {
			image.NewTag = ""
		}
		program, known := programOf(image.NewName)
		if !known {
			return nil, fmt.Errorf("image %q: the name of its repository must end with -scheduler or -controller", reference)
		}
		if program == "" {
			continue
		}
		if _, twice := found[program]; twice {
			return nil, fmt.Errorf("image %q: there is another image of %s, name one", reference, program)
		}
		image.Name = program
		found[program] = image
	}
	var images []types.Image
	for _, program := range programs {
		image, ok := found[program]
		if !ok {
			return nil, fmt.Errorf("images %q: a digest is of one image, and that of %s is missing: add REPOSITORY%s@sha256:DIGEST",
				text, program, suffix(program))
		}
		images = append(images, image)
	}
	return images, nil
}

// suffix is what the name of a program's repository ends with.
func suffix(program string) string { return strings.TrimPrefix(program, "podsequence") }

// programOf returns whose image a repository has, by its name: "" if no manifest has that image.
func programOf(repository string) (program string, known bool) {
	for _, program := range programs {
		if strings.HasSuffix(repository, suffix(program)) {
			return program, true
		}
	}
	for _, other := range others {
		if strings.HasSuffix(repository, other) {
			return "", true
		}
	}
	return "", false
}

// splitTag parts repository and tag. A colon before a slash belongs to the port of a registry.
func splitTag(image string) (repository, tag string) {
	if hasTag(image) {
		colon := strings.LastIndex(image, ":")
		return image[:colon], image[colon+1:]
	}
	return image, "latest"
}

func hasTag(image string) bool { return strings.LastIndex(image, ":") > strings.LastIndex(image, "/") }
