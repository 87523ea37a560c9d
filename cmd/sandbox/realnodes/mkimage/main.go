// Mkimage writes an OCI image of one static program, as an archive that containerd imports: mkimage IMAGE PROGRAM ARCHIVE.
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: mkimage IMAGE PROGRAM ARCHIVE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func write(name, program, archive string) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read program: %w", err)
	}
	entry := filepath.Base(program)
	layer, err := pack([]file{{"tmp/", nil, 0o1777}, {entry, content, 0o755}})
	if err != nil {
		return err
	}
	blobs := &blobs{}
	config, err := blobs.encode(object{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       object{"Entrypoint": []string{"/" + entry}, "WorkingDir": "/"},
		"rootfs":       object{"type": "layers", "diff_ids": []string{digest(layer)}},
	}, "application/vnd.oci.image.config.v1+json")
	if err != nil {
		return err
	}
	manifest, err := blobs.encode(object{
		"schemaVersion": 2,
		"mediaType":     "application/vnd.oci.image.manifest.v1+json",
		"config":        config,
		"layers":        []object{blobs.add(layer, "application/vnd.oci.image.layer.v1.tar")},
	}, "application/vnd.oci.image.manifest.v1+json")
	if err != nil {
		return err
	}
	manifest["annotations"] = object{"io.containerd.image.name": name}
	index, err := json.Marshal(object{"schemaVersion": 2, "manifests": []object{manifest}})
	if err != nil {
		return fmt.Errorf("encode index of image: %w", err)
	}
	image, err := pack(append(blobs.files,
		file{"oci-layout", []byte(`{"imageLayoutVersion": "1.0.0"}`), 0o644}, file{"index.json", index, 0o644}))
	if err != nil {
		return err
	}
	if err := os.WriteFile(archive, image, 0o644); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	return nil
}

type object = map[string]any

func digest(content []byte) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(content))
}

// blobs are the files of an image that are named by what they contain.
type blobs struct {
	files []file
}

func (b *blobs) add(content []byte, mediaType string) object {
	b.files = append(b.files, file{fmt.Sprintf("blobs/sha256/%x", sha256.Sum256(content)), content, 0o644})
	return object{"mediaType": mediaType, "digest": digest(content), "size": len(content)}
}

func (b *blobs) encode(o object, mediaType string) (object, error) {
	content, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode image: %w", err)
	}
	return b.add(content, mediaType), nil
}

type file struct {
	name    string
	content []byte
	mode    int64
}

// pack makes an archive of files. Names that end in a slash are directories. Two archives of the same files are the same.
func pack(files []file) ([]byte, error) {
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), Typeflag: tar.TypeReg}
		if f.content == nil {
			header.Typeflag = tar.TypeDir
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("write archive: %w", err)
		}
		if _, err := writer.Write(f.content); err != nil {
			return nil, fmt.Errorf("write archive: %w", err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("write archive: %w", err)
	}
	return archive.Bytes(), nil
}
