package real

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/containerlogs"
)

const (
	// podsMemory is how much memory the pods of a node may have together, in MiB.
	podsMemory = 700
	// evictionMemory is how much of that has to be free.
	evictionMemory = 100
)

// writeKubeletConfig writes a file that gives the pods of each node little memory. Everything else is reserved for the machine, so a
// kubelet is under pressure when its own pods have too much, whatever else the machine does.
func (s *sandbox) writeKubeletConfig() (string, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return "", fmt.Errorf("find memory of this machine: %w", err)
	}
	total := info.Totalram * uint64(info.Unit) >> 20
	config := fmt.Sprintf(`systemReserved: {memory: %dMi}
evictionHard: {memory.available: %dMi}
evictionPressureTransitionPeriod: 1s
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
`, total-podsMemory, evictionMemory)
	return s.kubeletConfig(), os.WriteFile(s.kubeletConfig(), []byte(config), 0o600)
}

// kubeletConfig is a file beside the directory, which has to be empty before the cluster starts.
func (s *sandbox) kubeletConfig() string { return s.dir + ".kubelets.yaml" }

// A program that exits 0 when its pod is evicted leaves the pod in phase Succeeded. That makes nothing ready.
func TestLaterPodsWaitForTheReplacementOfAnEvictedPod(t *testing.T) {
	for name, program := range map[string][]string{
		"a program that exits 0 when it is stopped": {"serve"},
		"a program that has to be killed":           {"-stop-after", "1m", "serve"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			db := s.deployment("db", 1, probed(workload(program...)))
			openedByStory(&db.Spec.Template.Spec)
			s.Create(
				s.sequence("continuous").Mode(v1alpha1.Continuous).Label("Database", app, "db").Label("Application", app, "strict").Obj(),
				s.sequence("bootstrap").Label("Database", app, "db").Label("Application", app, "lenient").Obj(),
				db, s.deployment("strict", 1, probed(workload("serve"))), s.deployment("lenient", 1, probed(workload("serve"))),
			)
			s.open("db-")
			s.awaitReady("strict-", 1)
			s.awaitReady("lenient-", 1)

			found := s.pods("db-")
			require.Len(s, found, 1)
			s.fillUntilEvicted(found[0])
			s.kubectl("scale", "deployment", "strict", "lenient", "--replicas=2")
			s.awaitReady("lenient-", 2)
			s.awaitHeld("strict-", 1)
			s.fence("evicted")
			assert.Len(s, s.said().Where(containerlogs.Of("strict-"), containerlogs.Saying(containerlogs.Started)), 1, "a pod started too early")
			s.open("db-")
			s.awaitReady("strict-", 2)
		})
	}
}

// fillUntilEvicted takes so much memory in a container of the pod that its kubelet evicts the pod, and returns when the kubelet has
// enough memory again. Until then it rejects pods without requests.
func (s *story) fillUntilEvicted(pod corev1.Pod) {
	s.Helper()
	go func() { // it ends with the pod
		_, _ = shared.sandbox.run(s.Ctx, "kubectl", "--", "--namespace", s.Namespace, "exec", pod.Name, "--",
			"/workload", "-memory", fmt.Sprint(podsMemory-evictionMemory/2), "fill")
	}()
	s.Await(pod.Name+" to be evicted", func() bool {
		now := cluster.Get(s.Story, &corev1.Pod{}, pod.Name)
		return slices.ContainsFunc(now.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget && c.Reason == corev1.PodReasonTerminationByKubelet
		}) && now.Status.Phase != corev1.PodRunning
	})
	s.Await("a replacement to run", func() bool { // the scheduler knows of the pressure, or it is over
		return slices.ContainsFunc(s.pods("db-"), func(other corev1.Pod) bool {
			return other.UID != pod.UID && other.Status.Phase == corev1.PodRunning
		})
	})
	s.Await(pod.Spec.NodeName+" to have enough memory", func() bool {
		node := &corev1.Node{}
		require.NoError(s, s.API.Get(s.Ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node))
		return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeMemoryPressure }) &&
			slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeMemoryPressure && c.Status == corev1.ConditionFalse
			})
	})
}
