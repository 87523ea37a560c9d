package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
)

// MutatingAdmissionPolicies have no order, and those that are asked once more are only those that matched the pod before (Kubernetes
// 1.37.1). So a policy that gives pods the label may be asked after ours. Several of them make it probable that some are.
func TestPodsThatGetTheLabelFromAnotherPolicyAreRouted(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.awaitRouting()
	names := []string{"aa-label", "b", "mm.example.org", "podsequence", "r", "s", "zz-label", "zz.example.org"}
	ofPolicy := func(name string) *st.PodWrapper { return s.pod("pod").SchedulerName("").Label("labelled-by", name) }
	for _, name := range names {
		s.addLabelByPolicy(name)
	}
	for _, name := range names {
		s.Await("the policy "+name+" to count", func() bool {
			return s.admitted(ofPolicy(name)).Labels[v1alpha1.SequenceLabel] == "shop"
		})
		assert.Equal(t, ourScheduler, s.admitted(ofPolicy(name)).Spec.SchedulerName, "a pod that the policy %s labels", name)
	}
	assert.Empty(t, s.admitted(ofPolicy("nobody")).Labels[v1alpha1.SequenceLabel])
}

// addLabelByPolicy adds a policy that gives the label of the PodSequence shop to the pods of the story's namespace that ask for it by its name.
func (s *story) addLabelByPolicy(name string) {
	s.Helper()
	policyName := s.Namespace + "." + name
	if name < "m" { // before all of ours, if names should ever matter
		policyName = name + "." + s.Namespace
	}
	never := admissionregistrationv1.NeverReinvocationPolicy
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: policyName},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: never,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": s.Namespace}},
				ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{"labelled-by": name}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				}}},
			},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{
					Expression: fmt.Sprintf("Object{metadata: Object.metadata{labels: {'%s': 'shop'}}}", v1alpha1.SequenceLabel),
				},
			}},
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policyName},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: policyName},
	}
	s.Create(policy, binding)
	s.Cleanup(func() {
		require.NoError(s, s.API.Delete(s.Ctx, binding))
		require.NoError(s, s.API.Delete(s.Ctx, policy))
	})
}
