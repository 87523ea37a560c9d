package feed

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/podsequence/pkg/sequence"
	. "example.com/podsequence/test/harness/builders"
)

// What a pod costs at most, with the conditions that a kubelet sets. One that shares its labels with no other
// costs more, and so does one that waits for a node: what the engine says of it is published.
func TestWhatAPodCosts(t *testing.T) {
	pods := map[string]struct {
		make func(n int) *corev1.Pod
		most uint64
	}{
		"that has ended":                      {endedPod, 525},
		"that has ended, with its own labels": {indexedPod, 650},
		"that is ready":                       {readyPod, 555},
		"that is ready, with its own labels":  {ordinalPod, 685},
		"that waits for a node":               {waitingPod, 720},
	}
	for where, group := range map[string]string{"in no group": "other", "in a group": "import"} {
		for what, pod := range pods {
			t.Run("a pod "+what+" "+where, func(t *testing.T) {
				each := podCost(t, group, pod.make)
				t.Logf("%d bytes each", each)
				assert.LessOrEqual(t, each, pod.most)
			})
		}
	}
}

// podCost is the live heap of a pod among 20,000 that the engine knows. Those with the label tier=import may be in a group.
func podCost(t *testing.T, group string, make func(n int) *corev1.Pod) uint64 {
	t.Helper()
	engine := sequence.NewEngine(ours())
	engine.ApplySequence(MakeSequence("shop", "shop").UID("shop").Label("Import", "tier", group).Complete().Pods("Application", "app").Obj())
	const count = 20_000
	before := liveHeap()
	for n := range count {
		content, err := make(n).Marshal()
		require.NoError(t, err)
		lean, ok := &corev1.Pod{}, false
		content, ok = keptOfPod.appendKept(nil, content)
		require.True(t, ok)
		require.NoError(t, lean.Unmarshal(content)) // so that no pod shares anything by chance
		engine.ApplyPod(lean)
	}
	each := (liveHeap() - before) / count
	runtime.KeepAlive(engine)
	return each
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func endedPod(n int) *corev1.Pod {
	job := fmt.Sprintf("import-%08d-6a9f", n/10)
	uid := types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000000", n/10))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("%s-%05d", job, n), UID: types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000001", n)),
			ResourceVersion: fmt.Sprint(1000000 + n),
			Labels: map[string]string{
				"tier": "import", batchv1.JobNameLabel: job, batchv1.ControllerUidLabel: string(uid), "app.kubernetes.io/name": "import",
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job, UID: uid, Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", n%1000), SchedulerName: "ours"},
		Status: corev1.PodStatus{
			Phase:      corev1.PodSucceeded,
			Conditions: conditionsSince(metav1.NewTime(time.Unix(1_800_000_000+int64(n), 0)), corev1.PodInitialized, corev1.PodScheduled),
			ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				StartedAt: metav1.NewTime(time.Unix(1_800_000_001+int64(n), 0)), FinishedAt: metav1.NewTime(time.Unix(1_800_000_010+int64(n), 0)),
			}}}},
		},
	}
}

// conditionsSince are conditions as a kubelet sets them.
func conditionsSince(at metav1.Time, types ...corev1.PodConditionType) []corev1.PodCondition {
	conditions := make([]corev1.PodCondition, len(types))
	for i, condition := range types {
		conditions[i] = corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: at}
	}
	return conditions
}

// indexedPod is one of an indexed Job: no other has its labels.
func indexedPod(n int) *corev1.Pod {
	pod := endedPod(n)
	pod.Labels[batchv1.JobCompletionIndexAnnotation] = fmt.Sprint(n)
	return pod
}

// readyPod is one of a Deployment that our scheduler has released.
func readyPod(n int) *corev1.Pod {
	set, uid := fmt.Sprintf("web-%d-6a9f7c9d4", n/10), types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000002", n/10))
	now := metav1.NewTime(time.Unix(1_800_000_000+int64(n), 0))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("%s-%05d", set, n), UID: types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000001", n)),
			ResourceVersion: fmt.Sprint(1000000 + n), CreationTimestamp: now,
			Labels: map[string]string{
				"tier": "import", appsv1.DefaultDeploymentUniqueLabelKey: "6a9f7c9d4", "app.kubernetes.io/name": fmt.Sprintf("web-%d", n/10),
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set, UID: uid, Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", n%1000), SchedulerName: "ours"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: conditionsSince(
			now, corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
		)},
	}
	return pod
}

// ordinalPod is one of a StatefulSet: no other has its labels.
func ordinalPod(n int) *corev1.Pod {
	pod := readyPod(n)
	pod.OwnerReferences[0].Kind = "StatefulSet"
	pod.Labels = map[string]string{
		"tier": "import", "app.kubernetes.io/name": "db", appsv1.ControllerRevisionHashLabelKey: "db-6a9f7c9d4",
		appsv1.StatefulSetPodNameLabel: pod.Name, appsv1.PodIndexLabel: fmt.Sprint(n),
	}
	return pod
}

// waitingPod is one that nobody has bound.
func waitingPod(n int) *corev1.Pod {
	pod := readyPod(n)
	pod.Annotations, pod.Spec.NodeName, pod.Status = nil, "", corev1.PodStatus{Phase: corev1.PodPending}
	return pod
}
