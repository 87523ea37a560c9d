package podseqctl

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The order of objects in the input does not matter: whichever tool applies them has an order of its own.
func TestPodsThatMayStartEarlyAreFoundHoweverTheyAreGiven(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata/files/early", name))
		require.NoError(t, err)
		return string(text)
	}
	sequences, workloads, namespaces := read("shop.yaml"), read("workloads.yaml"), read("namespaces.yaml")
	want := withoutSources(run(&fakeSource{}, []string{"lint", "-f", "testdata/files/early"}))
	require.Contains(t, want, "Warning MayStartOutOfOrder: ")
	for name, output := range map[string]func() string{
		"a kustomization":          func() string { return run(&fakeSource{}, []string{"lint", "-k", "testdata/files/early"}) },
		"the sequences come first": func() string { return lintStandardInput(t, namespaces, sequences, workloads) },
		"the sequences come last":  func() string { return lintStandardInput(t, namespaces, workloads, sequences) },
		"the namespaces come last": func() string { return lintStandardInput(t, sequences, workloads, namespaces) },
		"the workloads are a list": func() string {
			return lintStandardInput(t, "kind: List\napiVersion: v1\nitems:\n"+items(workloads), sequences, namespaces)
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, want, withoutSources(output()))
		})
	}
}

// lintStandardInput runs lint -f - with these documents, as after helm template.
func lintStandardInput(t *testing.T, documents ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "input.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(documents, "\n---\n")), 0o600))
	input, err := os.Open(file)
	require.NoError(t, err)
	defer func(before *os.File) {
		os.Stdin = before
		require.NoError(t, input.Close())
	}(os.Stdin)
	os.Stdin = input
	return run(&fakeSource{}, []string{"lint", "-f", "-"})
}

// items makes a YAML list of documents.
func items(documents string) string {
	var list strings.Builder
	for _, document := range strings.Split(documents, "---\n") {
		list.WriteString("- " + strings.ReplaceAll(strings.TrimSpace(document), "\n", "\n  ") + "\n")
	}
	return list.String()
}

var source = regexp.MustCompile(`(?m)^(\S+ \S+)   .*$`)

func withoutSources(output string) string { return source.ReplaceAllString(output, "$1") }
