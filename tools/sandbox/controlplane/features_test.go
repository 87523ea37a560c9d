package controlplane

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFeaturesReachThoseThatKnowThem(t *testing.T) {
	const stage = "metadata: {name: ours}"
	p, err := newPlan(Options{
		Dir: t.TempDir(), FeatureGates: []string{"A=true", "B=false"}, RuntimeConfig: []string{"x/v1=true"}, Stages: []string{stage},
		ExtraArgs: map[string][]string{Scheduler: {"--feature-gates=A=false"}},
	})
	require.NoError(t, err)
	for _, name := range Components() {
		args := p.process(name).Args
		knows := name != Etcd && name != Kwok && name != PodSequenceController
		assert.Equal(t, knows, slices.Contains(args, "--feature-gates=A=true,B=false"), name)
		assert.Equal(t, name == APIServer, slices.Contains(args, "--runtime-config=x/v1=true"), name)
	}
	args := p.process(Scheduler).Args
	assert.Equal(t, "--feature-gates=A=false", args[len(args)-1], "what a test asks for comes last, and so wins")
	config, err := p.kwokConfig()
	require.NoError(t, err)
	assert.Contains(t, config, stage)

	p.ControlPlane = "/older"
	assert.Equal(t, "/older/kube-apiserver", p.process(APIServer).Path)
	assert.NotContains(t, p.process(APIServer).Args, "component", "a program of its own knows what it is")
	assert.Equal(t, []string{"component", Etcd, "--"}, p.process(Etcd).Args[:3])

	plain, err := newPlan(Options{Dir: t.TempDir()})
	require.NoError(t, err)
	for _, name := range Components() {
		assert.NotContains(t, strings.Join(plain.process(name).Args, " "), "--feature-gates", name)
	}
}
