package deployment

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/internal/controlplane"
	. "example.com/podsequence/internal/testing"
)

// Thousands may be held: that is the normal course of things, and what they wait for is in their status.
func TestHeldPodsAreNotInTheLogsAtTheShippedLevel(t *testing.T) {
	ns := newNamespace(t)
	create(t, MakeSequence(ns, "quiet").Pods("Missing", "missing").Pods("Held", "held-by-name", "held-by-gate").Obj())
	create(t,
		ourPod(ns, "held-by-name").Obj(),
		ourPod(ns, "held-by-gate").SchedulerName(controlplane.AnotherScheduler).SchedulingGates([]string{sequenceGate}).Obj(),
	)
	for _, name := range []string{"held-by-name", "held-by-gate"} {
		await(t, name+" to be told what it waits for", func() bool { return isHeld(get(t, &corev1.Pod{}, ns, name)) })
	}
	create(t, ourPod(ns, "free").Obj())
	awaitBound(t, ns, "free")

	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		log, err := os.ReadFile(cluster.Log(program))
		require.NoError(t, err)
		assert.NotEmpty(t, log)
		assert.NotContains(t, string(log), "held-by-", "log of %s", program)
	}
	await(t, "pods that are bound to be in the log at this level", func() bool {
		log, err := os.ReadFile(cluster.Log(controlplane.PodSequenceScheduler))
		require.NoError(t, err)
		return strings.Contains(string(log), ns+"/free")
	})
}

const sequenceGate = "podsequence.example.com/sequence-gate"

// ourPod begins a pod of our scheduler.
func ourPod(namespace, name string) *st.PodWrapper {
	return st.MakePod().Namespace(namespace).Name(name).SchedulerName("podsequence-scheduler").Container("example.com/app")
}

// isHeld tells whether the pod says that it waits for its group. That it has gates the API server says by itself.
func isHeld(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Reason == corev1.PodReasonSchedulingGated && strings.HasPrefix(c.Message, "waiting for group")
		}
	}
	return false
}

func awaitBound(t *testing.T, namespace, name string) {
	t.Helper()
	await(t, name+" to be bound", func() bool { return get(t, &corev1.Pod{}, namespace, name).Spec.NodeName != "" })
}
