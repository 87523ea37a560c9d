package readiness

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/features"

	"example.com/podsequence/pkg/sequence/inventory"
)

// dueTemplates and dueNodes are what the rule of DaemonSets looks at, in all the forms that differ for it.
func dueTemplates() map[string]corev1.PodSpec {
	required := func(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
	}
	zone := func(operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: operator, Values: values}}}
	}
	return map[string]corev1.PodSpec{
		"that asks for nothing":                  {},
		"with a node selector":                   {NodeSelector: map[string]string{"zone": "a"}},
		"with an affinity":                       {Affinity: required(zone(corev1.NodeSelectorOpIn, "b", "c"))},
		"with an affinity and a node selector":   {NodeSelector: map[string]string{"zone": "a"}, Affinity: required(zone(corev1.NodeSelectorOpExists))},
		"with an affinity that cannot be parsed": {Affinity: required(zone("Nearly", "a"))},
		"with one term that cannot be parsed":    {Affinity: required(zone("Nearly", "a"), zone(corev1.NodeSelectorOpIn, "a"))},
		"with an affinity without terms":         {Affinity: required()},
		"that names a node":                      {NodeName: "cordoned"},
		"on the network of the host":             {HostNetwork: true},
		"that tolerates one taint":               {Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}},
		"that tolerates a number":                {Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: "Gt", Value: "1"}}},
		"that tolerates every taint":             {Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}},
	}
}

func dueNodes() map[string]corev1.NodeSpec {
	taint := func(key string, effect corev1.TaintEffect) corev1.NodeSpec {
		return corev1.NodeSpec{Taints: []corev1.Taint{{Key: key, Value: "2", Effect: effect}}}
	}
	return map[string]corev1.NodeSpec{
		"plain":            {},
		"cordoned":         {Unschedulable: true},
		"dedicated":        taint("dedicated", corev1.TaintEffectNoSchedule),
		"evicting":         taint("dedicated", corev1.TaintEffectNoExecute),
		"slow":             taint("slow", corev1.TaintEffectPreferNoSchedule),
		"without-network":  taint(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule),
		"not-ready":        taint(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
		"being-cordoned":   taint(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
		"of-another-maker": taint("example.com/starting", corev1.TaintEffectNoSchedule),
	}
}

func TestADaemonSetIsDueWhereKubernetesSaysSo(t *testing.T) {
	// Without it the API server accepts no toleration of a number.
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.TaintTolerationComparisonOperators, true)
	due := 0
	for of, template := range dueTemplates() {
		set := &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: template}}}
		before := set.DeepCopy()
		rule := NewDueRule(&inventory.Workload{Object: set})
		for name, spec := range dueNodes() {
			for _, zone := range []string{"a", "b", ""} {
				t.Run(fmt.Sprintf("one %s, on a node that is %s in zone %q", of, name, zone), func(t *testing.T) {
					object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": zone}}, Spec: spec}
					if zone == "" {
						object.Labels = nil
					}
					node := inventory.ViewNode(object)
					should, _ := daemon.NodeShouldRunDaemonPod(klog.Background(), object, set)
					assert.Equal(t, should, rule.IsDueOn(&node))
					if should {
						due++
					}
				})
			}
		}
		assert.Equal(t, before, set, "the DaemonSet is only read")
	}
	assert.NotZero(t, due)
}

func TestADaemonSetThatExpectsNothingWaitsForANode(t *testing.T) {
	node := func(zone string, taints ...string) *inventory.Node {
		object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": zone}}}
		for _, key := range taints {
			object.Spec.Taints = append(object.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
		}
		view := inventory.ViewNode(object)
		return &view
	}
	tests := map[string]struct {
		desired int32
		nodes   []*inventory.Node
		want    bool
	}{
		"no node exists":                         {want: true},
		"no node exists that it selects":         {nodes: []*inventory.Node{node("b")}, want: true},
		"its node is not ready":                  {nodes: []*inventory.Node{node("a", corev1.TaintNodeNotReady)}, want: true},
		"its node is unreachable":                {nodes: []*inventory.Node{node("a", corev1.TaintNodeUnreachable)}, want: true},
		"its node is new to its cloud":           {nodes: []*inventory.Node{node("a", "node.cloudprovider.kubernetes.io/uninitialized")}, want: true},
		"its node registers with Karpenter":      {nodes: []*inventory.Node{node("a", "karpenter.sh/unregistered")}, want: true},
		"its node has a start-up taint":          {nodes: []*inventory.Node{node("a", "startup-taint.cluster-autoscaler.kubernetes.io/x")}, want: true},
		"its node is ready, and was not counted": {nodes: []*inventory.Node{node("a")}, want: true},
		"only the control plane has a node":      {nodes: []*inventory.Node{node("a", "node-role.kubernetes.io/control-plane")}, want: true},
		"one node is reserved, another of the control plane": {
			nodes: []*inventory.Node{node("a", "dedicated"), node("a", "node-role.kubernetes.io/control-plane")},
		},
		"its node is reserved":               {nodes: []*inventory.Node{node("a", "dedicated")}},
		"its node is reserved and not ready": {nodes: []*inventory.Node{node("a", "dedicated", corev1.TaintNodeNotReady)}},
		"one node is reserved, another not ready": {
			nodes: []*inventory.Node{node("a", "dedicated"), node("a", corev1.TaintNodeNotReady)}, want: true,
		},
		"one node is reserved, another not selected": {nodes: []*inventory.Node{node("a", "dedicated"), node("b")}},
		"it expects pods beside a node that is not ready": {
			desired: 1, nodes: []*inventory.Node{node("a"), node("a", corev1.TaintNodeNotReady)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.DaemonSet{Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: tt.desired}}
			set.Spec.Template.Spec.NodeSelector = map[string]string{"zone": "a"}
			var w inventory.Workload
			require.True(t, w.View(set))
			rule := NewDueRule(&w)
			got := WaitsForNode(&w, func(yield func(Prospect) bool) {
				for _, n := range tt.nodes {
					if !yield(rule.ProspectOf(n)) {
						return
					}
				}
			})
			assert.Equal(t, tt.want, got)
		})
	}
}
