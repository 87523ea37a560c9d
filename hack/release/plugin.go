package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"
)

const (
	pluginName = "kubectl-podseq"
	// manifestFile is what krew installs the plugin from. It must have the name of the plugin.
	manifestFile = "podseq.yaml"
)

// plugin is how the kubectl plugin is packaged.
type plugin struct {
	// programs is the directory with the programs: kubectl-podseq-OS-ARCHITECTURE, on Windows with .exe.
	programs string
	// beside are files that each archive has beside the program.
	beside              []string
	version, repository string
	// downloads is the URL of the directory that the release is published in.
	downloads string
	created   time.Time
}

// archived is one archive, as the manifest of krew lists it.
type archived struct{ OS, Architecture, File, Sum, Program string }

// packagePlugin writes an archive for each platform, and a manifest for krew with the sums of all. The same files give the same archives.
func packagePlugin(directory string, p plugin) error {
	switch {
	case p.version == "":
		return errors.New("-version is missing: archives and manifest have it in their names")
	case !strings.HasPrefix(p.repository, "https://"):
		return fmt.Errorf("-repository must be an https URL, is %q: krew shows it as the homepage", p.repository)
	case !strings.HasPrefix(p.downloads, "https://"):
		return fmt.Errorf("-downloads must be an https URL, is %q: krew downloads the archives from there", p.downloads)
	}
	programs, err := filepath.Glob(filepath.Join(p.programs, pluginName+"-*"))
	if err != nil {
		return fmt.Errorf("list programs: %w", err)
	}
	if len(programs) == 0 {
		return fmt.Errorf("%s has no program %s-OS-ARCHITECTURE: build them before", p.programs, pluginName)
	}
	slices.Sort(programs)
	var all []archived
	for _, program := range programs {
		packed, err := p.pack(directory, program)
		if err != nil {
			return err
		}
		all = append(all, packed)
	}
	var manifest bytes.Buffer
	if err := krewManifest.Execute(&manifest, map[string]any{
		"Version": p.version, "Repository": p.repository, "Downloads": strings.TrimSuffix(p.downloads, "/"), "Archives": all,
	}); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	if err := os.WriteFile(filepath.Join(directory, manifestFile), manifest.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

// pack writes the archive of one program.
func (p *plugin) pack(directory, program string) (archived, error) {
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(program), pluginName+"-"), ".exe")
	system, architecture, ok := strings.Cut(name, "-")
	if !ok {
		return archived{}, fmt.Errorf("%s is not named %s-OS-ARCHITECTURE", program, pluginName)
	}
	a := archived{OS: system, Architecture: architecture, Program: pluginName}
	write, ending := writeTar, ".tar.gz"
	if system == "windows" {
		a.Program += ".exe"
		write, ending = writeZip, ".zip"
	}
	a.File = fmt.Sprintf("%s-%s-%s%s", pluginName, p.version, name, ending)

	content, err := os.ReadFile(program)
	if err != nil {
		return archived{}, fmt.Errorf("read program: %w", err)
	}
	files := []packedFile{{a.Program, 0o755, content}}
	for _, file := range p.beside {
		info, err := os.Stat(file)
		if err != nil {
			return archived{}, fmt.Errorf("read what is beside the program: %w", err)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return archived{}, fmt.Errorf("read what is beside the program: %w", err)
		}
		// Users' masks differ, and archives must not.
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		files = append(files, packedFile{filepath.Base(file), mode, content})
	}
	packed, err := write(files, p.created)
	if err != nil {
		return archived{}, fmt.Errorf("pack %s: %w", a.File, err)
	}
	a.Sum = fmt.Sprintf("%x", sha256.Sum256(packed))
	if err := os.WriteFile(filepath.Join(directory, a.File), packed, 0o644); err != nil {
		return archived{}, fmt.Errorf("write archive: %w", err)
	}
	return a, nil
}

// packedFile is a file of an archive.
type packedFile struct {
	name    string
	mode    fs.FileMode
	content []byte
}

func writeTar(files []packedFile, at time.Time) ([]byte, error) {
	var packed bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	writer := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: at}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(writer.Close(), compressed.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

func writeZip(files []packedFile, at time.Time) ([]byte, error) {
	var packed bytes.Buffer
	writer := zip.NewWriter(&packed)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		file, err := writer.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := file.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

var krewManifest = template.Must(template.New("manifest").Parse(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: podseq
spec:
  version: {{.Version}}
  homepage: {{.Repository}}
  shortDescription: Explain in which order pods start, and why they wait
  description: |
    Shows how far PodSequences and ClusterPodSequences are, why pods wait, and
    when each pod was released, bound and ready. It also checks sequences
    before they are applied, and skips groups and releases workloads.
  platforms:
{{- range .Archives}}
  - selector:
      matchLabels:
        os: {{.OS}}
        arch: {{.Architecture}}
    uri: {{$.Downloads}}/{{.File}}
    sha256: {{.Sum}}
    bin: {{.Program}}
{{- end}}
`))
