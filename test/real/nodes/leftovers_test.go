package nodes

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/tools/sandbox/controlplane"
	"example.com/podsequence/tools/sandbox/realnode"
)

func TestNothingIsLeftOfASandboxWithRealNodes(t *testing.T) {
	tests := map[string]func(*sandbox){
		"that sandbox down ends": func(s *sandbox) {
			s.up("1")
			s.startPod("real-0")
			s.mustHaveSomething()
			s.run("down")
		},
		"that Ctrl-C ends": func(s *sandbox) {
			s.upInForeground("1")
			s.startPod("real-0")
			s.mustHaveSomething()
			require.NoError(s.t, s.foreground.Process.Signal(os.Interrupt))
			require.NoError(s.t, s.foreground.Wait())
		},
		"whose process is killed": func(s *sandbox) {
			s.upInForeground("1")
			s.startPod("real-0")
			s.mustHaveSomething()
			require.NoError(s.t, s.foreground.Process.Kill())
			_ = s.foreground.Wait() // The error is that it was killed.
		},
		"whose nodes have lost the process that runs them": func(s *sandbox) {
			s.up("1")
			s.startPod("real-0")
			s.mustHaveSomething()
			require.NoError(s.t, s.cluster().Kill(s.t.Context(), controlplane.RealNodes))
			s.eventually("no process of a node is left", func(context.Context) bool { return len(s.processesOfNodes()) == 0 })
			s.run("down")
		},
		"whose nodes crashed before": func(s *sandbox) {
			s.up("1")
			s.startPod("real-0")
			s.mustHaveSomething()
			s.run("node", "crash", "real-0")
			assert.Empty(s.t, s.processesOfNodes(), "a crash ends all processes of a node")
			s.run("down")
		},
	}
	for name, play := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			links := linksOfMachine(t)
			play(s)
			// Nobody waits for the end of what ends with a process that was killed.
			s.eventually("no process is left", func(context.Context) bool { return len(s.processes()) == 0 })
			s.eventually("no cgroup is left", func(context.Context) bool { return len(s.cgroups()) == 0 })
			assert.Empty(t, s.mounts())
			assert.Subset(t, links, linksOfMachine(t))
		})
	}
}

func TestTwoSandboxesHaveRealNodesAtOnce(t *testing.T) {
	first, second := newSandbox(t), newSandbox(t)
	var both sync.WaitGroup
	for _, s := range []*sandbox{first, second} {
		both.Go(func() { _ = s.command(append(upArgs("1"), "--detach")...).Run() })
	}
	both.Wait()
	first.startPod("real-0")
	second.startPod("real-0")
	first.run("down")
	assert.Empty(t, first.processes())
	assert.Empty(t, first.cgroups())
	second.mustHaveSomething()
	second.run("node", "reboot", "real-0")
	second.waitForPod("real-0", func(pod *corev1.Pod) bool { return pod.Status.ContainerStatuses[0].RestartCount > 0 })
	second.run("down")
	assert.Empty(t, second.processes())
	assert.Empty(t, second.cgroups())
}

// mustHaveSomething makes sure that what is looked for later can be found, and that the machine sees none of the nodes' mounts.
func (s *sandbox) mustHaveSomething() {
	s.t.Helper()
	const initContainerdKubeletShimPauseWorkload = 6
	require.GreaterOrEqual(s.t, len(s.processesOfNodes()), initContainerdKubeletShimPauseWorkload, "%v", s.processesOfNodes())
	require.NotEmpty(s.t, s.cgroups())
	require.Empty(s.t, s.mounts())
}

// processesOfNodes are those in cgroups of the sandbox's nodes.
func (s *sandbox) processesOfNodes() []string {
	name := []byte(realnode.CgroupName(s.dir))
	return findProcesses(s.t, func(_, cgroups []byte) bool { return bytes.Contains(cgroups, name) })
}

// processes are all of the sandbox.
func (s *sandbox) processes() []string {
	name := []byte(realnode.CgroupName(s.dir))
	return findProcesses(s.t, func(command, cgroups []byte) bool {
		return bytes.Contains(cgroups, name) || bytes.Contains(command, []byte(s.dir))
	})
}

func findProcesses(t *testing.T, ofSandbox func(command, cgroups []byte) bool) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	var found []string
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		dir := filepath.Join("/proc", entry.Name())
		// A process that has ended by now has no command, nor has one that its parent has yet to take note of.
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		cgroups, _ := os.ReadFile(filepath.Join(dir, "cgroup"))
		if len(command) > 0 && ofSandbox(command, cgroups) {
			found = append(found, fmt.Sprintf("%s %s", entry.Name(), bytes.ReplaceAll(command, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// cgroups are those that the machine has for the sandbox.
func (s *sandbox) cgroups() []string {
	hierarchies, err := realnode.Hierarchies()
	require.NoError(s.t, err)
	var found []string
	for _, h := range hierarchies {
		cgroup := filepath.Join(h.Mount, realnode.CgroupName(s.dir))
		if _, err := os.Stat(cgroup); err == nil {
			found = append(found, cgroup)
		} else {
			require.ErrorIs(s.t, err, fs.ErrNotExist)
		}
	}
	return found
}

// mounts are those of the machine that a node could have made.
func (s *sandbox) mounts() []string {
	content, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(s.t, err)
	var found []string
	for line := range strings.Lines(string(content)) {
		for _, part := range []string{s.dir, realnode.CgroupName(s.dir), "/run/node/", "boot_id"} {
			if strings.Contains(line, part) {
				found = append(found, line)
			}
		}
	}
	return found
}

func linksOfMachine(t *testing.T) []string {
	t.Helper()
	interfaces, err := net.Interfaces()
	require.NoError(t, err)
	names := []string{}
	for _, one := range interfaces {
		names = append(names, one.Name)
	}
	return names
}

// lockedBuffer is written to by a process while a test reads it.
type lockedBuffer struct {
	lock    sync.Mutex
	content bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.content.Write(p)
}

func (b *lockedBuffer) bytes() []byte {
	b.lock.Lock()
	defer b.lock.Unlock()
	return bytes.Clone(b.content.Bytes())
}
