package report

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
)

func TestTheConditionSaysWhatCannotBeRead(t *testing.T) {
	problems := []order.Problem{{Reason: v1alpha1.ReasonInvalidOverride, Message: `annotation a: "x" is not a time`}}
	for name, tc := range map[string]struct {
		override order.Override
		want     metav1.Condition
	}{
		"nothing is overridden, and status says why": {
			override: order.Override{Problems: problems},
			want:     metav1.Condition{Status: metav1.ConditionFalse, Message: `annotation a: "x" is not a time`},
		},
		"something is, and something is not": {
			override: order.Override{Suspend: true, Problems: problems},
			want: metav1.Condition{Status: metav1.ConditionTrue, Message: "by annotation the sequence is suspended until the annotation is removed; " +
				`annotation a: "x" is not a time`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.Type, tc.want.Reason = v1alpha1.ConditionOverridden, v1alpha1.ReasonInvalidOverride
			assert.Equal(t, []metav1.Condition{tc.want}, conditionWriter{Report: Report{Override: tc.override}, object: &v1alpha1.PodSequence{}}.overridden())
		})
	}
}

func TestTheConditionSaysWhoWroteWhatOverridesTheSpec(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	wrote := func(manager string, minute int, annotations ...string) metav1.ManagedFieldsEntry {
		var fields []string
		for _, name := range annotations {
			fields = append(fields, `"f:podsequence.example.com/`+name+`":{}`)
		}
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: now.Add(time.Duration(minute) * time.Minute)},
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{` + strings.Join(fields, ",") + `}}}`),
		}
	}
	suspended := order.Override{Suspend: true}
	skipped := order.Override{Skip: []string{"Database"}}
	both := order.Override{Suspend: true, Skip: []string{"Database"}, Reason: "fixed by hand", Until: now.Add(time.Hour)}
	status := wrote("podsequence-controller", 9, "suspend")
	status.Subresource = "status"

	for name, tc := range map[string]struct {
		override order.Override
		fields   []metav1.ManagedFieldsEntry
		want     string
	}{
		"nobody, if the object does not say": {
			override: suspended,
			want:     "by annotation the sequence is suspended until the annotation is removed",
		},
		"who wrote the annotation, and when": {
			override: suspended, fields: []metav1.ManagedFieldsEntry{wrote("podseq-cli", 1, "suspend"), status},
			want: "by annotation the sequence is suspended until the annotation is removed; written by podseq-cli at 2026-01-02T03:01:00Z",
		},
		"not who wrote an annotation that overrides nothing": {
			override: skipped, fields: []metav1.ManagedFieldsEntry{wrote("podseq-cli", 1, "skip"), wrote("other", 2, "suspend", "override-until")},
			want: `by annotation the sequence skips "Database" until the annotation is removed; written by podseq-cli at 2026-01-02T03:01:00Z`,
		},
		"the last of two who own the same annotation": {
			override: suspended, fields: []metav1.ManagedFieldsEntry{wrote("first", 1, "suspend"), wrote("second", 2, "suspend")},
			want: "by annotation the sequence is suspended until the annotation is removed; written by second at 2026-01-02T03:02:00Z",
		},
		"both, if two wrote one annotation each, and who changed the end": {
			override: both,
			fields:   []metav1.ManagedFieldsEntry{wrote("a", 1, "suspend"), wrote("b", 2, "skip", "override-reason"), wrote("c", 3, "override-until")},
			want: `by annotation the sequence is suspended and skips "Database" until 2026-01-02T04:00:00Z; written by a at 2026-01-02T03:01:00Z, ` +
				"b at 2026-01-02T03:02:00Z, c at 2026-01-02T03:03:00Z; reason: fixed by hand",
		},
		"one once, whatever it wrote": {
			override: both, fields: []metav1.ManagedFieldsEntry{wrote("a", 1, "suspend", "skip", "override-until")},
			want: `by annotation the sequence is suspended and skips "Database" until 2026-01-02T04:00:00Z; written by a at 2026-01-02T03:01:00Z; ` +
				"reason: fixed by hand",
		},
		"a writer by a name that begins with that of another annotation": {
			override: suspended, fields: []metav1.ManagedFieldsEntry{wrote("a", 1, "suspend-me")},
			want: "by annotation the sequence is suspended until the annotation is removed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ps := &v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{ManagedFields: tc.fields}}
			conditions := conditionWriter{Report: Report{Override: tc.override}, object: ps}.overridden()
			assert.Len(t, conditions, 1)
			assert.Equal(t, tc.want, conditions[0].Message)
		})
	}
}
