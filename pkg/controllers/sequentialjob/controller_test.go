package sequentialjob

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/apis/batch/v1alpha1"
)

func TestWhichObjectAJobMattersTo(t *testing.T) {
	long := strings.Repeat("a", 100)
	scheme := runtime.NewScheme()
	assert.NoError(t, v1alpha1.AddToScheme(scheme))
	stored := &v1alpha1.SequentialJob{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: long}}
	r := &reconciler{cache: fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).Build()}
	ownedBy := func(apiVersion, kind string) []metav1.OwnerReference {
		controller := true
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "owner", Controller: &controller}}
	}

	for name, tc := range map[string]struct {
		job    string
		owners []metav1.OwnerReference
		want   []reconcile.Request
	}{
		"the one that controls it":                       {job: "any", owners: ownedBy("batch.example.com/v1alpha1", "SequentialJob"), want: requestFor("data", "owner")},
		"the one whose step must have its name":          {job: "etl-1", want: requestFor("data", "etl")},
		"whoever else controls it":                       {job: "etl-1", owners: ownedBy("batch/v1", "CronJob"), want: requestFor("data", "etl")},
		"the one whose name had to be cut":               {job: jobName(long, 1), want: requestFor("data", long)},
		"none, if none has a name that is cut like this": {job: jobName(long+"b", 1)},
		"none, if no step can have its name":             {job: "nightly-29123456"},
	} {
		t.Run(name, func(t *testing.T) {
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: tc.job, OwnerReferences: tc.owners}}
			assert.Equal(t, tc.want, r.concernedBy(t.Context(), job))
		})
	}
}

func TestDecode(t *testing.T) {
	stored := newUnstructured()
	stored.Object["metadata"] = map[string]any{"name": "etl", "namespace": "data", "uid": "u", "resourceVersion": "7"}
	stored.Object["status"] = map[string]any{"phase": "Running", "progress": map[string]any{"completedIndices": []any{int64(0)}}}

	stored.Object["spec"] = map[string]any{"containers": []any{map[string]any{"name": "a"}}}
	object, unreadable := decode(stored)
	assert.Empty(t, unreadable)
	assert.Equal(t, "a", object.Spec.Containers[0].Name)

	stored.Object["spec"] = map[string]any{"backoffLimit": "few", "containers": []any{map[string]any{"name": "a"}}}
	object, unreadable = decode(stored)
	assert.Contains(t, unreadable, "the object cannot be decoded")
	assert.Equal(t, "a", object.Spec.Containers[0].Name, "its steps are not forgotten")
	assert.Nil(t, object.Spec.BackoffLimit)
	assert.Equal(t, []int32{0}, object.Status.Progress.CompletedIndices, "what was completed is not forgotten")

	stored.Object["spec"] = map[string]any{"containers": "many"}
	object, unreadable = decode(stored)
	assert.Contains(t, unreadable, "the object cannot be decoded")
	assert.Empty(t, object.Spec.Containers)
	assert.Equal(t, "7", object.ResourceVersion)
	assert.Equal(t, []int32{0}, object.Status.Progress.CompletedIndices, "what was completed is not forgotten")
}
