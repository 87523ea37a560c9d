package sequentialjob

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
)

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		steps  int
		change func(*v1alpha1.SequentialJobSpec)
		want   string
	}{
		"one step":         {steps: 1},
		"sixty-four steps": {steps: 64},
		"no steps":         {steps: 0, want: "spec.containers: there must be 1 to 64 steps, not 0"},
		"too many steps":   {steps: 65, want: "spec.containers: there must be 1 to 64 steps, not 65"},
		"a name twice": {
			steps: 2, change: func(s *v1alpha1.SequentialJobSpec) { s.Containers[1].Name = "step-0" },
			want: `spec.containers[1].name: "step-0" is used twice, give every step its own name`,
		},
		"no name": {
			steps: 1, change: func(s *v1alpha1.SequentialJobSpec) { s.Containers[0].Name = "" },
			want: `spec.containers[0].name: "": a lowercase RFC 1123 label`,
		},
		"no image": {
			steps: 2, change: func(s *v1alpha1.SequentialJobSpec) { s.Containers[1].Image = "" },
			want: "spec.containers[1].image: is required",
		},
		"OnFailure": {
			steps: 1, change: func(s *v1alpha1.SequentialJobSpec) { s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure },
		},
		"Always": {
			steps: 1, change: func(s *v1alpha1.SequentialJobSpec) { s.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways },
			want: "spec.template.spec.restartPolicy: must be Never or OnFailure, not Always",
		},
		"containers in the template": {
			steps: 1, change: func(s *v1alpha1.SequentialJobSpec) { s.Template.Spec.Containers = s.Containers },
			want: "spec.template.spec.containers: must be left out, the steps are listed in spec.containers",
		},
		"a policy for failed pods": {steps: 2, change: failurePolicy(exitCodes(new("step-1")))},
		"a policy that names no container of the pods": {
			steps: 2, change: failurePolicy(exitCodes(nil), exitCodes(new("step-2"))),
			want: `spec.podFailurePolicy.rules[1].onExitCodes.containerName: there is no step and no init container "step-2"`,
		},
		"a policy that says of no pods": {
			steps: 1, change: failurePolicy(v1alpha1.PodFailurePolicyRule{Action: v1alpha1.PodFailurePolicyIgnore}),
			want: "spec.podFailurePolicy.rules[0]: exactly one of onExitCodes and onPodConditions is required",
		},
		"a policy with OnFailure": {
			steps: 1, change: func(s *v1alpha1.SequentialJobSpec) { onFailure(s); failurePolicy()(s) },
			want: "spec.podFailurePolicy: must be left out where spec.template.spec.restartPolicy is OnFailure",
		},
		"a negative backoffLimit": {
			steps: 1, change: func(s *v1alpha1.SequentialJobSpec) { s.BackoffLimit = ptr.To[int32](-1) },
			want: "spec.backoffLimit: must not be negative",
		},
		"no time":       {steps: 1, change: deadline(0), want: "spec.activeDeadlineSeconds: must be from 1 to 2147483647"},
		"too much time": {steps: 1, change: deadline(1 << 40), want: "spec.activeDeadlineSeconds: must be from 1 to 2147483647"},
		"a negative time to live": {
			steps: 1, change: timeToLive(-1), want: "spec.ttlSecondsAfterFinished: must not be negative",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &makeWorld(tc.steps).object.Spec
			if tc.change != nil {
				tc.change(spec)
			}
			if tc.want == "" {
				assert.Empty(t, validate(spec))
			} else {
				assert.Contains(t, validate(spec), tc.want)
			}
		})
	}
}
