// Package migrate follows the guides for those who come from another product, step by step, on a cluster as that leaves it: its objects
// with their finalizers and statuses, its taints, gated pods, and nobody who does anything any more.
package migrate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"example.com/podsequence/test/harness/book"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// root is the directory of the module.
const root = "../../.."

// programs are ours.
var programs = []string{controlplane.PodSequenceController, controlplane.PodSequenceScheduler}

// site is a cluster without PodSequence, until a guide installs it.
type site struct {
	*testing.T
	cluster *cluster.Cluster
	ctx     context.Context
	// dir is where the reader runs commands. It has install.yaml.
	dir string
}

// newSite starts a cluster in which nothing of PodSequence is left but the accounts of its programs, which do not run.
func newSite(t *testing.T, installation string) *site {
	t.Helper()
	s := &site{T: t, cluster: cluster.Own(t, controlplane.Options{Nodes: 3, LeaderElection: true}), ctx: t.Context(), dir: t.TempDir()}
	for _, program := range programs {
		require.NoError(t, s.cluster.Kill(s.ctx, program))
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "manifests", installation))
	require.NoError(t, err)
	var all, others strings.Builder
	for _, resource := range resources.Resources() {
		text, err := resource.AsYAML()
		require.NoError(t, err)
		fmt.Fprintf(&all, "---\n%s", text)
		if resource.GetKind() != "Namespace" && resource.GetKind() != "ServiceAccount" {
			fmt.Fprintf(&others, "---\n%s", text)
		}
	}
	s.write("install.yaml", all.String())
	s.write("others.yaml", others.String())
	s.run("kubectl delete -f others.yaml --ignore-not-found")
	return s
}

func (s *site) write(name, text string) {
	s.Helper()
	require.NoError(s, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}

// run runs commands as the reader pastes them, with kubectl podseq installed. They must succeed.
func (s *site) run(commands string) string {
	s.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(s, err)
	bin, err = filepath.Abs(bin)
	require.NoError(s, err)
	script := fmt.Sprintf("set -euo pipefail; cd '%s'; PATH=\"$PATH:%s\"\n%s", s.dir, bin, commands)
	output, err := s.cluster.Shell(s, script)
	require.NoError(s, err, "%s\n%s", commands, output)
	return output
}

// apply applies a file of testdata.
func (s *site) apply(file string) {
	s.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", file))
	require.NoError(s, err)
	s.run("kubectl apply -f '" + path + "'")
}

// startPrograms starts ours, once they are installed: the Deployments have simulated pods.
func (s *site) startPrograms() {
	s.Helper()
	for _, program := range programs {
		require.NoError(s, s.cluster.StartComponent(s.ctx, program))
	}
}

var numbered = regexp.MustCompile(`^([0-9]+)\. `)

// steps returns the commands of the numbered steps of a guide that its test runs. A step without commands has none.
func steps(t *testing.T, file string) map[int][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	page, err := book.Parse(file, string(text))
	require.NoError(t, err)
	found := map[int][]string{}
	for _, block := range page.Blocks {
		if block.Info != "sh guide" {
			continue
		}
		step := 0
		for _, line := range page.Lines {
			if match := numbered.FindStringSubmatch(line.Text); match != nil && line.Number < block.Number {
				step, _ = strconv.Atoi(match[1])
			}
		}
		require.NotZero(t, step, "%s:%d: the block is in no numbered step", file, block.Number)
		found[step] = append(found[step], block.Text)
	}
	return found
}

// follow runs the steps of a guide in order. after has what is to be seen or done after some of them.
func (s *site) follow(file string, after map[int]func()) {
	s.Helper()
	all, last := steps(s.T, file), 0
	for step := range all {
		last = max(last, step)
	}
	for step := 1; step <= last; step++ {
		for _, commands := range all[step] {
			s.Logf("step %d:\n%s\n%s", step, commands, s.run(commands))
		}
		if do := after[step]; do != nil {
			do()
			delete(after, step)
		}
	}
	require.Empty(s, after, "the guide has fewer steps")
}

// pods returns the pods of a namespace with a label, those that end left out.
func (s *site) pods(namespace, app string) []corev1.Pod {
	s.Helper()
	var list corev1.PodList
	require.NoError(s, s.cluster.API.List(s.ctx, &list, client.InNamespace(namespace), client.MatchingLabels{"app": app}))
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// awaitPods waits until an app has so many pods, all of them as they should be.
func (s *site) awaitPods(namespace, app, what string, count int, are func(*corev1.Pod) bool) {
	s.Helper()
	cluster.Eventually(s, fmt.Sprintf("%d pods of %s/%s %s", count, namespace, app, what), func() error {
		pods := s.pods(namespace, app)
		if len(pods) != count {
			return fmt.Errorf("there are %d", len(pods))
		}
		for i := range pods {
			if !are(&pods[i]) {
				return fmt.Errorf("pod %s: %s %s %v %v", pods[i].Name, pods[i].Spec.SchedulerName, pods[i].Spec.NodeName, pods[i].Spec.SchedulingGates, pods[i].Status.Conditions)
			}
		}
		return nil
	})
}

// makeReady lets the simulated kubelets make pods ready that were told not to.
func (s *site) makeReady(pods ...corev1.Pod) {
	s.Helper()
	for i := range pods {
		require.NoError(s, s.cluster.API.Patch(s.ctx, &pods[i], cluster.Merge(s, map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{cluster.ReadyAfter: "0s"}},
		})))
	}
}

// ungate lifts the gates of pods, as the other product does.
func (s *site) ungate(pods []corev1.Pod) {
	s.Helper()
	for i := range pods {
		patch := client.RawPatch("application/json-patch+json", []byte(`[{"op":"remove","path":"/spec/schedulingGates"}]`))
		require.NoError(s, s.cluster.API.Patch(s.ctx, &pods[i], patch))
	}
}
