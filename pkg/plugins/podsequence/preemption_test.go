package podsequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// runs binds a pod of low priority that takes the whole node.
func (s *stage) runs(name, tier, node string) *v1.Pod {
	s.Helper()
	p := pod(name, "3").Node(node).Label("tier", tier).Priority(0).Req(map[v1.ResourceName]string{v1.ResourceCPU: "4"}).Obj()
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	require.NoError(s, s.Cache.AddPod(klog.FromContext(s.Context()), p))
	s.act(s.engine.ApplyPod(p))
	return p
}

// Without this the application and the database would evict each other's next pods as long as both are wanted.
func TestAPodDoesNotEvictWhatItWaitsFor(t *testing.T) {
	tests := map[string]struct {
		mode  v1alpha1.EnforcementMode
		scope v1alpha1.Scope
		// victims are the tiers of the pods that run on n1 and n2.
		victims [2]string
		want    string // the node for which the application evicts a pod
	}{
		"in Continuous the database stays":                          {v1alpha1.Continuous, v1alpha1.ScopeCluster, [2]string{"db", "db"}, ""},
		"another pod is evicted instead":                            {v1alpha1.Continuous, v1alpha1.ScopeCluster, [2]string{"db", "other"}, "n2"},
		"a pod of its own group may be evicted":                     {v1alpha1.Continuous, v1alpha1.ScopeCluster, [2]string{"db", "app"}, "n2"},
		"a pod of a later group may be evicted":                     {v1alpha1.Continuous, v1alpha1.ScopeCluster, [2]string{"db", "report"}, "n2"},
		"in scope Node the driver stays":                            {v1alpha1.Continuous, v1alpha1.ScopeNode, [2]string{"db", "db"}, ""},
		"a group that is passed permanently is not waited for more": {v1alpha1.BootstrapOnly, v1alpha1.ScopeCluster, [2]string{"db", "report"}, "any"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			ps := MakeSequence("shop", "shop").UID("shop").Label("Database", "tier", "db").Label("Application", "tier", "app").
				Label("Report", "tier", "report").Obj()
			ps.Spec.EnforcementMode, ps.Spec.Scope = test.mode, test.scope
			s.act(s.engine.ApplySequence(ps))
			for i, name := range []string{"n1", "n2"} {
				node := st.MakeNode().Name(name).Label(v1.LabelHostname, name).
					Capacity(map[v1.ResourceName]string{v1.ResourceCPU: "4", v1.ResourcePods: "10"}).Obj()
				node.ResourceVersion = "1"
				s.Cache.AddNode(klog.FromContext(t.Context()), node)
				s.act(s.engine.ApplyNode(node))
				s.runs(name+"-runs", test.victims[i], name)
			}
			s.client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
			app := pod("app", "5").Label("tier", "app").Priority(1000).Req(map[v1.ResourceName]string{v1.ResourceCPU: "2"}).Obj()
			s.act(s.engine.ApplyPod(app))
			s.deliver(app)
			require.Equal(t, []string{"app"}, s.active())
			s.tryOne()
			nominated := ""
			for _, node := range []string{"n1", "n2"} {
				if len(s.queue.NominatedPodsForNode(node)) > 0 {
					nominated = node
				}
			}
			if test.want == "any" {
				assert.NotEmpty(t, nominated)
				return
			}
			assert.Equal(t, test.want, nominated)
		})
	}
}

// A PodGroup is asked for no victim by itself.
func TestRemovePodFailsForWhatAMemberOfAPodGroupWaitsFor(t *testing.T) {
	s := newStage(t)
	s.nodes("n1")
	s.addContinuousSequence("driver-n1")
	plugin := &PodSequence{holder: s.holder}
	later, group := pod("later", "5").Obj(), "gang"
	later.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	s.act(s.engine.ApplyPod(later))
	_, status := plugin.PreFilter(t.Context(), framework.NewCycleState(), later, nil)
	require.True(t, status.IsSuccess(), "the framework asks RemovePod only if PreFilter does not skip")
	remove := func(name string) string {
		victim, err := framework.NewPodInfo(pod(name, "2").Node("n1").Obj())
		require.NoError(t, err)
		status := plugin.PreFilterExtensions().RemovePod(t.Context(), framework.NewCycleState(), later, victim, nil)
		return status.Message()
	}
	assert.Equal(t, "pod shop/driver-n1 is not evicted: it belongs to a group that this pod waits for", remove("driver-n1"))
	assert.Empty(t, remove("other"))

	alone := pod("later", "5").Obj()
	_, status = plugin.PreFilter(t.Context(), framework.NewCycleState(), alone, nil)
	assert.True(t, status.IsSkip(), "for a pod by itself DefaultPreemption asks")
}
