package sequentialjob

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

const queueLabel = "queue.example.com/name"

// addQueue makes the API server suspend Jobs of the namespace that carry the label of a queue when they are created, as Kueue
// does.
func (s *story) addQueue() {
	s.Helper()
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      ptr.To(admissionregistrationv1.Fail),
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": s.Namespace}},
				ObjectSelector: &metav1.LabelSelector{
					MatchExpressions: []metav1.LabelSelectorRequirement{{Key: queueLabel, Operator: metav1.LabelSelectorOpExists}},
				},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}},
				}}},
			},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: "Object{spec: Object.spec{suspend: true}}"},
			}},
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: s.Namespace},
	}
	s.Create(policy, binding)
	s.Cleanup(func() { // it is no part of the namespace
		assert.NoError(s, s.API.Delete(context.Background(), binding))
		assert.NoError(s, s.API.Delete(context.Background(), policy))
	})
	s.Await("the queue to hold", func() bool {
		job := s.foreignJob("other")
		job.Labels, job.Spec.Suspend = map[string]string{queueLabel: "team"}, nil
		return s.API.Create(s.Ctx, job, client.DryRunAll) == nil && ptr.Deref(job.Spec.Suspend, false)
	})
}

// setSuspend holds a Job, or admits it, as the queue does.
func (s *story) setSuspend(job string, suspend bool) {
	s.Helper()
	s.Patch(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: job}},
		map[string]any{"spec": map[string]any{"suspend": suspend}})
}

func TestAQueueHoldsAStep(t *testing.T) {
	s := newStory(t)
	s.addQueue()
	object := s.steps("etl", 2)
	object.Spec.Template.Labels = map[string]string{queueLabel: "team"}
	object.Spec.ActiveDeadlineSeconds = ptr.To[int64](1)
	s.Create(object)
	object = s.awaitPhase("etl", v1alpha1.PhasePending)
	assert.Nil(t, object.Status.StartTime)
	assert.Contains(t, object.Status.Message, "Job etl-0 was suspended")
	created := s.job("etl-0").CreationTimestamp
	s.Await("the deadline to pass, if it passed", func() bool { return time.Since(created.Time) > 3*time.Second })
	s.fence()
	assert.Equal(t, v1alpha1.PhasePending, s.get("etl").Status.Phase)
	assert.True(t, *s.job("etl-0").Spec.Suspend, "it is for the queue to resume it")

	s.patchSpec("etl", map[string]any{"activeDeadlineSeconds": 600})
	s.Await("the Job to have all of the time", func() bool {
		seconds := s.job("etl-0").Spec.ActiveDeadlineSeconds
		return seconds != nil && *seconds == 600
	})
	s.setSuspend("etl-0", false)
	object = s.awaitPhase("etl", v1alpha1.PhaseRunning)
	assert.NotNil(t, object.Status.StartTime)

	s.awaitRunning("etl", 0)
	s.setSuspend("etl-0", true) // others need the room
	object = s.awaitPhase("etl", v1alpha1.PhasePending)
	assert.Empty(t, s.pods("etl", 0))
	assert.Nil(t, object.Status.StartTime)
	s.setSuspend("etl-0", false)
	s.complete("etl", 0)
	s.Await("the next step to be held", func() bool {
		object = s.get("etl")
		return object.Status.Phase == v1alpha1.PhasePending && object.Status.Step == "2/2"
	})
	assert.Nil(t, object.Status.StartTime)
	s.setSuspend("etl-1", false)
	s.complete("etl", 1)
	s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
}
