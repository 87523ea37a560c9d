// Package leaving tests that people get everything back when they remove us: each test has a cluster with objects of every
// kind in every state, and removes us with the program that they would use.
package leaving

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// site is a cluster in which we are installed, and the program that removes us.
type site struct {
	*testing.T
	cluster *cluster.Cluster
	// manifests is the file that was applied to install us.
	manifests string
}

// newSite starts a cluster of its own. The manifests are those of a directory under manifests/.
func newSite(t *testing.T, manifests string, options controlplane.Options) *site {
	t.Helper()
	options.Nodes = 2
	s := &site{T: t, cluster: cluster.Own(t, options), manifests: filepath.Join(t.TempDir(), "install.yaml")}
	s.writeManifests(manifests)
	return s
}

// render is what people apply who install the kustomization of that name.
func render(t *testing.T, name string) resmap.ResMap {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join("../../../manifests", name))
	require.NoError(t, err)
	return resources
}

func (s *site) writeManifests(name string) {
	s.Helper()
	text, err := render(s.T, name).AsYaml()
	require.NoError(s, err)
	require.NoError(s, os.WriteFile(s.manifests, text, 0o600))
}

// apply applies files of testdata.
func (s *site) apply(files ...string) {
	s.Helper()
	for _, file := range files {
		s.cluster.MustShell(s, "kubectl apply -f testdata/"+file)
	}
}

// remove runs the program that removes us, which must succeed, and returns what it prints.
func (s *site) remove(verb string) report {
	s.Helper()
	output, err := s.tryToRemove(verb)
	require.NoError(s, err, "%s:\n%s", verb, output)
	return output
}

func (s *site) tryToRemove(verb string, flags ...string) (report, error) {
	s.Helper()
	arguments := append([]string{verb, "-f", s.manifests, "--kubeconfig", s.cluster.Kubeconfig()}, flags...)
	bin, err := controlplane.FindBin()
	require.NoError(s, err)
	output, err := exec.CommandContext(s.Context(), filepath.Join(bin, "podsequence-controller"), arguments...).CombinedOutput()
	return report(output), err
}

// report is what the program prints.
type report string

// changes are the lines that tell of something that was changed.
func (r report) changes() []string {
	var changes []string
	for line := range strings.Lines(string(r)) {
		verb, _, _ := strings.Cut(line, " ")
		if slices.Contains([]string{"deleted", "unpaused", "released"}, verb) {
			changes = append(changes, strings.TrimSpace(line))
		}
	}
	return changes
}

// column is one column of the table whose header begins so.
func (r report) column(header string, index int) []string {
	var cells []string
	_, rows, found := strings.Cut(string(r), header)
	if !found {
		return nil
	}
	_, rows, _ = strings.Cut(rows, "\n")
	for row := range strings.Lines(rows) {
		fields := strings.Fields(row)
		if len(fields) == 0 {
			break
		}
		cells = append(cells, fields[index])
	}
	slices.Sort(cells)
	return cells
}

// commands are those that it says to run.
func (r report) commands() []string {
	var commands []string
	for line := range strings.Lines(string(r)) {
		if command, isCommand := strings.CutPrefix(line, "  kubectl "); isCommand {
			commands = append(commands, "kubectl "+strings.TrimSpace(command))
		}
	}
	return commands
}

// plugin runs kubectl podseq in the namespace of the shop.
func (s *site) plugin(arguments string) (output string, err error) {
	s.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(s, err)
	return s.cluster.Shell(s, filepath.Join(bin, "kubectl-podseq")+" -n shop "+arguments)
}
