package real

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/containerlogs"
)

// A kubelet says that a container without a readiness probe is ready as soon as it runs: for a moment between two crashes, too.
func TestAFirstTierThatCrashesKeepsTheSecondFromStarting(t *testing.T) {
	const crashes = 3
	s := newStory(t)
	var sequences []string
	for i := range 12 {
		args := []string{"-code", "1", "exit"}
		if i >= 10 {
			args = append([]string{"-exit-after", "2s"}, args...)
		}
		name, first, second := fmt.Sprintf("crash-%d", i), fmt.Sprintf("first-%d", i), fmt.Sprintf("second-%d", i)
		s.Create(s.sequence(name).Label("First", app, first).Label("Second", app, second).Obj(),
			s.deployment(first, 1, workload(args...)), s.deployment(second, 1, probed(workload("serve"))))
		sequences = append(sequences, name)
	}
	for i := range sequences {
		s.awaitSaid(crashes, containerlogs.Of(fmt.Sprintf("first-%d-", i)), containerlogs.Saying(containerlogs.Exit))
	}
	s.fence("later")
	s.expectSilent("second-")
	for _, name := range sequences {
		assert.NotEqual(s, v1alpha1.PhaseCompleted, cluster.Get(s.Story, &v1alpha1.PodSequence{}, name).Status.Phase, name)
	}
}
