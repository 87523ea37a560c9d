//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/tools/sandbox/realnode"
)

func newTestNode(t *testing.T) *node {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("content"), 0o600))
	return &node{
		config: &realnode.Config{Dir: filepath.Join(dir, "nodes"), CA: file},
		Node:   realnode.Node{Name: "real-3", Index: 3, Kubeconfig: file, Cert: file, Key: file},
	}
}

func TestTheUsersConfigurationOfKubeletsIsMerged(t *testing.T) {
	n := newTestNode(t)
	n.config.KubeletConfig = filepath.Join(n.config.Dir, "kubelet.yaml")
	require.NoError(t, os.MkdirAll(n.config.Dir, 0o700))
	theirs := "evictionHard: {memory.available: 2Gi}\nmaxPods: 7\nauthorization: {mode: AlwaysAllow}\n"
	require.NoError(t, os.WriteFile(n.config.KubeletConfig, []byte(theirs), 0o600))
	content, err := n.kubeletConfig()
	require.NoError(t, err)
	var config map[string]any
	require.NoError(t, yaml.Unmarshal(content, &config))
	assert.Equal(t, "10.77.0.13", config["address"], "what they do not have stays")
	assert.EqualValues(t, 7, config["maxPods"])
	assert.Equal(t, map[string]any{"mode": "AlwaysAllow"}, config["authorization"])
	eviction := config["evictionHard"].(map[string]any)
	assert.Equal(t, "2Gi", eviction["memory.available"])
	assert.Equal(t, "0%", eviction["nodefs.available"], "what they do not have of it stays")
}

func TestANodeHasANewBootIDAtEachBootAndOneMachineID(t *testing.T) {
	n := newTestNode(t)
	read := func(file string) string {
		content, err := os.ReadFile(filepath.Join(n.disk(), file))
		require.NoError(t, err)
		return string(content)
	}
	require.NoError(t, n.writeFiles())
	boot, machine := read("etc/proc/boot_id"), read("etc/machine-id")
	assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\n$`, boot)
	assert.Regexp(t, `^[0-9a-f]{32}\n$`, machine)
	require.NoError(t, n.writeFiles())
	assert.NotEqual(t, boot, read("etc/proc/boot_id"))
	assert.Equal(t, machine, read("etc/machine-id"))
}
