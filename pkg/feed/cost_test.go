package feed

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	. "example.com/podsequence/internal/testing"
	"example.com/podsequence/pkg/sequence"
)

// A pod that has ended costs less than 1 KB, which it did when pods shared nothing.
func TestWhatAPodCosts(t *testing.T) {
	for name, group := range map[string]string{"of a namespace of interest": "other", "of a group": "import"} {
		t.Run(name, func(t *testing.T) {
			engine, i := sequence.NewEngine(ours()), &interned{}
			engine.ApplySequence(MakeSequence("shop", "shop").UID("shop").Label("Import", "tier", group).Complete().Pods("Application", "app").Obj())
			const count = 20_000
			before := liveHeap()
			for n := range count {
				content, err := endedPod(n).Marshal()
				require.NoError(t, err)
				pod := &corev1.Pod{}
				require.NoError(t, pod.Unmarshal(content)) // so that no pod shares anything by chance
				engine.ApplyPod(i.trimPod(pod))
			}
			each := (liveHeap() - before) / count
			t.Logf("%d bytes each", each)
			assert.Less(t, each, uint64(800))
			runtime.KeepAlive(engine)
		})
	}
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
		Spec:   corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", n%1000), SchedulerName: "ours"},
		Status: corev1.PodStatus{Phase: corev1.PodSucceeded},
	}
}
