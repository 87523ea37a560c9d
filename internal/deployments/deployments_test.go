package deployments

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/controller/deployment/util"
)

// template is a random one of so few that many are equal.
func template(r *rand.Rand) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeName: []string{"", "n"}[r.IntN(2)]}}
	switch r.IntN(4) {
	case 0:
		t.Labels = map[string]string{}
	case 1:
		t.Labels = map[string]string{"app": "a"}
	case 2:
		t.Labels = map[string]string{"app": "a", appsv1.DefaultDeploymentUniqueLabelKey: []string{"1", "2"}[r.IntN(2)]}
	}
	return t
}

func TestTheRulesAreThoseOfKubernetes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const most = 3
	met := map[bool]int{}
	for range 5000 {
		replicas := int32(r.IntN(most))
		d := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Generation: int64(r.IntN(2))},
			Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Template: template(r)},
			Status: appsv1.DeploymentStatus{
				ObservedGeneration: int64(r.IntN(2)), Replicas: int32(r.IntN(most)), UpdatedReplicas: int32(r.IntN(most)), AvailableReplicas: int32(r.IntN(most)),
				Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable}, {Type: appsv1.DeploymentProgressing, Reason: "a"}}[:r.IntN(3)],
			},
		}
		var sets []*appsv1.ReplicaSet
		for range r.IntN(4) {
			sets = append(sets, &appsv1.ReplicaSet{
				ObjectMeta: metav1.ObjectMeta{Name: []string{"a", "b", "c"}[r.IntN(3)], CreationTimestamp: metav1.NewTime(time.Unix(int64(r.IntN(2)), 0))},
				Spec:       appsv1.ReplicaSetSpec{Template: template(r)},
			})
		}
		newest := NewestReplicaSet(d, sets)
		assert.Equal(t, util.FindNewReplicaSet(d, append([]*appsv1.ReplicaSet{}, sets...)), newest)
		assert.Equal(t, util.DeploymentComplete(d, &d.Status), IsComplete(d))
		assert.Equal(t, util.GetDeploymentCondition(d.Status, appsv1.DeploymentProgressing), Condition(d, appsv1.DeploymentProgressing))
		met[newest != nil]++
		met[IsComplete(d)]++
	}
	assert.Greater(t, met[true], 1000)
	assert.Equal(t, util.NewRSAvailableReason, NewReplicaSetAvailable)
	assert.Equal(t, util.TimedOutReason, ProgressDeadlineExceeded)
}
