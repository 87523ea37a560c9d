package sequentialjob

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// podFailurePolicy returns the policy of a step's Job. A disruption is no failure of the step, so by default it does not
// count. Jobs whose containers are restarted in their pods support no policy.
func podFailurePolicy(spec *v1alpha1.SequentialJobSpec, step string) *batchv1.PodFailurePolicy {
	if spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
		return nil
	}
	if spec.PodFailurePolicy == nil {
		return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action: batchv1.PodFailurePolicyActionIgnore,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			}},
		}}}
	}
	policy := &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{}}
	for i := range spec.PodFailurePolicy.Rules {
		// The API server refuses a Job whose policy names a container that its pods do not have.
		if rule := &spec.PodFailurePolicy.Rules[i]; !isAboutAnotherStep(rule, spec, step) {
			policy.Rules = append(policy.Rules, podFailurePolicyRule(rule))
		}
	}
	return policy
}

func isAboutAnotherStep(rule *v1alpha1.PodFailurePolicyRule, spec *v1alpha1.SequentialJobSpec, step string) bool {
	if rule.OnExitCodes == nil || rule.OnExitCodes.ContainerName == nil {
		return false
	}
	name := *rule.OnExitCodes.ContainerName
	return name != step && !hasContainer(spec.Template.Spec.InitContainers, name)
}

func podFailurePolicyRule(rule *v1alpha1.PodFailurePolicyRule) batchv1.PodFailurePolicyRule {
	result := batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyAction(rule.Action)}
	if codes := rule.OnExitCodes; codes != nil {
		result.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: codes.ContainerName,
			Operator:      batchv1.PodFailurePolicyOnExitCodesOperator(codes.Operator),
			Values:        slices.Clone(codes.Values),
		}
		slices.Sort(result.OnExitCodes.Values) // the API server asks for it
	}
	for _, condition := range rule.OnPodConditions {
		status := corev1.ConditionStatus(condition.Status)
		if status == "" {
			status = corev1.ConditionTrue
		}
		result.OnPodConditions = append(result.OnPodConditions, batchv1.PodFailurePolicyOnPodConditionsPattern{
			Type: corev1.PodConditionType(condition.Type), Status: status,
		})
	}
	return result
}
