package sequence

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// A status must stay small whatever it speaks of: etcd and everybody who watches it carry it.
const maxStatusSize = 256 << 10

func statusSize(t *testing.T, engine recording, name string) (v1alpha1.PodSequenceStatus, int) {
	t.Helper()
	report, ok := engine.Report(types.NamespacedName{Namespace: oracleNamespace, Name: name})
	require.True(t, ok)
	status := report.Status(report.Object, time.Now())
	text, err := json.Marshal(status)
	require.NoError(t, err)
	t.Logf("%d bytes", len(text))
	return status, len(text)
}

func TestStatusOfFiveThousandNodesIsSmall(t *testing.T) {
	const nodes = 5000
	engine := newEngine()
	ps := MakeSequence(oracleNamespace, "csi").UID("csi").
		Label(strings.Repeat("d", 63), "app", "driver").Label(strings.Repeat("a", 63), "tier", "app").Obj()
	ps.Spec.Scope = v1alpha1.ScopeNode
	ps.Spec.PodGroups[0].Timeout = "1s"
	engine.ApplySequence(ps)
	engine.Tick(time.Now())
	for i := range nodes {
		engine.ApplyNode(fleetNode(i, "1"))
		if i%2 == 0 {
			engine.ApplyPod(driver(i, "1", corev1.ConditionTrue))
		} else {
			engine.ApplyPod(driver(i, "1", corev1.ConditionFalse))
		}
	}
	status, size := statusSize(t, engine, "csi")
	assert.Less(t, size, maxStatusSize)
	assert.Equal(t, v1alpha1.NodeSummary{Total: nodes, Completed: nodes / 2, Waiting: nodes / 2}, *status.NodeSummary)
	require.Len(t, status.NodeStatus, v1alpha1.MaxListedNodes)
	for _, n := range status.NodeStatus {
		assert.NotEqual(t, v1alpha1.NodeCompleted, n.Phase, "those that wait come first")
	}
}

func TestStatusOfTenThousandPodsIsSmall(t *testing.T) {
	const groups, pods = 64, 10_000
	engine := newEngine()
	ps := MakeSequence(oracleNamespace, "large").UID("large")
	for i := range groups {
		ps.Label(fmt.Sprintf("%d%s", i, strings.Repeat("g", 60)), "tier", strconv.Itoa(i))
	}
	engine.ApplySequence(ps.Obj())
	for i := range pods {
		name := fmt.Sprintf("%s-%05d", strings.Repeat("p", 240), i)
		engine.ApplyPod(makePod(name, "1").Label("tier", strconv.Itoa(i%groups)).Obj())
	}
	_, size := statusSize(t, engine, "large")
	assert.Less(t, size, maxStatusSize)
}

func TestStatusOfManyFailuresIsSmall(t *testing.T) {
	engine := newEngine()
	engine.ApplySequence(MakeSequence(oracleNamespace, "failed").UID("failed").Label("Migrations", "tier", "migrate").Pods("Application", "app").Obj())
	failed := func(i, bytes int) *batchv1.Job {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Namespace: oracleNamespace, Name: fmt.Sprintf("%s-%03d", strings.Repeat("j", 50), i), UID: types.UID(strconv.Itoa(i)),
			ResourceVersion: strconv.Itoa(i + 1),
		}}
		job.Spec.Template.Labels = map[string]string{"tier": "migrate"}
		for at := 0; at < bytes; at += 100 {
			job.Spec.Template.Labels[fmt.Sprintf("%040d", at)] = strings.Repeat("v", 60)
		}
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		return job
	}
	for i := range 200 {
		engine.ApplyWorkload(failed(i, 1900))
	}
	for i := range 100 {
		engine.RemoveWorkload(failed(i, 1900))
	}
	status, size := statusSize(t, engine, "failed")
	assert.Less(t, size, maxStatusSize)
	assert.Len(t, status.Failures, v1alpha1.MaxFailures)
	for _, f := range status.Failures {
		i, err := strconv.Atoi(string(f.UID))
		require.NoError(t, err)
		assert.Less(t, i, 100, "those that are gone come first")
	}

	engine.ApplyWorkload(failed(300, 1<<20))
	_, again := statusSize(t, engine, "failed")
	assert.InDelta(t, size, again, 1000, "labels without bound")
}
