package sequence

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/podgroups"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/slow"
)

// liveHeap is how many bytes are in use that cannot be collected.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers held
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestMemoryDoesNotGrowWithEdits compares what is in use after ten edits with what is after ten thousand. Whatever is kept of
// an edit would be more than a hundred bytes of each.
func TestMemoryDoesNotGrowWithEdits(t *testing.T) {
	slow.Test(t)
	const few, many, slack = 10, 10_000, 700 << 10
	tests := map[string]func(engine recording, i int){
		"a time-out far away is edited": func(engine recording, i int) {
			engine.ApplySequence(edited(i, farTimeouts(v1alpha1.ScopeCluster)))
		},
		"a time-out far away is edited on nodes": func(engine recording, i int) {
			engine.ApplySequence(edited(i, farTimeouts(v1alpha1.ScopeNode)))
		},
		"a group is edited, so that its time begins again": func(engine recording, i int) {
			ps := edited(i, farTimeouts(v1alpha1.ScopeNode))
			ps.Spec.PodGroups[0].PodSelector.MatchLabels["edit"] = v1alpha1.LabelValue(strconv.Itoa(i))
			engine.ApplySequence(ps)
		},
		"a sequence is suspended and resumed": func(engine recording, i int) {
			ps := edited(i, farTimeouts(v1alpha1.ScopeNode))
			ps.Spec.Suspend = i%2 == 0
			engine.ApplySequence(ps)
		},
		"a sequence is deleted and made again": func(engine recording, i int) {
			ps := edited(i, farTimeouts(v1alpha1.ScopeNode))
			ps.UID = types.UID(strconv.Itoa(i))
			engine.ApplySequence(ps)
			engine.RemoveSequence(shopKey, "")
		},
		"a sequence of another namespace is": func(engine recording, i int) {
			ps := edited(i, farTimeouts(v1alpha1.ScopeCluster))
			ps.Spec.Namespace = fmt.Sprint("namespace-", i)
			engine.ApplySequence(ps)
		},
		"status is written": func(engine recording, i int) {
			ps := edited(0, farTimeouts(v1alpha1.ScopeNode))
			ps.ResourceVersion = version(i)
			ps.Status.NodeStatus = []v1alpha1.NodeStatus{{NodeName: fmt.Sprint("node-", i), CurrentIndex: 1}}
			engine.ApplySequence(ps)
		},
		"a wait that is far from over begins again": func(engine recording, i int) {
			engine.Tick(time.Unix(1_700_000_000+int64(i), 0))
			ps := edited(0, farTimeouts(v1alpha1.ScopeCluster))
			ps.Spec.PodGroups[0].WaitDuration = "2000000h"
			engine.ApplySequence(ps)
			ready := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}[i%2]
			engine.ApplyPod(makePod("db", version(i)).Label("app", "driver").Node("node-0").Condition(corev1.PodReady, ready, "").Obj())
		},
		"a pod comes and goes": func(engine recording, i int) {
			engine.ApplySequence(edited(0, farTimeouts(v1alpha1.ScopeNode)))
			pod := makePod(fmt.Sprint("pod-", i), version(i)).UID(fmt.Sprint(i)).Label("app", "driver").Node(fmt.Sprint("node-", i%10)).Obj()
			pod.Labels[podgroups.CoschedulingLabel] = fmt.Sprint("gang-", i)
			engine.ApplyPod(pod)
			engine.RemovePod(pod)
		},
		"a pod that waits for a node comes and goes": func(engine recording, i int) {
			engine.ApplySequence(edited(0, farTimeouts(v1alpha1.ScopeNode)))
			pod := makePod("pod", version(i)).UID(fmt.Sprint(i)).Label("tier", "app").Toleration(fmt.Sprint(i)).Obj()
			engine.ApplyPod(pod)
			engine.RemovePod(pod)
		},
		"a node comes and goes": func(engine recording, i int) {
			engine.ApplySequence(edited(0, farTimeouts(v1alpha1.ScopeNode)))
			engine.ApplyNode(fleetNode(1_000+i, version(i)))
			engine.RemoveNode(fmt.Sprint("node-", 1_000+i))
		},
		"a DaemonSet comes and goes": func(engine recording, i int) {
			engine.ApplySequence(edited(0, farTimeouts(v1alpha1.ScopeNode)))
			set := driverSet(version(i), int64(i))
			set.UID = types.UID(fmt.Sprint(i))
			engine.ApplyWorkload(set)
			engine.RemoveWorkload(set)
		},
		"the scheduler asks about pods that go before the watch tells of them": func(engine recording, i int) {
			engine.ApplySequence(edited(0, farTimeouts(v1alpha1.ScopeCluster)))
			engine.Decide(makePod(fmt.Sprint("pod-", i), version(2*i)).UID(fmt.Sprint(i)).Label("tier", "app").Obj())
			engine.ReplacePods(nil, version(2*i+1))
		},
		"the scheduler asks about pods that the watch has told to be gone": func(engine recording, i int) {
			engine.ApplySequence(edited(0, farTimeouts(v1alpha1.ScopeCluster)))
			pod := makePod(fmt.Sprint("pod-", i), version(i)).UID(fmt.Sprint(i)).Label("tier", "app").Obj()
			engine.ApplyPod(pod)
			engine.RemovePod(pod)
			engine.Decide(pod)
		},
	}
	for name, edit := range tests {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			engine.Tick(time.Unix(1_700_000_000, 0))
			for i := range 10 {
				engine.ApplyNode(fleetNode(i, "1"))
			}
			for i := range few {
				edit(engine, i+1)
			}
			before := liveHeap()
			for i := range many {
				edit(engine, few+i+1)
			}
			assert.Less(t, liveHeap()-before, int64(slack), "bytes after %d edits", many)
			runtime.KeepAlive(engine)
		})
	}
}

// version is that of the i-th event after the objects that were there at the beginning.
func version(i int) string { return strconv.Itoa(1_000 + i) }

// farTimeouts returns a sequence whose groups each have a time-out that is far away.
func farTimeouts(scope v1alpha1.Scope) *v1alpha1.PodSequence {
	ps := MakeSequence(oracleNamespace, "shop").UID("shop").
		Label("Driver", "app", "driver").Timeout("1000000h", v1alpha1.TimeoutContinue).
		Label("Application", "tier", "app").Timeout("1000000h", v1alpha1.TimeoutContinue).Obj()
	ps.Spec.Scope = scope
	ps.CreationTimestamp = metav1.NewTime(time.Unix(1_700_000_000, 0))
	return ps
}

// edited is the sequence after the i-th edit.
func edited(i int, ps *v1alpha1.PodSequence) *v1alpha1.PodSequence {
	ps.Generation, ps.ResourceVersion = int64(i+1), version(i)
	for j := range ps.Spec.PodGroups {
		ps.Spec.PodGroups[j].Timeout = v1alpha1.Duration(fmt.Sprintf("1000000h%ds", i%math.MaxInt16))
	}
	return ps
}
