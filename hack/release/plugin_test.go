package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// packaged packages two small programs and returns the directory with the archives.
func packaged(t *testing.T, change ...string) (string, error) {
	t.Helper()
	programs, directory := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{"kubectl-podseq-linux-arm64": "for Linux", "kubectl-podseq-windows-amd64.exe": "for Windows"} {
		require.NoError(t, os.WriteFile(filepath.Join(programs, name), []byte(content), 0o700))
	}
	license := filepath.Join(t.TempDir(), "LICENSE")
	require.NoError(t, os.WriteFile(license, []byte("the licence"), 0o600))
	return directory, run(append([]string{"plugin", "-dir", directory, "-programs", programs, "-beside", license, "-version", "v1.2.3", "-created", "1700000000",
		"-repository", "https://git.example.com/team/podsequence", "-downloads", "https://git.example.com/releases/v1.2.3/"}, change...), nil, nil)
}

func TestTheArchivesOfThePluginHaveProgramAndLicence(t *testing.T) {
	directory, err := packaged(t)
	require.NoError(t, err)

	file, err := os.Open(filepath.Join(directory, "kubectl-podseq-v1.2.3-linux-arm64.tar.gz"))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	unpacked, err := gzip.NewReader(file)
	require.NoError(t, err)
	var got []string
	for reader := tar.NewReader(unpacked); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		content, err := io.ReadAll(reader)
		require.NoError(t, err)
		got = append(got, fmt.Sprintf("%s %o %s", header.Name, header.Mode, content))
	}
	assert.Equal(t, []string{"kubectl-podseq 755 for Linux", "LICENSE 644 the licence"}, got)

	packed, err := zip.OpenReader(filepath.Join(directory, "kubectl-podseq-v1.2.3-windows-amd64.zip"))
	require.NoError(t, err)
	defer func() { _ = packed.Close() }()
	require.Len(t, packed.File, 2)
	assert.Equal(t, "kubectl-podseq.exe", packed.File[0].Name)
}

func TestTheManifestOfKrewHasTheSumsOfTheArchives(t *testing.T) {
	directory, err := packaged(t)
	require.NoError(t, err)
	manifest, err := os.ReadFile(filepath.Join(directory, manifestFile))
	require.NoError(t, err)
	_, platforms, _ := strings.Cut(string(manifest), "  platforms:\n")
	sum := func(name string) string {
		content, err := os.ReadFile(filepath.Join(directory, name))
		require.NoError(t, err)
		return fmt.Sprintf("%x", sha256.Sum256(content))
	}
	assert.Equal(t, `  - selector:
      matchLabels:
        os: linux
        arch: arm64
    uri: https://git.example.com/releases/v1.2.3/kubectl-podseq-v1.2.3-linux-arm64.tar.gz
    sha256: `+sum("kubectl-podseq-v1.2.3-linux-arm64.tar.gz")+`
    bin: kubectl-podseq
  - selector:
      matchLabels:
        os: windows
        arch: amd64
    uri: https://git.example.com/releases/v1.2.3/kubectl-podseq-v1.2.3-windows-amd64.zip
    sha256: `+sum("kubectl-podseq-v1.2.3-windows-amd64.zip")+`
    bin: kubectl-podseq.exe
`, platforms)
}

func TestTwoPackagesOfTheSameProgramsAreTheSame(t *testing.T) {
	first, err := packaged(t)
	require.NoError(t, err)
	second, err := packaged(t)
	require.NoError(t, err)
	for _, name := range []string{"kubectl-podseq-v1.2.3-linux-arm64.tar.gz", "kubectl-podseq-v1.2.3-windows-amd64.zip", manifestFile} {
		a, err := sumOf(filepath.Join(first, name))
		require.NoError(t, err)
		b, err := sumOf(filepath.Join(second, name))
		require.NoError(t, err)
		assert.Equal(t, a, b, name)
	}
}

func TestThePluginIsNotPackagedWithoutWhatKrewNeeds(t *testing.T) {
	for name, test := range map[string]struct {
		change []string
		fails  string
	}{
		"krew needs https":           {[]string{"-downloads", "http://git.example.com"}, "-downloads must be an https URL"},
		"the homepage needs https":   {[]string{"-repository", ""}, "-repository must be an https URL"},
		"archives have the version":  {[]string{"-version", ""}, "-version is missing"},
		"there must be programs":     {[]string{"-programs", "."}, "has no program kubectl-podseq-OS-ARCHITECTURE"},
		"files beside it must exist": {[]string{"-beside", "missing"}, "read what is beside the program"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := packaged(t, test.change...)
			require.ErrorContains(t, err, test.fails)
		})
	}
}
