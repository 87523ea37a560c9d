package sequentialjob

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// validate says what is wrong with a spec and how to fix it; empty if nothing is. The API server refuses the same, but
// an object may have been stored when it did not.
func validate(spec *v1alpha1.SequentialJobSpec) string {
	if steps := len(spec.Containers); steps == 0 || steps > v1alpha1.MaxSteps {
		return fmt.Sprintf("spec.containers: there must be 1 to %d steps, not %d", v1alpha1.MaxSteps, steps)
	}
	for i := range spec.Containers {
		if problem := validateStep(spec.Containers, i); problem != "" {
			return fmt.Sprintf("spec.containers[%d].%s", i, problem)
		}
	}
	switch policy := spec.Template.Spec.RestartPolicy; policy {
	case "", corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure:
	default:
		return fmt.Sprintf("spec.template.spec.restartPolicy: must be Never or OnFailure, not %s", policy)
	}
	if len(spec.Template.Spec.Containers) > 0 {
		return "spec.template.spec.containers: must be left out, the steps are listed in spec.containers"
	}
	if problem := validatePodFailurePolicy(spec); problem != "" {
		return "spec.podFailurePolicy" + problem
	}
	switch {
	case spec.BackoffLimit != nil && *spec.BackoffLimit < 0:
		return "spec.backoffLimit: must not be negative"
	case spec.ActiveDeadlineSeconds != nil && (*spec.ActiveDeadlineSeconds < 1 || *spec.ActiveDeadlineSeconds > math.MaxInt32):
		return fmt.Sprintf("spec.activeDeadlineSeconds: must be from 1 to %d", math.MaxInt32)
	case spec.TTLSecondsAfterFinished != nil && *spec.TTLSecondsAfterFinished < 0:
		return "spec.ttlSecondsAfterFinished: must not be negative"
	}
	return ""
}

func validateStep(steps []corev1.Container, i int) string {
	name := steps[i].Name
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Sprintf("name: %q: %s", name, problems[0])
	}
	if slices.ContainsFunc(steps[:i], func(earlier corev1.Container) bool { return earlier.Name == name }) {
		return fmt.Sprintf("name: %q is used twice, give every step its own name", name)
	}
	if steps[i].Image == "" {
		return "image: is required"
	}
	return ""
}

func validatePodFailurePolicy(spec *v1alpha1.SequentialJobSpec) string {
	if spec.PodFailurePolicy == nil {
		return ""
	}
	if spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
		return ": must be left out where spec.template.spec.restartPolicy is OnFailure, Jobs support it only with Never"
	}
	for i, rule := range spec.PodFailurePolicy.Rules {
		if (rule.OnExitCodes != nil) == (len(rule.OnPodConditions) > 0) {
			return fmt.Sprintf(".rules[%d]: exactly one of onExitCodes and onPodConditions is required", i)
		}
		if rule.OnExitCodes == nil || rule.OnExitCodes.ContainerName == nil {
			continue
		}
		name := *rule.OnExitCodes.ContainerName
		if !hasContainer(spec.Containers, name) && !hasContainer(spec.Template.Spec.InitContainers, name) {
			return fmt.Sprintf(".rules[%d].onExitCodes.containerName: there is no step and no init container %q", i, name)
		}
	}
	return ""
}

func hasContainer(containers []corev1.Container, name string) bool {
	return slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == name })
}
