package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// file is a file of an image. Everything belongs to root.
type file struct {
	// path does not begin with a slash.
	path    string
	mode    fs.FileMode
	content []byte
}

// contents are the files of an image, by layer. What changes least comes first, so that registries and nodes have it already.
type contents struct {
	base, licenses, program []file
}

func (c *contents) all() []file { return slices.Concat(c.base, c.licenses, c.program) }

// baseFiles are what every image has below its program.
func baseFiles() ([]file, error) {
	certificates, err := certificates()
	if err != nil {
		return nil, err
	}
	return []file{
		{path: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: certificates},
		// The user that the programs run as, by name: for tools that look.
		{path: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{path: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
	}, nil
}

// certificates are those that Mozilla trusts, as the module golang.org/x/crypto/x509roots/fallback has them: go.sum says which
// exactly. Those that Mozilla trusts with restrictions are left out, for a list of certificates cannot say that.
func certificates() ([]byte, error) {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, fmt.Errorf("encode certificate: %w", err)
		}
	}
	return text.Bytes(), nil
}

// archive is a tar of files, the same for the same files: sorted, and all from 1970.
func archive(files []file) ([]byte, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	var content bytes.Buffer
	writer := tar.NewWriter(&content)
	written := map[string]bool{".": true}
	for _, f := range files {
		for _, dir := range parents(f.path) {
			if written[dir] {
				continue
			}
			written[dir] = true
			header := &tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: time.Unix(0, 0)}
			if err := writer.WriteHeader(header); err != nil {
				return nil, fmt.Errorf("write %s: %w", dir, err)
			}
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: time.Unix(0, 0)}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.path, err)
		}
		if _, err := writer.Write(f.content); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.path, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("write archive: %w", err)
	}
	return content.Bytes(), nil
}

// parents are the directories above a path, outermost first.
func parents(name string) []string {
	var dirs []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}

// writeFiles writes files below a directory.
func writeFiles(root string, files []file) error {
	for _, f := range files {
		name := filepath.Join(root, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("write files: %w", err)
		}
		if err := os.WriteFile(name, f.content, f.mode); err != nil {
			return fmt.Errorf("write files: %w", err)
		}
	}
	return nil
}
