package inventory

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestTheTableOfWorkloadKinds checks every row against the API: its kind is served in that group, and its objects are viewed
// as that kind.
func TestTheTableOfWorkloadKinds(t *testing.T) {
	objects := map[Kind]metav1.Object{
		KindDaemonSet: &appsv1.DaemonSet{}, KindDeployment: &appsv1.Deployment{}, KindReplicaSet: &appsv1.ReplicaSet{},
		KindStatefulSet: &appsv1.StatefulSet{}, KindJob: &batchv1.Job{}, KindReplicationController: &corev1.ReplicationController{},
	}
	assert.Len(t, WorkloadKinds, len(objects))
	for _, row := range WorkloadKinds {
		t.Run(string(row.Kind), func(t *testing.T) {
			version := row.Resource.GroupVersion()
			assert.True(t, scheme.Scheme.Recognizes(version.WithKind(string(row.Kind))))
			w := Workload{}
			assert.True(t, w.View(objects[row.Kind]))
			assert.Equal(t, row.Kind, w.Kind)
			owned := &metav1.OwnerReference{APIVersion: version.String(), Kind: string(row.Kind)}
			assert.True(t, isWorkload(owned))
			owned.APIVersion = schema.GroupVersion{Group: "other.example.com", Version: "v1"}.String()
			assert.False(t, isWorkload(owned), "a kind of the same name in another group")
		})
	}
	assert.False(t, new(Workload).View(&corev1.Pod{}))
}
