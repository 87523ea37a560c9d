package sequentialjob

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

func TestAQuotaKeepsAStepFromStarting(t *testing.T) {
	s := newStory(t)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "jobs"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/jobs.batch": resource.MustParse("1")}},
	}
	s.Create(quota)
	s.Await("the quota to hold", func() bool {
		require.NoError(t, s.API.Get(s.Ctx, s.Key("jobs"), quota))
		return len(quota.Status.Used) > 0
	})
	s.Create(s.steps("etl", 2))
	s.complete("etl", 0)
	object := s.awaitPhase("etl", v1alpha1.PhasePending)
	s.expectCondition(object, v1alpha1.ConditionProgressing, v1alpha1.ReasonJobCreateFailed)
	assert.Contains(t, object.Status.Message, "exceeded quota")
	assert.Equal(t, []int32{0}, object.Status.Progress.CompletedIndices)

	s.Patch(quota, map[string]any{"spec": map[string]any{"hard": map[string]any{"count/jobs.batch": "2"}}})
	s.complete("etl", 1)
	s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
}

func TestAnAdmissionPolicyKeepsAStepFromStarting(t *testing.T) {
	s := newStory(t)
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.Namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "no Jobs during the freeze"}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: s.Namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	s.Create(policy, binding)
	t.Cleanup(func() { // it is no part of the namespace
		assert.NoError(t, client.IgnoreNotFound(s.API.Delete(context.Background(), binding)))
		assert.NoError(t, client.IgnoreNotFound(s.API.Delete(context.Background(), policy)))
	})
	s.Await("the policy to hold", func() bool { return s.API.Create(s.Ctx, s.foreignJob("other"), client.DryRunAll) != nil })

	s.Create(s.quickSteps("etl", 1))
	object := s.awaitPhase("etl", v1alpha1.PhasePending)
	s.expectCondition(object, v1alpha1.ConditionProgressing, v1alpha1.ReasonJobCreateFailed)
	assert.Contains(t, object.Status.Message, "no Jobs during the freeze")
	require.NoError(t, s.API.Delete(s.Ctx, binding))
	s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
}

func TestAStepThatCannotBeRunAtAll(t *testing.T) {
	s := newStory(t)
	object := s.steps("etl", 2)
	object.Spec.Containers[1].VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/work"}}
	s.Create(object)
	s.complete("etl", 0)
	object = s.awaitPhase("etl", v1alpha1.PhaseFailed)
	assert.Equal(t, v1alpha1.ReasonInvalidSpec, object.Status.Progress.FailureReason)
	assert.Equal(t, ptr.To[int32](1), object.Status.Progress.FailedIndex)
	assert.Contains(t, object.Status.Message, `volumeMounts[0].name: Not found: "nowhere"`)
}
