package sequentialjob

import (
	"context"
	"fmt"
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
	binding := s.refuseJobs("true", "no Jobs during the freeze")
	s.Create(s.quickSteps("etl", 1))
	object := s.awaitPhase("etl", v1alpha1.PhasePending)
	s.expectCondition(object, v1alpha1.ConditionProgressing, v1alpha1.ReasonJobCreateFailed)
	assert.Contains(t, object.Status.Message, "no Jobs during the freeze")
	require.NoError(t, s.API.Delete(s.Ctx, binding))
	s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
}

// refuseJobs makes an admission policy refuse Jobs of the namespace that an expression describes, until its binding is deleted.
func (s *story) refuseJobs(expression, message string) *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	s.Helper()
	// The other Job is for finding out when the policy holds.
	expression = "!(object.metadata.name == 'other' || " + expression + ")"
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
			Validations: []admissionregistrationv1.Validation{{Expression: expression, Message: message}},
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
	s.Await("the policy to hold", func() bool { return s.API.Create(s.Ctx, s.foreignJob("other"), client.DryRunAll) != nil })

	return binding
}

// The steps before it must not have done their work when it is found.
func TestAMistakeInALaterStepIsFoundBeforeTheFirstStarts(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.SequentialJobSpec)
		step   int32
		says   string
	}{
		"a mount without its volume": {
			change: func(spec *v1alpha1.SequentialJobSpec) {
				spec.Containers[2].VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/work"}}
			},
			step: 2, says: `volumeMounts[0].name: Not found: "nowhere"`,
		},
		"an init container with the name of a step": {
			change: func(spec *v1alpha1.SequentialJobSpec) {
				spec.Template.Spec.InitContainers = []corev1.Container{{Name: "step-1", Image: "example.com/init"}}
			},
			step: 1, says: `initContainers[0].name: Duplicate value: "step-1"`,
		},
		"limits below requests": {
			change: func(spec *v1alpha1.SequentialJobSpec) {
				spec.Containers[1].Resources = corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
					Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
				}
			},
			step: 1, says: "must be less than or equal to cpu limit",
		},
		"a variable that is defined by nothing": {
			change: func(spec *v1alpha1.SequentialJobSpec) {
				spec.Containers[2].Env = []corev1.EnvVar{{Name: "DSN", ValueFrom: &corev1.EnvVarSource{}}}
			},
			step: 2, says: "must specify one of",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			object := s.quickSteps("etl", 3)
			tc.change(&object.Spec)
			s.Create(object)
			object = s.awaitPhase("etl", v1alpha1.PhaseFailed)
			assert.Equal(t, v1alpha1.SequentialJobProgress{
				CurrentIndex: ptr.To[int32](0), FailedIndex: &tc.step, FailureReason: v1alpha1.ReasonInvalidSpec,
			}, object.Status.Progress)
			assert.Contains(t, object.Status.Message, fmt.Sprintf("step %d/3 ", tc.step+1))
			assert.Contains(t, object.Status.Message, tc.says)
			s.expectNoJob("etl-0")
			events := s.events("etl")
			require.Len(t, events, 1)
			assert.Contains(t, events[0], "InvalidSpec: ")
		})
	}
}

// That a policy refuses a step is no mistake of the step: somebody may change the policy.
func TestAStepThatAPolicyRefusesKeepsTheFirstFromStarting(t *testing.T) {
	s := newStory(t)
	binding := s.refuseJobs(`object.spec.template.spec.containers.exists(c, c.image.startsWith('registry.example.org/'))`, "not from this registry")
	object := s.quickSteps("etl", 3)
	object.Spec.Containers[2].Image = "registry.example.org/load"
	s.Create(object)
	object = s.awaitPhase("etl", v1alpha1.PhasePending)
	s.expectCondition(object, v1alpha1.ConditionProgressing, v1alpha1.ReasonJobCreateFailed)
	assert.Contains(t, object.Status.Message, `would refuse Job etl-2 of step 3/3 "step-2"`)
	assert.Contains(t, object.Status.Message, "not from this registry")
	s.expectNoJob("etl-0")
	require.NoError(t, s.API.Delete(s.Ctx, binding))
	s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
	s.expectInOrder("etl", 3)
}
