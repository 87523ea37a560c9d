package installs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// repetitions are how often an application is installed with each tool: a pod that is early is so by chance.
const repetitions = 4

// Applications that ask for it start in order from their first installation on, with each tool that people use. Of one that does not
// ask, the sequence says which pods started before it.
func TestNothingStartsBeforeItsSequence(t *testing.T) {
	awaitRouting(t)
	var bindings atomic.Int64 // of pods that ask for an order, at least
	t.Run("with", func(t *testing.T) {
		for _, tool := range tools {
			t.Run(tool.name, func(t *testing.T) {
				t.Parallel()
				installOften(t, tool)
				bindings.Add(repetitions * int64(len(ways)-1) * tiers)
			})
		}
	})
	// Of the applications that do not ask, the sequence may have been there before the scheduler had seen it.
	verdict := ordercheck.Judge(referee.History(t.Context()), ordercheck.JudgeOptions{ExcusesUnseen: true})
	assert.True(t, verdict.Clean(), "%s", verdict)
	assert.GreaterOrEqual(t, int64(verdict.Bindings), bindings.Load(), "%s", verdict)
}

// installOften installs applications of all ways side by side, so often, and sees them start.
func installOften(t *testing.T, tool tool) {
	wayOf := map[string]way{} // by namespace
	installations := make([][]file, repetitions)
	for i := range installations {
		for _, w := range ways {
			namespace := fmt.Sprintf("%s-%d-%s", tool.name, i, w.name)
			wayOf[namespace] = w
			installations[i] = append(installations[i], folder(t, namespace, w, tool.name)...)
		}
		tool.install(t, filepath.Join(t.TempDir(), fmt.Sprint(i)), installations[i])
	}
	atFirst := tool.atFirst
	if atFirst == 0 {
		atFirst = tiers
	}
	awaitPods(t, tool, "to exist", len(wayOf)*atFirst, func(corev1.Pod) bool { return true })
	if tool.late != nil {
		awaitPods(t, tool, "to say that they wait, or to be bound", len(wayOf)*atFirst, func(pod corev1.Pod) bool {
			if w := wayOf[pod.Namespace]; w.message != "" {
				return waitsFor(pod, w.message)
			}
			return pod.Spec.NodeName != ""
		})
		for _, files := range installations {
			tool.late(t, files)
		}
	}
	awaitFence(t)

	early := map[string][]string{} // by namespace
	for _, pod := range tool.pods(t) {
		if pod.Labels["tier"] == first || pod.Spec.NodeName == "" || wayOf[pod.Namespace].message == "" && !isOlderThanSequence(t, pod) {
			continue
		}
		early[pod.Namespace] = append(early[pod.Namespace], pod.Name)
		assert.Empty(t, wayOf[pod.Namespace].message, "pod %s/%s is bound, though the database is not ready", pod.Namespace, pod.Name)
	}
	if tool.late != nil {
		assert.Len(t, early, repetitions, "without a label, an annotation or a gate pods cannot wait for what is not there")
	}

	awaitPods(t, tool, "of the database to be bound", len(wayOf), func(pod corev1.Pod) bool {
		return pod.Labels["tier"] == first && pod.Spec.NodeName != ""
	})
	for _, pod := range tool.pods(t) {
		if pod.Labels["tier"] == first {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"0s"}}}`, cluster.ReadyAfter)
			require.NoError(t, shared.API.Patch(t.Context(), &pod, client.RawPatch(types.MergePatchType, []byte(patch))))
		}
	}
	isReady := func(pod corev1.Pod) bool { return cluster.IsReady(&pod) }
	awaitPods(t, tool, "to be ready", len(wayOf)*atFirst, isReady)
	if tool.last != nil {
		for _, files := range installations {
			tool.last(t, files)
		}
		awaitPods(t, tool, "to be ready", len(wayOf)*tiers, isReady)
	}
	for namespace := range wayOf {
		expectReport(t, namespace, early[namespace])
	}
}

// isOlderThanSequence reports whether a bound pod may have been bound before the sequence of its namespace existed, by the times of the
// API, which are whole seconds.
func isOlderThanSequence(t testing.TB, pod corev1.Pod) bool {
	t.Helper()
	var sequence v1alpha1.PodSequence
	require.NoError(t, shared.API.Get(t.Context(), client.ObjectKey{Namespace: pod.Namespace, Name: sequenceName}, &sequence))
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.After(sequence.CreationTimestamp.Time)
	})
}

// expectReport says that a sequence reports the pods that were bound before it existed, and no others.
func expectReport(t testing.TB, namespace string, early []string) {
	t.Helper()
	var sequence v1alpha1.PodSequence
	read := func() {
		require.NoError(t, shared.API.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: sequenceName}, &sequence))
	}
	cluster.Await(t, namespace+" to be completed", func() bool {
		read()
		return sequence.Status.Phase == v1alpha1.PhaseCompleted
	})
	degraded := meta.FindStatusCondition(sequence.Status.Conditions, v1alpha1.ConditionDegraded)
	require.NotNil(t, degraded)
	if len(early) == 0 {
		assert.NotEqual(t, v1alpha1.ReasonStartedOutOfOrder, degraded.Reason, "%s: %s", namespace, degraded.Message)
		return
	}
	assert.Equal(t, v1alpha1.ReasonStartedOutOfOrder, degraded.Reason, "%s: %s were bound before the sequence existed: %s", namespace, early,
		degraded.Message)
	if reported := sequence.Status.StartedOutOfOrder; assert.NotNil(t, reported, namespace) {
		assert.ElementsMatch(t, early, reported.Pods, namespace)
	}
}

// awaitPods waits until there are so many pods of which something is so.
func awaitPods(t testing.TB, tool tool, what string, number int, so func(corev1.Pod) bool) {
	t.Helper()
	cluster.Await(t, fmt.Sprintf("%d pods %s", number, what), func() bool {
		return len(slices.DeleteFunc(tool.pods(t), func(pod corev1.Pod) bool { return !so(pod) })) == number
	})
}

// waitsFor reports whether a pod says that it waits, by a message with this in it.
func waitsFor(pod corev1.Pod, message string) bool {
	return pod.Spec.NodeName == "" && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated && strings.Contains(c.Message, message)
	})
}

// awaitFence returns when both programs have acted on everything that happened before. Each sees pods in the order in which they
// change, so when it has released one because of a later change, it has dealt with the earlier ones.
func awaitFence(t *testing.T) {
	t.Helper()
	s := cluster.NewStory(t, shared)
	s.Create(MakeSequence(s.Namespace, "fence").Pods("", "first").Pods("", "ours", "theirs").Obj())
	gate := []string{v1alpha1.DefaultSchedulingGateName}
	for _, pod := range []*st.PodWrapper{
		st.MakePod().Name("ours").SchedulerName(ordered),
		st.MakePod().Name("theirs").SchedulerName(controlplane.AnotherScheduler).SchedulingGates(gate),
		st.MakePod().Name("first").SchedulerName(ordered),
	} {
		s.Create(pod.Namespace(s.Namespace).Container("registry.example.com/fence").Obj())
	}
	for _, name := range []string{"ours", "theirs"} {
		s.Await("the fence", func() bool { return cluster.Get(s, &corev1.Pod{}, name).Spec.NodeName != "" })
	}
}

// awaitRouting waits until the policy counts, which takes the API server some time after its start: pods need no more than the
// label.
func awaitRouting(t *testing.T) {
	t.Helper()
	s := cluster.NewStory(t, shared)
	s.Await("the policy to count", func() bool {
		probe := st.MakePod().Namespace(s.Namespace).Name("probe").Label(v1alpha1.SequenceLabel, "shop").
			Container("registry.example.com/probe").Obj()
		require.NoError(t, shared.API.Create(t.Context(), probe, client.DryRunAll))
		return probe.Spec.SchedulerName == ordered
	})
}
