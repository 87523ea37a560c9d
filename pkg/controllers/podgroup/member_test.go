package podgroup

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOnlyWhatMattersIsAReasonToLookAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after podEdit
		want          bool
	}{
		"it runs":                       {before: phase(corev1.PodPending), want: true},
		"it is being deleted":           {after: func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, want: true},
		"it changes its group":          {after: func(p *corev1.Pod) { p.Labels[DefaultNameLabel] = "other" }, want: true},
		"it gets a size":                {after: sized("4"), want: true},
		"it gets an empty size":         {after: sized(""), want: true},
		"it is adopted":                 {after: ownedBy("job"), want: true},
		"it joins a PodGroup":           {after: inCoscheduling("g"), want: true},
		"its label is taken off":        {before: labelled, want: true},
		"it gets its label":             {after: labelledFor("gang")},
		"it gets the label of another":  {after: labelledFor("other"), want: true},
		"it gets ready, or another IP":  {after: func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1"; p.ResourceVersion = "11" }},
		"it gets its label and is gone": {after: func(p *corev1.Pod) { labelled(p); p.Status.Phase = corev1.PodFailed }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			edits := func(edit podEdit) []podEdit {
				if edit == nil {
					return nil
				}
				return []podEdit{edit}
			}
			before, after := options.factsOf(pod("a", edits(tc.before)...)), options.factsOf(pod("a", edits(tc.after)...))
			assert.Equal(t, tc.want, after.differs(before))
		})
	}
}

func TestWhatIsCachedIsEnough(t *testing.T) {
	whole := pod("a", sized("4"), ownedBy("job"), inCoscheduling("c"), inNative("n"), labelledFor("gang"))
	whole.Labels["app"], whole.Annotations["example.com/note"] = "train", "long"
	whole.Spec.Containers = []corev1.Container{{Name: "work"}}
	whole.ManagedFields = append(whole.ManagedFields, metav1.ManagedFieldsEntry{Manager: "kubelet"},
		metav1.ManagedFieldsEntry{Manager: "podsequence-controller-podgroup/other", FieldsV1: metav1.NewFieldsV1(`{}`)})

	stripped, err := options.strip(whole.DeepCopy())
	require.NoError(t, err)
	got := stripped.(*corev1.Pod)
	assert.Equal(t, options.factsOf(whole), options.factsOf(got))
	assert.Equal(t, whole.UID, got.UID)
	assert.Equal(t, whole.ResourceVersion, got.ResourceVersion)
	assert.Empty(t, got.Spec.Containers)
	assert.Equal(t, []metav1.ManagedFieldsEntry{{Manager: "podsequence-controller-podgroup/gang"}}, got.ManagedFields)
	assert.NotContains(t, got.Labels, "app")
	assert.NotContains(t, got.Annotations, "example.com/note")
	assert.Contains(t, whole.Labels, "app", "what it was made from is left as it is")
}
