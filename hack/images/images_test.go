package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	small     = program{name: "podsequence-small", main: "./cmd/small", suffix: "-small", about: "A small program"}
	platforms = []string{"linux/amd64", "linux/arm64"}
	today     = release{version: "v1.2.3", commit: "0123456789ab", created: time.Unix(1700000000, 0).UTC()}
)

// writeSources writes a module with one program, which uses another module; change replaces files, or removes those that
// are "".
func writeSources(t *testing.T, change map[string]string) *builder {
	t.Helper()
	sources := map[string]string{
		"go.mod": "module example.com/small\n\ngo 1.26\n\nrequire example.com/other v1.0.0\n\n" +
			"replace example.com/other => ./other\n",
		"LICENSE":              "Ours",
		"cmd/small/main.go":    "package main\n\nimport \"example.com/other/inner\"\n\nvar version = \"none\"\n\nfunc main() { println(inner.Text, version) }\n",
		"other/go.mod":         "module example.com/other\n\ngo 1.26\n",
		"other/LICENSE":        mit,
		"other/NOTICE.txt":     "A notice",
		"other/inner/a.go":     "package inner\n\nvar Text = \"hello\"\n",
		"other/inner/COPYING":  "Taken from somebody",
		"other/unused/LICENSE": "Of what is not built",
	}
	for file, content := range change {
		sources[file] = content
	}
	root := t.TempDir()
	for file, content := range sources {
		if content == "" {
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(content), 0o644))
	}
	return &builder{source: root, out: t.TempDir(), ldflags: "-s -w -X main.version=v1.2.3"}
}

