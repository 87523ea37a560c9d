package deployment

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// Thousands may be held: that is the normal course of things, and what they wait for is in their status.
func TestHeldPodsAreNotInTheLogsAtTheShippedLevel(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	create(s, MakeSequence(ns, "quiet").Pods("Missing", "missing").Pods("Held", "held-by-name", "held-by-gate").Obj())
	create(s,
		ourPod(ns, "held-by-name").Obj(),
		ourPod(ns, "held-by-gate").SchedulerName(controlplane.AnotherScheduler).SchedulingGates([]string{sequenceGate}).Obj(),
	)
	for _, name := range []string{"held-by-name", "held-by-gate"} {
		cluster.Await(s, name+" to be told what it waits for", func() bool { return cluster.IsHeld(get(s, &corev1.Pod{}, ns, name)) })
	}
	create(s, ourPod(ns, "free").Obj())
	awaitBound(s, ns, "free")

	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		log, err := os.ReadFile(s.cluster.Log(program))
		require.NoError(s, err)
		assert.NotEmpty(s, log)
		assert.NotContains(s, string(log), "held-by-", "log of %s", program)
	}
	cluster.Await(s, "pods that are bound to be in the log at this level", func() bool {
		log, err := os.ReadFile(s.cluster.Log(controlplane.PodSequenceScheduler))
		require.NoError(s, err)
		return strings.Contains(string(log), ns+"/free")
	})
}

// Operators look for error lines. The programs run as their Deployments run them: under their ServiceAccounts, with their roles.
func TestAHealthyStartLogsNoError(t *testing.T) {
	t.Parallel()
	s := ownSite(t, controlplane.Options{})
	ns := newNamespace(s)
	create(s, MakeSequence(ns, "one").Pods("Pod", "free").Obj())
	create(s, ourPod(ns, "free").Obj())
	awaitBound(s, ns, "free")
	cluster.Await(s, "the controller to work", func() bool {
		return get(s, &v1alpha1.PodSequence{}, ns, "one").Status.Phase == v1alpha1.PhaseCompleted
	})

	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		log := read(s, s.cluster.Log(program))
		assert.Regexp(s, `(?m)^I\d{4} `, log, "%s logs in another format", program)
		assert.Empty(s, errorLine.FindAllString(log, -1), "%s logs errors", program)
	}
}

// errorLine is a line of klog's that reports an error, or worse.
var errorLine = regexp.MustCompile(`(?m)^[EF]\d{4} .*$`)

func read(s *site, file string) string {
	s.Helper()
	content, err := os.ReadFile(file)
	require.NoError(s, err)
	return string(content)
}

const sequenceGate = "podsequence.example.com/sequence-gate"

// ourPod begins a pod of our scheduler.
func ourPod(namespace, name string) *st.PodWrapper {
	return st.MakePod().Namespace(namespace).Name(name).SchedulerName("podsequence-scheduler").Container("example.com/app")
}

func awaitBound(s *site, namespace, name string) {
	s.Helper()
	cluster.Await(s, name+" to be bound", func() bool { return get(s, &corev1.Pod{}, namespace, name).Spec.NodeName != "" })
}
