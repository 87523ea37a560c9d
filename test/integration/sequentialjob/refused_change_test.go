package sequentialjob

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// freeze creates an admission policy that refuses to suspend or resume Jobs of the namespace. thaw removes it.
func (s *story) freeze() (thaw func()) {
	s.Helper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.Namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "object.spec.?suspend.orValue(false) == oldObject.spec.?suspend.orValue(false)",
				Message:    "no changes during the freeze",
			}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: s.Namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	s.Create(policy, binding)
	s.Cleanup(func() { // it is no part of the namespace
		assert.NoError(s, client.IgnoreNotFound(s.API.Delete(context.Background(), binding)))
		assert.NoError(s, client.IgnoreNotFound(s.API.Delete(context.Background(), policy)))
	})
	job := s.foreignJob("other")
	s.Create(job)
	s.Await("the policy to hold", func() bool {
		require.NoError(s, s.API.Get(s.Ctx, s.Key("other"), job))
		job.Spec.Suspend = ptr.To(!ptr.Deref(job.Spec.Suspend, false))
		err := s.API.Update(s.Ctx, job, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "no changes during the freeze")
	})
	return func() { require.NoError(s, s.API.Delete(s.Ctx, binding)) }
}

func TestAnAdmissionPolicyKeepsAStepFromBeingSuspended(t *testing.T) {
	s := newStory(t)
	s.Create(s.steps("etl", 1))
	s.awaitRunning("etl", 0)
	thaw := s.freeze()
	s.patchSpec("etl", map[string]any{"suspend": true})
	var object *v1alpha1.SequentialJob
	s.Await("the refusal to be reported", func() bool {
		object = s.get("etl")
		return object.Status.ObservedGeneration == object.Generation && object.Status.Phase == v1alpha1.PhaseRunning
	})
	s.expectCondition(object, v1alpha1.ConditionProgressing, v1alpha1.ReasonJobUpdateFailed)
	assert.Contains(t, object.Status.Message, "no changes during the freeze")

	thaw()
	s.awaitPhase("etl", v1alpha1.PhaseSuspended)
	s.patchSpec("etl", map[string]any{"suspend": false})
	s.complete("etl", 0)
	s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
}
