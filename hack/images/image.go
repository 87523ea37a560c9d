package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// release is what images say of their sources.
type release struct {
	version, commit string
	created         time.Time
}

func (r release) timestamp() string { return r.created.Format(time.RFC3339) }

// image is the image of a program for several platforms.
type image struct {
	program   program
	reference name.Tag
	index     v1.ImageIndex
	digest    v1.Hash
	platforms []platformImage
}

// platformImage is the part of an image for one platform.
type platformImage struct {
	platform  string
	image     v1.Image
	digest    v1.Hash
	size      int64
	inventory []byte
}

// nameImage returns the reference of a program's image.
func nameImage(image string, p program) (name.Tag, error) {
	if strings.Contains(image, "@") {
		return name.Tag{}, fmt.Errorf("image %q: a digest follows from the image and cannot be given, use REPOSITORY:TAG", image)
	}
	repository, tag := image, "latest"
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		repository, tag = image[:colon], image[colon+1:]
	}
	if repository == "" {
		return name.Tag{}, fmt.Errorf("image %q has no repository, use REPOSITORY:TAG", image)
	}
	reference, err := name.NewTag(repository + p.suffix + ":" + tag)
	if err != nil {
		return name.Tag{}, fmt.Errorf("image %q: %w, use REPOSITORY:TAG", image, err)
	}
	return reference, nil
}

func buildImage(ctx context.Context, b *builder, p program, platforms []string, r release) (*image, error) {
	built := &image{program: p}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range platforms {
		contents, inventory, err := b.build(ctx, p, platform)
		if err != nil {
			return nil, err
		}
		one, err := assemble(contents, p, platform, r)
		if err != nil {
			return nil, err
		}
		part := platformImage{platform: platform, image: one}
		if part.digest, err = one.Digest(); err != nil {
			return nil, fmt.Errorf("digest: %w", err)
		}
		if part.size, err = sizeOf(one); err != nil {
			return nil, err
		}
		if part.inventory, err = inventory.encode(p, platform, part.digest.String(), r); err != nil {
			return nil, err
		}
		built.platforms = append(built.platforms, part)
		described, err := v1.ParsePlatform(platform)
		if err != nil {
			return nil, fmt.Errorf("platform %s: %w", platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: one, Descriptor: v1.Descriptor{Platform: described}})
	}
	built.index = mutate.Annotations(index, annotations(p, r)).(v1.ImageIndex)
	digest, err := built.index.Digest()
	if err != nil {
		return nil, fmt.Errorf("digest: %w", err)
	}
	built.digest = digest
	return built, nil
}

// sizeOf is how much a node downloads.
func sizeOf(one v1.Image) (int64, error) {
	manifest, err := one.Manifest()
	if err != nil {
		return 0, fmt.Errorf("read manifest: %w", err)
	}
	size := manifest.Config.Size
	for _, layer := range manifest.Layers {
		size += layer.Size
	}
	return size, nil
}

func annotations(p program, r release) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       p.name,
		"org.opencontainers.image.description": p.about,
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.commit,
		"org.opencontainers.image.created":     r.timestamp(),
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
}

// assemble makes the image of one platform.
func assemble(c *contents, p program, platform string, r release) (v1.Image, error) {
	one := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, part := range []struct {
		what  string
		files []file
	}{{"certificates and users", c.base}, {"licences", c.licenses}, {p.name, c.program}} {
		layer, err := newLayer(part.files)
		if err != nil {
			return nil, err
		}
		one, err = mutate.Append(one, mutate.Addendum{
			Layer: layer, MediaType: types.OCILayer,
			History: v1.History{Created: v1.Time{Time: r.created}, CreatedBy: part.what},
		})
		if err != nil {
			return nil, fmt.Errorf("append layer: %w", err)
		}
	}
	config, err := one.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	config = config.DeepCopy()
	described, err := v1.ParsePlatform(platform)
	if err != nil {
		return nil, fmt.Errorf("platform %s: %w", platform, err)
	}
	config.OS, config.Architecture, config.Created = described.OS, described.Architecture, v1.Time{Time: r.created}
	config.Config = v1.Config{
		User:       "65532:65532",
		Entrypoint: []string{"/" + p.name},
		Env:        []string{"PATH=/"},
		WorkingDir: "/",
		Labels:     annotations(p, r),
	}
	if one, err = mutate.ConfigFile(one, config); err != nil {
		return nil, fmt.Errorf("set configuration: %w", err)
	}
	return mutate.Annotations(one, annotations(p, r)).(v1.Image), nil
}

func newLayer(files []file) (v1.Layer, error) {
	content, err := archive(files)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("make layer: %w", err)
	}
	return layer, nil
}
