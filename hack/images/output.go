package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// inventoryType is the media type of an inventory in a registry.
const inventoryType = "application/vnd.cyclonedx+json"

// writeAll writes, below a directory: for each image an OCI layout, named as its program, and an inventory for each platform;
// for each platform an archive of all images; and digests.txt, one reference with its digest a line.
func writeAll(out string, images []*image, r release) error {
	if err := os.RemoveAll(out); err != nil {
		return fmt.Errorf("remove images of before: %w", err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make directory of images: %w", err)
	}
	archives := map[string]map[name.Tag]v1.Image{}
	var digests strings.Builder
	for _, image := range images {
		if err := writeLayout(filepath.Join(out, image.program.name), image); err != nil {
			return err
		}
		for _, part := range image.platforms {
			file := fmt.Sprintf("%s-%s.cdx.json", image.program.name, dashed(part.platform))
			if err := os.WriteFile(filepath.Join(out, file), part.inventory, 0o644); err != nil {
				return fmt.Errorf("write inventory: %w", err)
			}
			if archives[part.platform] == nil {
				archives[part.platform] = map[name.Tag]v1.Image{}
			}
			archives[part.platform][image.reference] = part.image
		}
		fmt.Fprintf(&digests, "%s@%s\n", image.reference.Name(), image.digest)
	}
	for platform, images := range archives {
		file := filepath.Join(out, fmt.Sprintf("podsequence-%s-%s.tar", r.version, dashed(platform)))
		if err := tarball.MultiWriteToFile(file, images); err != nil {
			return fmt.Errorf("write archive: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(out, "digests.txt"), []byte(digests.String()), 0o644); err != nil {
		return fmt.Errorf("write digests: %w", err)
	}
	return nil
}

func dashed(platform string) string { return strings.ReplaceAll(platform, "/", "-") }

func writeLayout(directory string, image *image) error {
	path, err := layout.Write(directory, empty.Index)
	if err != nil {
		return fmt.Errorf("write layout: %w", err)
	}
	tag := map[string]string{"org.opencontainers.image.ref.name": image.reference.TagStr()}
	if err := path.AppendIndex(image.index, layout.WithAnnotations(tag)); err != nil {
		return fmt.Errorf("write layout: %w", err)
	}
	return nil
}

// push pushes an image, and the inventory of each platform as what refers to it.
func push(ctx context.Context, image *image) error {
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if err := remote.WriteIndex(image.reference, image.index, options...); err != nil {
		return fmt.Errorf("push %s: %w", image.reference, err)
	}
	for _, part := range image.platforms {
		attached, err := referTo(part)
		if err != nil {
			return err
		}
		digest, err := attached.Digest()
		if err != nil {
			return fmt.Errorf("digest: %w", err)
		}
		if err := remote.Write(image.reference.Digest(digest.String()), attached, options...); err != nil {
			return fmt.Errorf("push inventory of %s for %s: %w", image.reference, part.platform, err)
		}
	}
	return nil
}

// referTo wraps an inventory as an artifact whose subject is the image.
func referTo(part platformImage) (v1.Image, error) {
	artifact := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), inventoryType)
	artifact, err := mutate.Append(artifact, mutate.Addendum{Layer: static.NewLayer(part.inventory, inventoryType)})
	if err != nil {
		return nil, fmt.Errorf("wrap inventory: %w", err)
	}
	size, err := part.image.Size()
	if err != nil {
		return nil, fmt.Errorf("size of image: %w", err)
	}
	subject := v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: part.digest, Size: size}
	return mutate.Subject(artifact, subject).(v1.Image), nil
}

// report says what was built, and how to go on.
func report(out io.Writer, images []*image, o *options) error {
	for _, image := range images {
		fmt.Fprintf(out, "%s@%s\n", image.reference, image.digest)
		for _, part := range image.platforms {
			fmt.Fprintf(out, "  %-12s %s %6.1f MB to download\n", part.platform, part.digest, float64(part.size)/1e6)
		}
	}
	if o.out != "" {
		fmt.Fprintf(out, "Layouts, archives, inventories and digests are in %s.\n", o.out)
	}
	if o.push {
		fmt.Fprintln(out, "All were pushed.")
	}
	return nil
}
