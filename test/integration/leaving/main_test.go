// Package leaving tests that people get everything back when they remove us: each test has a cluster with objects of every
// kind in every state, and removes us with the program that they would use.
package leaving

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/controlplane"
)

// patience is how long something that must happen may take on a loaded machine.
const patience = 3 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetLogger(klog.Background()) // of controller-runtime's client, which complains at length without one
	os.Exit(m.Run())
}

// site is a cluster in which we are installed, and the program that removes us.
type site struct {
	*testing.T
	cluster *controlplane.Cluster
	api     client.Client
	bin     string
	dir     string
	// manifests is the file that was applied to install us.
	manifests string
}

// newSite starts a cluster of its own. The manifests are those of a directory under manifests/.
func newSite(t *testing.T, manifests string, options controlplane.Options) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "podsequence-leaving-")
	require.NoError(t, err)
	bin, err := controlplane.FindBin()
	require.NoError(t, err)
	options.Dir, options.Bin, options.Nodes = filepath.Join(dir, "cluster"), bin, 2
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cluster, err := controlplane.Start(ctx, options)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, cluster.Stop(context.Background()))
		if t.Failed() {
			t.Log("the logs of all components are in", filepath.Join(dir, "cluster", "logs"))
		} else {
			require.NoError(t, os.RemoveAll(dir))
		}
	})
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, appsapi.AddToScheme, batchapi.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	api, err := client.New(cluster.Config(), client.Options{Scheme: scheme})
	require.NoError(t, err)
	s := &site{T: t, cluster: cluster, api: api, bin: bin, dir: dir, manifests: filepath.Join(dir, "install.yaml")}
	s.writeManifests(manifests)
	s.writeKubectl()
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

// writeKubectl puts a kubectl on the PATH of the commands that are run.
func (s *site) writeKubectl() {
	s.Helper()
	script := "#!/bin/sh\nexec '" + filepath.Join(s.bin, "sandbox") + "' --dir '" + filepath.Join(s.dir, "cluster") + "' kubectl -- \"$@\"\n"
	require.NoError(s, os.WriteFile(filepath.Join(s.dir, "kubectl"), []byte(script), 0o700))
}

// shell runs a command as a person would paste it.
func (s *site) shell(command string) {
	s.Helper()
	run := exec.CommandContext(s.Context(), "bash", "-o", "pipefail", "-c", command)
	run.Env = append(os.Environ(), "PATH="+s.dir+":"+os.Getenv("PATH"))
	output, err := run.CombinedOutput()
	require.NoError(s, err, "%s\n%s", command, output)
}

// apply applies files of testdata.
func (s *site) apply(files ...string) {
	s.Helper()
	for _, file := range files {
		s.shell("kubectl apply -f testdata/" + file)
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
	output, err := exec.CommandContext(s.Context(), filepath.Join(s.bin, "podsequence-controller"), arguments...).CombinedOutput()
	return report(output), err
}

func (s *site) await(what string, happened func() bool) {
	s.Helper()
	require.Eventually(s, happened, patience, 50*time.Millisecond, "waited for %s", what)
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
