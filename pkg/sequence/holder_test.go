package sequence

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// blind returns an engine that sees no nodes.
func blind() recording {
	return newEngineOf(func(c *Config) { c.ClusterScopeOnly = true })
}

// driverFirst is a sequence of drivers and an application.
func driverFirst(perNode, dryRun bool) *v1alpha1.PodSequence {
	ps := MakeSequence(oracleNamespace, "shop").UID("shop").Label("Driver", "app", "driver").Label("Application", "tier", "app")
	if perNode {
		ps.NodeScope()
	}
	ps.Spec.DryRun = dryRun
	return ps.Obj()
}

func TestAProgramThatSeesNoNodesKeepsGates(t *testing.T) {
	gated := func(name, label, value string) *corev1.Pod {
		return makePod(name, "1").Label(label, value).SchedulingGates([]string{v1alpha1.DefaultSchedulingGateName}).Obj()
	}
	pods := []*corev1.Pod{gated("driver", "app", "driver"), gated("app", "tier", "app"), makePod("free", "1").Label("tier", "app").Obj()}
	enforced, dry := blind(), blind()
	enforced.ApplySequence(driverFirst(true, false))
	dry.ApplySequence(driverFirst(true, true))
	for _, p := range pods {
		enforced.ApplyPod(p)
		dry.ApplyPod(p)
		assert.False(t, dry.Decide(p).Held)
	}
	assert.True(t, enforced.Decide(pods[0]).Held)
	assert.True(t, enforced.Decide(pods[1]).Held)
	assert.False(t, enforced.Decide(pods[2]).Held, "nothing says on which nodes it would have to wait")
	report, ok := dry.Report(shopKey)
	require.True(t, ok)
	assert.Equal(t, []string{"app", "driver"}, report.DryRun.Pods, "the dry run says the same")
}

// A dry run says what would be, whoever places the pod, whatever the scope and whatever the program sees.
func TestADryRunCountsWhatWouldBeHeld(t *testing.T) {
	held := 0
	for i := range 1 << 6 {
		is := func(bit int) bool { return i&(1<<bit) != 0 }
		perNode, sees, ours, isGated, pinned, first := is(0), is(1), is(2), is(3), is(4), is(5)
		pod := makePod("app", "1").Label("tier", "app")
		if first {
			pod = makePod("app", "1").Label("app", "driver")
		}
		if !ours {
			pod.SchedulerName("another")
		}
		if isGated {
			pod.SchedulingGates([]string{v1alpha1.DefaultSchedulingGateName})
		}
		if pinned {
			pod.NodeAffinityIn("metadata.name", []string{"node-0"}, st.NodeSelectorTypeMatchFields)
		}
		if !ours && !isGated {
			continue // nobody can hold it
		}
		name := fmt.Sprintf("per node %t, sees nodes %t, ours %t, gated %t, pinned %t, first %t", perNode, sees, ours, isGated, pinned, first)
		t.Run(name, func(t *testing.T) {
			enforced, dry := blind(), blind()
			if sees {
				enforced, dry = newEngine(), newEngine()
			}
			for _, engine := range []recording{enforced, dry} {
				if sees {
					engine.ApplyNode(fleetNode(0, "1"))
				}
				engine.ApplyWorkload(driverSet("1", 1))
				engine.ApplySequence(driverFirst(perNode, engine.Engine == dry.Engine))
				engine.ApplyPod(pod.Obj())
			}
			report, ok := dry.Report(shopKey)
			require.True(t, ok)
			want := []string(nil)
			if enforced.Decide(pod.Obj()).Held {
				want = []string{"app"}
				held++
			}
			assert.Equal(t, want, report.DryRun.Pods)
		})
	}
	assert.Greater(t, held, 10)
}
