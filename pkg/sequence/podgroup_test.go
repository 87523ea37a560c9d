package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/podgroups"
	"example.com/podsequence/pkg/sequence/order"
)

// Pods say themselves to which PodGroup they belong. What the PodGroup asks for is not looked at: it need not exist.
func TestAGangThatIsSplitOverGroupsIsReported(t *testing.T) {
	split := []order.Problem{{
		Reason: v1alpha1.ReasonGangSplit,
		Message: "PodGroup gang has pods in several groups: its pods are scheduled together, so these groups wait for each other; " +
			"put all its pods into one group",
	}}
	for kind, inGang := range map[podgroups.Kind]func(pod *corev1.Pod){
		podgroups.Native: func(pod *corev1.Pod) {
			pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("gang")}
		},
		podgroups.Coscheduling: func(pod *corev1.Pod) { pod.Labels = map[string]string{podgroups.CoschedulingLabel: "gang"} },
	} {
		t.Run(string(kind), func(t *testing.T) {
			engine := newEngine()
			problems := func() []order.Problem {
				report, _ := engine.Report(shopKey)
				return report.Problems
			}
			apply := func(name, version string) {
				pod := makePod(name, version).Obj()
				inGang(pod)
				engine.ApplyPod(pod)
			}
			engine.ApplySequence(shop().Obj())
			apply("one", "1")
			assert.Empty(t, problems(), "all of them are in one group")
			apply("two", "1")
			assert.Equal(t, split, problems())
			engine.ApplyPod(makePod("two", "2").Obj())
			assert.Empty(t, problems(), "it has left the PodGroup")
			apply("two", "3")
			assert.Equal(t, split, problems())
			engine.RemovePod(makePod("one", "4").Obj())
			assert.Empty(t, problems(), "no pod is left in the first group")
		})
	}
}