const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`

// buildSmall builds the image of a small program from sources in a directory of their own.
func buildSmall(t *testing.T, change map[string]string) *image {
	t.Helper()
	built, err := buildImage(t.Context(), writeSources(t, change), small, platforms, today)
	require.NoError(t, err)
	built.reference, err = nameImage("registry.example.com/podsequence:v1.2.3", small)
	require.NoError(t, err)
	return built
}

func TestTwoBuildsGiveTheSameDigests(t *testing.T) {
	t.Parallel()
	first, second := buildSmall(t, nil), buildSmall(t, nil)
	assert.Equal(t, first.digest, second.digest)
	for i := range platforms {
		assert.Equal(t, first.platforms[i].digest, second.platforms[i].digest, platforms[i])
		assert.Equal(t, string(first.platforms[i].inventory), string(second.platforms[i].inventory), platforms[i])
	}
	assert.NotEqual(t, first.platforms[0].digest, first.platforms[1].digest)

	changed := buildSmall(t, map[string]string{"other/inner/a.go": "package inner\n\nvar Text = \"bye\"\n"})
	assert.NotEqual(t, first.digest, changed.digest, "another program has the digest of this one")
}

func TestAnImageHasAProgramAndWhatItNeeds(t *testing.T) {
	t.Parallel()
	built := buildSmall(t, nil)
	for i, part := range built.platforms {
		config, err := part.image.ConfigFile()
		require.NoError(t, err)
		assert.Equal(t, platforms[i], config.OS+"/"+config.Architecture)
		assert.Equal(t, "65532:65532", config.Config.User)
		assert.Equal(t, []string{"/podsequence-small"}, config.Config.Entrypoint)
		assert.Equal(t, "v1.2.3", config.Config.Labels["org.opencontainers.image.version"])

		files := filesOf(t, part.image)
		assert.Contains(t, files, "podsequence-small")
		assert.Contains(t, files["etc/passwd"], ":65532:65532:")
		assert.Equal(t, "Ours", files["licenses/example.com/small/LICENSE"])
		assert.Equal(t, mit, files["licenses/example.com/other/LICENSE"])
		assert.Equal(t, "A notice", files["licenses/example.com/other/NOTICE.txt"])
		assert.Equal(t, "Taken from somebody", files["licenses/example.com/other/inner/COPYING"])
		assert.NotContains(t, files, "licenses/example.com/other/unused/LICENSE")
		assert.Contains(t, files["licenses/std/LICENSE"], "The Go Authors")
		pool := x509.NewCertPool()
		assert.True(t, pool.AppendCertsFromPEM([]byte(files["etc/ssl/certs/ca-certificates.crt"])), "no certificates")
	}
}

// filesOf are the files of an image, without directories.
func filesOf(t *testing.T, one v1.Image) map[string]string {
	t.Helper()
	files := map[string]string{}
	extracted := mutate.Extract(one)
	defer func() { assert.NoError(t, extracted.Close()) }()
	for reader := tar.NewReader(extracted); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		assert.Zero(t, header.Uid+header.Gid, "owner of %s", header.Name)
		assert.Zero(t, header.ModTime.Unix(), "time of %s", header.Name)
		content, err := io.ReadAll(reader)
		require.NoError(t, err)
		if header.Typeflag == tar.TypeReg {
			files[header.Name] = string(content)
		}
	}
}

func TestADockerfileGetsTheSameFiles(t *testing.T) {
	t.Parallel()
	builder := writeSources(t, nil)
	contents, _, err := builder.build(t.Context(), small, "linux/amd64")
	require.NoError(t, err)
	root := t.TempDir()
	require.NoError(t, writeFiles(root, contents.all()))

	files := filesOf(t, buildSmall(t, nil).platforms[0].image)
	for name, content := range files {
		written, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		assert.True(t, content == string(written), "%s differs", name)
	}
	assert.Len(t, contents.all(), len(files))
}

func TestAModuleWithoutALicenceIsRefused(t *testing.T) {
	t.Parallel()
	for name, without := range map[string]map[string]string{
		"no text at all":  {"other/LICENSE": "", "other/NOTICE.txt": "", "other/inner/COPYING": ""},
		"only a notice":   {"other/LICENSE": "", "other/inner/COPYING": ""},
		"not ours either": {"LICENSE": ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := writeSources(t, without).build(t.Context(), small, "linux/amd64")
			assert.ErrorContains(t, err, "has no licence")
		})
	}
}

func TestAnInventoryNamesEveryModule(t *testing.T) {
	t.Parallel()
	built := buildSmall(t, nil)
	part := built.platforms[1]
	var bom cyclonedx.BOM
	require.NoError(t, json.Unmarshal(part.inventory, &bom))
	assert.Equal(t, "podsequence-small", bom.Metadata.Component.Name)
	assert.Contains(t, *bom.Metadata.Component.Properties, cyclonedx.Property{Name: "image", Value: part.digest.String()})
	components := map[string]cyclonedx.Component{}
	for _, component := range *bom.Components {
		components[component.Name] = component
	}
	require.Contains(t, components, "std")
	require.Contains(t, components, "example.com/other")
	require.NotNil(t, components["example.com/other"].Licenses)
	assert.Equal(t, "MIT", (*components["example.com/other"].Licenses)[0].License.ID)
	assert.Len(t, components, 2)
}

func TestImagesAreWrittenAsLayoutsAndArchives(t *testing.T) {
	t.Parallel()
	built, out := buildSmall(t, nil), filepath.Join(t.TempDir(), "images")
	require.NoError(t, writeAll(out, []*image{built}, today))

	read, err := layout.ImageIndexFromPath(filepath.Join(out, "podsequence-small"))
	require.NoError(t, err)
	require.NoError(t, validate.Index(read))
	manifest, err := read.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 1)
	assert.Equal(t, built.digest, manifest.Manifests[0].Digest)
	assert.Equal(t, "v1.2.3", manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"])

	for i, file := range []string{"podsequence-v1.2.3-linux-amd64.tar", "podsequence-v1.2.3-linux-arm64.tar"} {
		loaded, err := tarball.ImageFromPath(filepath.Join(out, file), &built.reference)
		require.NoError(t, err)
		want, err := built.platforms[i].image.ConfigName()
		require.NoError(t, err)
		got, err := loaded.ConfigName()
		require.NoError(t, err)
		assert.Equal(t, want, got, file)
		require.NoError(t, validate.Image(loaded))
	}
	digests, err := os.ReadFile(filepath.Join(out, "digests.txt"))
	require.NoError(t, err)
	assert.Equal(t, "registry.example.com/podsequence-small:v1.2.3@"+built.digest.String()+"\n", string(digests))
	assert.FileExists(t, filepath.Join(out, "podsequence-small-linux-amd64.cdx.json"))

	again := filepath.Join(t.TempDir(), "images")
	require.NoError(t, writeAll(again, []*image{buildSmall(t, nil)}, today))
	assert.Equal(t, treeOf(t, out), treeOf(t, again), "two builds differ")
}

// treeOf are the files below a directory, with their content.
func treeOf(t *testing.T, root string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, root)] = content
		return err
	}))
	return files
}

func TestImagesArePushedWithTheirInventories(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(discard())))
	t.Cleanup(server.Close)
	built := buildSmall(t, nil)
	var err error
	built.reference, err = nameImage(strings.TrimPrefix(server.URL, "http://")+"/team/podsequence:v1.2.3", small)
	require.NoError(t, err)
	require.NoError(t, push(t.Context(), built))

	pulled, err := remote.Index(built.reference)
	require.NoError(t, err)
	require.NoError(t, validate.Index(pulled))
	digest, err := pulled.Digest()
	require.NoError(t, err)
	assert.Equal(t, built.digest, digest)
	for _, part := range built.platforms {
		subject := built.reference.Digest(part.digest.String())
		assert.True(t, bytes.Equal(part.inventory, attachedTo(t, t.Context(), subject)), "inventory of %s", part.platform)
	}
}

// attachedTo is the content of the one artifact that refers to an image.
func attachedTo(t *testing.T, ctx context.Context, subject name.Digest) []byte {
	t.Helper()
	referrers, err := remote.Referrers(subject, remote.WithContext(ctx))
	require.NoError(t, err)
	manifest, err := referrers.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 1)
	artifact, err := remote.Image(subject.Digest(manifest.Manifests[0].Digest.String()), remote.WithContext(ctx))
	require.NoError(t, err)
	layers, err := artifact.Layers()
	require.NoError(t, err)
	require.Len(t, layers, 1)
	reader, err := layers[0].Compressed()
	require.NoError(t, err)
	defer func() { assert.NoError(t, reader.Close()) }()
	content, err := io.ReadAll(reader)
	require.NoError(t, err)
	return content
}

func TestNamesOfImages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ image, want, wantErr string }{
		"a repository and a tag":          {image: "team/podsequence:v1", want: "team/podsequence-small:v1"},
		"a registry with a port":          {image: "127.0.0.1:5000/podsequence:v1", want: "127.0.0.1:5000/podsequence-small:v1"},
		"a registry with a port, no tag":  {image: "127.0.0.1:5000/podsequence", want: "127.0.0.1:5000/podsequence-small:latest"},
		"a digest, which is not ours yet": {image: "team/podsequence@sha256:00", wantErr: "a digest follows from the image"},
		"no repository":                   {image: ":v1", wantErr: "use REPOSITORY:TAG"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := nameImage(test.image, small)
			if test.wantErr != "" {
				assert.ErrorContains(t, err, test.wantErr)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, got.String())
		})
	}
}

func discard() *log.Logger { return log.New(io.Discard, "", 0) }

func TestPlatformsAreSeparatedBySpacesOrCommas(t *testing.T) {
	for _, list := range []string{"linux/amd64 linux/arm64", "linux/amd64,linux/arm64", " linux/amd64, linux/arm64\n"} {
		parsed, err := parsePlatforms(list, false)
		require.NoError(t, err, "%q", list)
		assert.Equal(t, platforms, parsed, "%q", list)
	}
	for list, complaint := range map[string]string{
		"": "is empty", "amd64": `"amd64" is no platform`, "windows/amd64": `"windows/amd64" is no platform`, "linux/": `"linux/" is no platform`,
	} {
		_, err := parsePlatforms(list, false)
		assert.ErrorContains(t, err, complaint, "%q", list)
	}
	parsed, err := parsePlatforms("linux/arm64 windows/amd64", true)
	require.NoError(t, err, "programs without an image may be for any system")
	assert.Equal(t, []string{"linux/arm64", "windows/amd64"}, parsed)
}
