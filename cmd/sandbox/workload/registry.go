package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// registry is a registry of images that contain this program. It has an image of every name and tag that somebody asks for, each
// with a layer of its own, so that each pull is one.
type registry struct {
	program []byte
	delay   time.Duration // before each layer

	lock  sync.Mutex
	blobs map[digest.Digest]blob
}

type blob struct {
	mediaType string
	content   []byte
}

// serveRegistry returns an exit code when it cannot serve.
func serveRegistry(listen string, delay time.Duration) int {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		say("FAILED", err)
		return 1
	}
	r := &registry{program: program, delay: delay, blobs: map[digest.Digest]blob{}}
	say("FAILED", http.ListenAndServe(listen, r.handler()))
	return 1
}

func (r *registry) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v2/{name}/manifests/{reference}", r.manifest)
	mux.HandleFunc("GET /v2/{name}/blobs/{digest}", func(w http.ResponseWriter, request *http.Request) {
		r.send(w, request, digest.Digest(request.PathValue("digest")))
	})
	return mux
}

// manifest makes the image if it is asked for by a tag.
func (r *registry) manifest(w http.ResponseWriter, request *http.Request) {
	reference := request.PathValue("reference")
	if digest.Digest(reference).Validate() == nil {
		r.send(w, request, digest.Digest(reference))
		return
	}
	made, err := r.make(request.PathValue("name"), reference)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	r.send(w, request, made)
}

// send sends a blob or manifest.
func (r *registry) send(w http.ResponseWriter, request *http.Request, which digest.Digest) {
	r.lock.Lock()
	found, ok := r.blobs[which]
	r.lock.Unlock()
	if !ok {
		http.NotFound(w, request)
		return
	}
	if found.mediaType == v1.MediaTypeImageLayer && request.Method == http.MethodGet {
		time.Sleep(r.delay)
		say("SENT", which)
	}
	w.Header().Set("Content-Type", found.mediaType)
	w.Header().Set("Docker-Content-Digest", which.String())
	w.Header().Set("Content-Length", fmt.Sprint(len(found.content)))
	_, _ = w.Write(found.content) // who has gone asks again
}

// make makes an image and returns the digest of its manifest. The same name and tag make the same image.
func (r *registry) make(name, tag string) (digest.Digest, error) {
	layer, err := r.layer(name + ":" + tag)
	if err != nil {
		return "", err
	}
	layerDescriptor := r.keep(v1.MediaTypeImageLayer, layer)
	config, err := json.Marshal(v1.Image{
		Platform: v1.Platform{Architecture: runtime.GOARCH, OS: runtime.GOOS},
		Config:   v1.ImageConfig{Entrypoint: []string{"/workload"}},
		RootFS:   v1.RootFS{Type: "layers", DiffIDs: []digest.Digest{layerDescriptor.Digest}},
	})
	if err != nil {
		return "", fmt.Errorf("encode configuration: %w", err)
	}
	manifest, err := json.Marshal(v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest,
		Config: r.keep(v1.MediaTypeImageConfig, config), Layers: []v1.Descriptor{layerDescriptor},
	})
	if err != nil {
		return "", fmt.Errorf("encode manifest: %w", err)
	}
	return r.keep(v1.MediaTypeImageManifest, manifest).Digest, nil
}

// layer is an archive of this program, and of a file that says which image it is.
func (r *registry) layer(image string) ([]byte, error) {
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	for _, file := range []struct {
		name    string
		mode    int64
		content []byte
	}{{"workload", 0o755, r.program}, {"image", 0o644, []byte(image)}} {
		if err := archive.WriteHeader(&tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.content))}); err != nil {
			return nil, fmt.Errorf("write layer: %w", err)
		}
		if _, err := archive.Write(file.content); err != nil {
			return nil, fmt.Errorf("write layer: %w", err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("write layer: %w", err)
	}
	return buffer.Bytes(), nil
}

func (r *registry) keep(mediaType string, content []byte) v1.Descriptor {
	d := digest.FromBytes(content)
	r.lock.Lock()
	defer r.lock.Unlock()
	r.blobs[d] = blob{mediaType, content}
	return v1.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(content))}
}
