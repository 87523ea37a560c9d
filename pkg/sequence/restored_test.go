package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/podsequence/pkg/sequence/order"
)

// A backup tool may restore the status of a sequence. Velero writes it some time after it has created the object.
func TestAStatusCountsForTheObjectThatItDescribes(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	engine := newEngine()
	engine.ApplySequence(shop().Obj())
	report, ok := engine.Report(shopKey)
	require.True(t, ok)
	engine.ApplySequence(shop().Passed(0, report.Groups[0].Hash, metav1.NewTime(now)).Obj())
	report, ok = engine.Report(shopKey)
	require.True(t, ok)
	status := report.Status(report.Object, now)
	require.NotNil(t, status.Groups[0].PassedAt)

	for name, test := range map[string]struct {
		uid    string
		exists bool // the engine knows the object before it has the status
		want   bool
	}{
		"of the same object, read by another engine":    {uid: "shop", want: true},
		"of the same object, that comes after it":       {uid: "shop", exists: true, want: true},
		"of another object, restored with this one":     {uid: "another"},
		"of another object, restored after this exists": {uid: "another", exists: true},
	} {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			engine.ApplyPod(makePod("two", "1").Obj())
			restored := shop().UID(test.uid).Obj()
			if restored.ResourceVersion = "2"; test.exists {
				engine.ApplySequence(restored.DeepCopy())
			}
			restored.ResourceVersion, restored.Status = "3", status
			stored, err := runtime.DefaultUnstructuredConverter.ToUnstructured(restored)
			require.NoError(t, err)
			engine.ApplySequences([]order.Stored{order.Read(stored)})

			assert.Equal(t, !test.want, engine.Decide(makePod("two", "1").Obj()).Held)
			report, ok := engine.Report(shopKey)
			require.True(t, ok)
			assert.Equal(t, test.want, report.Groups[0].Passed)
			written := report.Status(report.Object, now.Add(time.Hour))
			assert.EqualValues(t, test.uid, written.ObservedUID)
			assert.Equal(t, test.want, written.Groups[0].PassedAt != nil)
		})
	}
}
