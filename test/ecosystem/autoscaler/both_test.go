package autoscaler

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/test/harness/book"
)

// Pods that PodSequence does not govern do not wait for the driver. The startup taint of docs/autoscalers.md keeps them away as well.
func TestAStartupTaintBesidePodSequenceKeepsOtherPodsAway(t *testing.T) {
	t.Parallel()
	s := newStory(t, byPodSequence, pool{instanceType: small, bootTime: "1s"})
	require.NoError(t, shared.apply(nodePoolOfThePage(t, s.Namespace)))
	s.Create(s.deployment("web", 1))
	others := s.deployment("others", 1)
	others.Spec.Template.Labels[tier] = "others"
	others.Spec.Template.Spec.SchedulerName = corev1.DefaultSchedulerName
	s.Create(others)
	s.awaitDrivers(1)
	s.expectNodes(1)
	s.expectUnbound("web-")
	s.expectUnbound("others-")
	s.startDrivers()
	s.awaitBound("web-", 1)
	s.awaitBound("others-", 1)
	s.expectNodes(1)
}

// nodePoolOfThePage is the NodePool of docs/autoscalers.md under a name, for nodes of KWOK. Its taint must be that of the stories.
func nodePoolOfThePage(t *testing.T, name string) string {
	t.Helper()
	pages, err := book.Pages("../../..")
	require.NoError(t, err)
	page := slices.IndexFunc(pages, func(p book.Page) bool { return p.File == "docs/autoscalers.md" })
	require.NotEqual(t, -1, page)
	block := slices.IndexFunc(pages[page].Blocks, func(b book.Block) bool { return strings.Contains(b.Text, "kind: NodePool") })
	require.NotEqual(t, -1, block)
	type fields = map[string]any
	var nodes fields
	require.NoError(t, yaml.Unmarshal([]byte(pages[page].Blocks[block].Text), &nodes))
	nodes["metadata"] = fields{"name": name}
	template := nodes["spec"].(fields)["template"].(fields)["spec"].(fields)
	require.Equal(t, []any{fields{"key": driverTaint, "effect": "NoSchedule"}}, template["startupTaints"])
	template["nodeClassRef"] = fields{"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": name}
	template["requirements"] = append(template["requirements"].([]any),
		fields{"key": corev1.LabelInstanceTypeStable, "operator": "In", "values": []string{small}})
	encoded, err := json.Marshal(nodes)
	require.NoError(t, err)
	return string(encoded)
}
