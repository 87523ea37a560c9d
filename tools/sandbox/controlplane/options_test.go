package controlplane

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOptionsAreRefused(t *testing.T) {
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, sandboxExecutable), nil, 0o700))

	tests := map[string]struct {
		change  func(*Options)
		wantErr string
	}{
		"without a directory": {
			change:  func(o *Options) { o.Dir = "" },
			wantErr: "no directory given",
		},
		"with fewer than no nodes": {
			change:  func(o *Options) { o.Nodes = -1 },
			wantErr: "number of nodes is negative: -1",
		},
		"with fewer than no real nodes": {
			change:  func(o *Options) { o.RealNodes = -1 },
			wantErr: "number of real nodes is -1, want 0 to 100",
		},
		"with real nodes that are newer than their API server": {
			change:  func(o *Options) { o.RealNodes, o.ControlPlane = 1, bin },
			wantErr: "a kubelet must not be newer than its API server",
		},
		"with real nodes that have not been built": {
			change:  func(o *Options) { o.RealNodes = 1 },
			wantErr: "find executable of real-nodes (run make build-real-nodes)",
		},
		"with a component that does not exist": {
			change:  func(o *Options) { o.Components = append(o.Components, "kubelet") },
			wantErr: `unknown component "kubelet"`,
		},
		"with arguments for a component that does not exist": {
			change:  func(o *Options) { o.ExtraArgs = map[string][]string{"kubelet": {"--v=4"}} },
			wantErr: `place extra arguments: unknown component "kubelet"`,
		},
		"without an API server": {
			change:  func(o *Options) { o.Components = []string{Etcd} },
			wantErr: "leave out kube-apiserver: there is no cluster without it",
		},
		"with a program that has not been built": {
			change:  func(o *Options) { o.Components = nil },
			wantErr: "find executable of podsequence-scheduler (run make build)",
		},
		"with a control plane that has not been built": {
			change:  func(o *Options) { o.ControlPlane = bin },
			wantErr: "find executable of kube-apiserver (run make compat)",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			options := Options{Dir: t.TempDir(), Bin: bin, Components: UpstreamComponents()}
			require.NoError(t, options.complete(), "the change alone must be what is refused")
			tt.change(&options)
			require.ErrorContains(t, options.complete(), tt.wantErr)
		})
	}
}

func TestFindBinSaysWhatToDo(t *testing.T) {
	t.Setenv(binVariable, t.TempDir())
	_, err := FindBin()
	require.ErrorContains(t, err, "run make build")
}

func TestExtraArgumentsComeLast(t *testing.T) {
	options := Options{
		Dir:       t.TempDir(),
		Bin:       t.TempDir(),
		ExtraArgs: map[string][]string{ControllerManager: {"--kube-api-qps=1"}, PodSequenceController: {"--v=4"}},
	}
	plan, err := newPlan(options)
	require.NoError(t, err)

	upstream := plan.process(ControllerManager)
	assert.Equal(t, filepath.Join(options.Bin, "sandbox"), upstream.Path)
	assert.Equal(t, []string{"component", ControllerManager, "--"}, upstream.Args[:3])
	assert.Equal(t, "--kube-api-qps=1", upstream.Args[len(upstream.Args)-1])

	ours := plan.process(PodSequenceController)
	assert.Equal(t, filepath.Join(options.Bin, "podsequence-controller"), ours.Path)
	assert.Equal(t, "--v=4", ours.Args[len(ours.Args)-1])
}
