package sequentialjob

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
)

func TestAStepNeverRunsTwiceAtOnce(t *testing.T) {
	job := newJob(makeWorld(1).object, 0, jobDeadline{})
	assert.Equal(t, ptr.To(batchv1.Failed), job.Spec.PodReplacementPolicy)
}

func TestNoPolicyOfTheClusterRemovesACompletedJob(t *testing.T) {
	job := newJob(makeWorld(1).object, 0, jobDeadline{})
	assert.Equal(t, ptr.To[int32](math.MaxInt32), job.Spec.TTLSecondsAfterFinished)
}

// As in the operator whose API this is.
func TestArgsWithoutACommandAreRunByAShell(t *testing.T) {
	shell := []string{"sh", "-c"}
	for name, tc := range map[string]struct{ command, args, want []string }{
		"args alone":                 {args: []string{"echo hello; sleep 1"}, want: shell},
		"args and an empty command":  {command: []string{}, args: []string{"true"}, want: shell},
		"args and a command":         {command: []string{"echo"}, args: []string{"hello"}, want: []string{"echo"}},
		"a command alone":            {command: []string{"echo"}, want: []string{"echo"}},
		"neither: the image decides": {},
		"empty args":                 {args: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := makeWorld(1)
			w.object.Spec.Containers[0].Command, w.object.Spec.Containers[0].Args = tc.command, tc.args
			container := newJob(w.object, 0, jobDeadline{}).Spec.Template.Spec.Containers[0]
			assert.Equal(t, tc.want, container.Command)
			assert.Equal(t, tc.args, container.Args)
			assert.Equal(t, tc.command, w.object.Spec.Containers[0].Command, "the object is not changed")
		})
	}
}

func onFailure(spec *v1alpha1.SequentialJobSpec) {
	spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
}

func failurePolicy(rules ...v1alpha1.PodFailurePolicyRule) func(*v1alpha1.SequentialJobSpec) {
	return func(spec *v1alpha1.SequentialJobSpec) {
		spec.PodFailurePolicy = &v1alpha1.PodFailurePolicy{Rules: rules}
	}
}

// exitCodes is a rule that fails the step when a container exits with 3.
func exitCodes(container *string) v1alpha1.PodFailurePolicyRule {
	return v1alpha1.PodFailurePolicyRule{
		Action: v1alpha1.PodFailurePolicyFailJob,
		OnExitCodes: &v1alpha1.PodFailurePolicyOnExitCodes{
			ContainerName: container, Operator: "In", Values: []int32{3},
		},
	}
}

func TestThePodFailurePolicyOfAJob(t *testing.T) {
	disruption := batchv1.PodFailurePolicyRule{
		Action: batchv1.PodFailurePolicyActionIgnore,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
		}},
	}
	failure := func(container *string) batchv1.PodFailurePolicyRule {
		return batchv1.PodFailurePolicyRule{
			Action: batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				ContainerName: container, Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{3},
			},
		}
	}
	disrupted := v1alpha1.PodFailurePolicyRule{
		Action: v1alpha1.PodFailurePolicyIgnore, OnPodConditions: []v1alpha1.PodFailurePolicyOnPodCondition{{Type: "DisruptionTarget"}},
	}
	sidecar := func(spec *v1alpha1.SequentialJobSpec) {
		spec.Template.Spec.InitContainers = []corev1.Container{{Name: "proxy"}}
	}
	for name, tc := range map[string]struct {
		world *worldWrapper
		want  []batchv1.PodFailurePolicyRule
	}{
		"disruptions do not count by default": {world: makeWorld(2), want: []batchv1.PodFailurePolicyRule{disruption}},
		"no rules":                            {world: makeWorld(2).spec(failurePolicy())},
		"rules of the spec take the place of the default": {
			world: makeWorld(2).spec(failurePolicy(exitCodes(nil))), want: []batchv1.PodFailurePolicyRule{failure(nil)},
		},
		"the status of a condition defaults to True": {
			world: makeWorld(2).spec(failurePolicy(disrupted)), want: []batchv1.PodFailurePolicyRule{disruption},
		},
		"a rule about another step is left out": {
			world: makeWorld(2).spec(failurePolicy(exitCodes(new("step-0")), exitCodes(new("step-1")))),
			want:  []batchv1.PodFailurePolicyRule{failure(new("step-1"))},
		},
		"a rule about an init container is for all steps": {
			world: makeWorld(2).spec(failurePolicy(exitCodes(new("proxy")))).spec(sidecar),
			want:  []batchv1.PodFailurePolicyRule{failure(new("proxy"))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, validate(&tc.world.object.Spec))
			policy := newJob(tc.world.object, 1, jobDeadline{}).Spec.PodFailurePolicy
			assert.ElementsMatch(t, tc.want, policy.Rules)
		})
	}
	t.Run("none where Jobs do not support it", func(t *testing.T) {
		assert.Nil(t, newJob(makeWorld(2).spec(onFailure).object, 1, jobDeadline{}).Spec.PodFailurePolicy)
	})
}
