package real

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/containerlogs"
)

// story is one test: a namespace, and words to tell what happens in it. At its end the referee judges the namespace; the story
// itself compares what the containers said, see expectOrder.
type story struct {
	*cluster.Story
	// violates names the pods that start too early, because nobody could hold them.
	violates []string
}

func newStory(t *testing.T) *story {
	t.Helper()
	s := &story{}
	t.Cleanup(s.awaitNoPods) // after the namespace is deleted, so that the next story has the nodes for itself
	s.Story = cluster.NewStory(t, shared.Cluster)
	t.Cleanup(s.report)
	t.Cleanup(s.expectNoEarlyBindings)
	return s
}

// expectNoEarlyBindings checks which pods were bound too early according to the referee.
func (s *story) expectNoEarlyBindings() {
	verdict := shared.referee.VerdictFor(context.Background(), s.Namespace)
	assert.Empty(s, verdict.Incomplete, "the referee missed something")
	assert.Empty(s, verdict.FalseRecords, "statuses said of objects what they never were")
	var early []string
	for _, v := range verdict.Violations {
		_, name, _ := strings.Cut(fmt.Sprint(v.Pod), "/")
		early = append(early, name)
	}
	assert.ElementsMatch(s, s.violates, early, "pods bound too early; the referee says: %s", verdict)
}

func (s *story) awaitNoPods() {
	s.Await("the pods of the story to end", func() bool {
		var pods corev1.PodList
		return s.API.List(context.Background(), &pods, client.InNamespace(s.Namespace)) == nil && len(pods.Items) == 0
	})
}

// said is what the containers of the story said so far, also those that are gone.
func (s *story) said() containerlogs.Lines { return shared.logs.Lines(s.Namespace) }

// awaitSaid waits until there are so many lines of which all conditions hold, and returns them.
func (s *story) awaitSaid(count int, conditions ...containerlogs.Condition) containerlogs.Lines {
	s.Helper()
	var found containerlogs.Lines
	s.Await(fmt.Sprintf("%d lines of containers", count), func() bool {
		found = s.said().Where(conditions...)
		return len(found) >= count
	})
	return found
}

// expectOrder says that every container of pods whose names begin with second started only after every pod whose name begins with
// first was ready, as the containers themselves said it.
func (s *story) expectOrder(first, second string) {
	s.Helper()
	s.expectLinesInOrder(s.said().Where(containerlogs.Of(first)), s.said().Where(containerlogs.Of(second)))
}

// expectLinesInOrder is expectOrder of lines that the story selected.
func (s *story) expectLinesInOrder(first, second containerlogs.Lines) {
	s.Helper()
	assert.Empty(s, containerlogs.TooEarly(first, second), "pods started too early")
}

// expectSilent says that no container of pods whose names begin with prefix ever started.
func (s *story) expectSilent(prefix string) {
	s.Helper()
	assert.Empty(s, s.said().Where(containerlogs.Of(prefix), containerlogs.Saying(containerlogs.Started)).String(),
		"pods started that had to wait")
}

// sequence begins a PodSequence of the story's namespace.
func (s *story) sequence(name string) *SequenceWrapper { return MakeSequence(s.Namespace, name) }

func (s *story) awaitPhase(sequence string, phase v1alpha1.Phase) {
	s.Helper()
	cluster.Eventually(s, fmt.Sprintf("%s to be %s", sequence, phase), func() error {
		status := cluster.Get(s.Story, &v1alpha1.PodSequence{}, sequence).Status
		if status.Phase != phase {
			return fmt.Errorf("it is %s: %v", status.Phase, status.Groups)
		}
		return nil
	})
}

// pods lists the pods whose names begin with the prefix.
func (s *story) pods(prefix string) []corev1.Pod {
	s.Helper()
	var list corev1.PodList
	require.NoError(s, s.API.List(s.Ctx, &list, client.InNamespace(s.Namespace)))
	var found []corev1.Pod
	for _, pod := range list.Items {
		if strings.HasPrefix(pod.Name, prefix) {
			found = append(found, pod)
		}
	}
	return found
}

// awaitReady waits until so many pods whose names begin with the prefix are ready, as the API says it, and returns them.
func (s *story) awaitReady(prefix string, count int) []corev1.Pod {
	s.Helper()
	var ready []corev1.Pod
	s.Await(fmt.Sprintf("%d pods %s to be ready", count, prefix), func() bool {
		ready = nil
		for _, pod := range s.pods(prefix) {
			if pod.DeletionTimestamp == nil && cluster.IsReady(&pod) {
				ready = append(ready, pod)
			}
		}
		return len(ready) >= count
	})
	return ready
}

// awaitHeld waits until so many pods whose names begin with the prefix say that they wait for their group.
func (s *story) awaitHeld(prefix string, count int) {
	s.Helper()
	s.Await(fmt.Sprintf("%d pods %s to be held", count, prefix), func() bool {
		held := 0
		for _, pod := range s.pods(prefix) {
			if pod.Spec.NodeName == "" && (cluster.IsHeld(&pod) || isTried(&pod)) {
				held++
			}
		}
		return held >= count
	})
}

// isTried reports whether a pod that is not pinned to a node says that it waits for its group on all of them.
func isTried(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable && strings.Contains(c.Message, "node(s) waiting for group")
	})
}

// fence returns when both programs have acted on everything that happened to pods before it was called: they see pods in the order
// in which they change, and they release the fence's last pods because of later changes.
func (s *story) fence(name string) {
	s.Helper()
	first, then := name+"-first", name+"-then"
	s.Create(s.sequence(name).Pods("", first).Pods("", then).Obj(),
		s.pod(then, workload("serve")), s.pod(first, probed(workload("serve"))))
	s.awaitSaid(1, containerlogs.Of(then), containerlogs.Saying(containerlogs.Started))
	s.expectOrder(first, then)
}

// kubectl runs kubectl in the namespace of the story, as the administrator, and returns what it printed.
func (s *story) kubectl(args ...string) string {
	s.Helper()
	output, err := shared.sandbox.run(s.Ctx, append([]string{"kubectl", "--", "--namespace", s.Namespace}, args...)...)
	require.NoError(s, err, "kubectl %s: %s", strings.Join(args, " "), output)
	return output
}

// node makes something happen to a node: crash, reboot, stop or start, see `sandbox node`.
func (s *story) node(verb, name string) {
	s.Helper()
	output, err := shared.sandbox.run(s.Ctx, "node", verb, name)
	require.NoError(s, err, "sandbox node %s %s: %s", verb, name, output)
}

// awaitNode waits until the API says that the node is ready, or that it is not.
func (s *story) awaitNode(name string, ready bool) {
	s.Helper()
	s.Await(fmt.Sprintf("%s to be ready: %t", name, ready), func() bool {
		node := &corev1.Node{}
		require.NoError(s, s.API.Get(s.Ctx, client.ObjectKey{Name: name}, node))
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return (c.Status == corev1.ConditionTrue) == ready
			}
		}
		return false
	})
}
