package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/manifests"
	"example.com/podsequence/test/harness/slow"
)

// foreignPolicy creates a MutatingAdmissionPolicy of somebody else, which changes new pods of the story's namespace with a label. It is
// asked once, before or after the policies of PodSequence: that depends on its name, and on chance.
func (s *story) foreignPolicy(name, label, expression string) {
	s.Helper()
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name + "." + s.Namespace}}
	failurePolicy, scope := admissionv1.Fail, admissionv1.AllScopes
	policy.Spec = admissionv1.MutatingAdmissionPolicySpec{
		FailurePolicy: &failurePolicy, ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: s.onlyHere(), ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{label: "yes"}},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}, Scope: &scope},
			}}},
		},
		Mutations: []admissionv1.Mutation{{
			PatchType: admissionv1.PatchTypeApplyConfiguration, ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: expression},
		}},
	}
	s.createForAll(policy, &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: policy.Name},
	})
}

// onlyHere selects the story's namespace.
func (s *story) onlyHere() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.Namespace}}
}

// createForAll creates objects of no namespace, and deletes them when the story ends.
func (s *story) createForAll(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		require.NoError(s, s.API.Create(s.Ctx, object))
		s.Cleanup(func() { assert.NoError(s, client.IgnoreNotFound(s.API.Delete(s.Ctx, object))) })
	}
}

// MutatingAdmissionPolicies have no order, and those that are asked once more are only those that matched the pod before (Kubernetes
// 1.37.1). So a policy that gives pods the label may be asked after ours. Several of them make it probable that some are.
func TestPodsThatGetTheLabelFromAnotherPolicyAreRouted(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.awaitRouting()
	names := []string{"aa-label", "b", "mm.example.org", "podsequence", "r", "s", "zz-label", "zz.example.org"}
	changed := func(by string) *st.PodWrapper {
		return s.pod("pod").SchedulerName(stockScheduler).Label("by-"+by, "yes")
	}
	for _, name := range names {
		s.foreignPolicy(name, "by-"+name, "Object{metadata: Object.metadata{labels: {'"+v1alpha1.SequenceLabel+"': 'shop'}}, "+
			"spec: Object.spec{schedulerName: 'default-scheduler'}}")
	}
	for _, name := range names {
		s.Await("the policy "+name+" to count", func() bool {
			return s.admitted(changed(name)).Labels[v1alpha1.SequenceLabel] == "shop"
		})
		assert.Equal(t, ourScheduler, s.admitted(changed(name)).Spec.SchedulerName, "a pod that the policy %s changes", name)
		assert.Equal(t, ourScheduler, s.admitted(changed(name).SchedulerName("")).Spec.SchedulerName, "a pod that the policy %s labels", name)
	}
	assert.Empty(t, s.admitted(changed("nobody")).Labels[v1alpha1.SequenceLabel])
}

// A policy of somebody else may give the pods another scheduler. Whoever wants to be sure refuses them.
func TestPodsThatNobodyWouldHoldAreRefused(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.awaitRouting()
	var policy admissionv1.ValidatingAdmissionPolicy
	var binding admissionv1.ValidatingAdmissionPolicyBinding
	for file, object := range map[string]any{"policy.yaml": &policy, "binding.yaml": &binding} {
		content, err := manifests.FS.ReadFile("options/refuse-unheld-pods/" + file)
		require.NoError(t, err)
		require.NoError(t, yaml.UnmarshalStrict(content, object))
	}
	binding.Spec.MatchResources = &admissionv1.MatchResources{NamespaceSelector: s.onlyHere()}
	s.createForAll(&policy, &binding)
	for i := range 6 {
		s.foreignPolicy(fmt.Sprintf("%c-scheduler", 'b'+4*i), fmt.Sprintf("by-%d", i), "Object{spec: Object.spec{schedulerName: '"+stockScheduler+"'}}")
	}
	refused := func(pod client.Object) string {
		err := s.API.Create(s.Ctx, pod, client.DryRunAll)
		if err == nil {
			return ""
		}
		return err.Error()
	}
	s.Await("the policy to count", func() bool { return refused(s.labelled("probe").SchedulerName(stockScheduler).Obj()) != "" })
	for i := range 6 {
		by := fmt.Sprintf("by-%d", i)
		s.Await("the other policy to count", func() bool { return s.admitted(s.pod("probe").Label(by, "yes")).Spec.SchedulerName == stockScheduler })
		assert.Contains(t, refused(s.labelled("probe").Label(by, "yes").Obj()),
			"the label podsequence.example.com/sequence names PodSequence shop, but PodSequence could not hold this pod", by)
	}
	assert.Contains(t, refused(s.labelled("probe").SchedulerName(stockScheduler).Obj()), "spec.schedulerName is "+stockScheduler)
	for name, pod := range map[string]client.Object{
		"that our scheduler holds":    s.labelled("probe").Obj(),
		"that our gate holds":         s.gated("probe").Label(v1alpha1.SequenceLabel, "shop").SchedulerName(stockScheduler).Obj(),
		"that asks for nothing":       s.pod("probe").SchedulerName(stockScheduler).Obj(),
		"that has a node":             s.labelled("probe").SchedulerName(stockScheduler).Node("node-0").Obj(),
		"that is a hook of deletions": s.labelled("probe").SchedulerName(stockScheduler).Annotation("helm.sh/hook", "pre-delete").Obj(),
	} {
		assert.Empty(t, refused(pod), "a pod %s", name)
	}
	assert.NotEmpty(t, refused(s.labelled("probe").SchedulerName(stockScheduler).Annotation("helm.sh/hook", "post-install,test").Obj()))

	s.Patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}},
		map[string]any{"metadata": map[string]any{"annotations": map[string]string{v1alpha1.RequireSequenceAnnotation: v1alpha1.RequireSequence}}})
	s.Await("the annotation to count", func() bool { return refused(s.pod("probe").SchedulerName(stockScheduler).Obj()) != "" })
	assert.Contains(t, refused(s.pod("probe").SchedulerName(stockScheduler).Obj()), "requires a sequence, but PodSequence could not hold this pod")
}
