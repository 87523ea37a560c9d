package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

func TestADryRunHoldsNothingThatWaitsOnlyForAnAnswer(t *testing.T) {
	d, created := newEmptyConfirming(t), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ps := MakeSequence(oracleNamespace, "shop").UID("shop").Mode(v1alpha1.Continuous).Label("db", "tier", "db").
		Label("cache", "tier", "cache").Timeout("10s", v1alpha1.TimeoutContinue).Label("app", "tier", "app").Obj()
	ps.ResourceVersion, ps.CreationTimestamp, ps.Spec.DryRun = "11", metav1.NewTime(created), true
	hashes := newEngine()
	hashes.ApplySequence(ps)
	key := types.NamespacedName{Namespace: oracleNamespace, Name: "shop"}
	report, _ := hashes.Report(key)
	for _, g := range report.Groups {
		ps.Status.Groups = append(ps.Status.Groups, v1alpha1.GroupStatus{Hash: g.Hash, ReleasedAt: new(metav1.NewTime(created))})
	}

	d.Tick(created.Add(time.Minute))
	d.ApplyWorkload(statefulSet(1, "2"))
	d.ApplyPod(app("app", "3"))
	ready := db("db-0", "10")
	ready.Status.Conditions[0].LastTransitionTime = metav1.NewTime(created)
	d.ApplyPod(ready)
	d.note("11", d.ApplySequence(ps))
	report, _ = d.Report(key)
	require.True(t, report.Confirming())
	assert.Empty(t, report.DryRun.Pods)

	d.expect(d.confirm("11"), nil)
	report, _ = d.Report(key)
	require.True(t, report.Groups[2].Released, "the time of the cache was over long ago")
	assert.Zero(t, *report.DryRun)
}
