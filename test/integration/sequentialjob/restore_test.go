package sequentialjob

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// Velero leaves out Jobs that have ended, and writes status, if at all, some time after it has created the object.
func TestARestoredSequentialJobRunsNoStepTwice(t *testing.T) {
	for name, test := range map[string]struct {
		withStatus []string
		then       func(*story)
	}{
		"without status it waits for somebody to decide": {
			then: func(s *story) {
				object := s.awaitPhase("migration", v1alpha1.PhasePending)
				s.expectRestored(object)
				assert.Contains(s, object.Status.Message, "kubectl -n "+s.Namespace+" label sjob/migration velero.io/restore-name-")
				s.expectNoJob("migration-0")
				s.Await("the event", func() bool {
					return slices.Contains(s.events("migration"), "Restored: "+object.Status.Message)
				})

				s.Patch(object, `{"metadata":{"labels":{"velero.io/restore-name":null}}}`)
				s.awaitPhase("migration", v1alpha1.PhaseSucceeded)
				s.expectInOrder("migration", 2)
			},
		},
		"with status it has succeeded": {
			withStatus: []string{cluster.SequentialJobs},
			then: func(s *story) {
				object := s.awaitPhase("migration", v1alpha1.PhaseSucceeded)
				s.Patch(object, `{"metadata":{"labels":{"velero.io/restore-name":null}}}`)
				s.expectNoJob("migration-0")
				s.expectNoJob("migration-1")
				assert.Equal(s, v1alpha1.PhaseSucceeded, s.get("migration").Status.Phase)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.Create(s.quickSteps("migration", 2))
			s.awaitPhase("migration", v1alpha1.PhaseSucceeded)
			backup := s.BackUp()
			s.lose("migration")
			s.Restore(backup, cluster.Restore{WithStatus: test.withStatus})
			test.then(s)
		})
	}
}

func TestASequentialJobThatRanWhenItWasBackedUp(t *testing.T) {
	begin := func(t *testing.T) (*story, cluster.Backup) {
		s := newStory(t)
		s.Create(s.steps("etl", 3))
		s.complete("etl", 0)
		s.awaitRunning("etl", 1)
		s.Await("status to say so", func() bool { return s.get("etl").Status.Step == "2/3" })
		backup := s.BackUp()
		s.lose("etl")
		return s, backup
	}
	t.Run("continues on request with the step that ran, if the backup has its status and not its Job", func(t *testing.T) {
		s, backup := begin(t)
		delete(backup, "jobs.batch")
		delete(backup, "pods")
		s.Restore(backup, cluster.Restore{WithStatus: []string{cluster.SequentialJobs}})
		object := s.awaitPhase("etl", v1alpha1.PhaseFailed)
		s.expectCondition(object, v1alpha1.ConditionFailed, v1alpha1.ReasonJobDeleted)
		s.retry("etl", "restored")
		s.complete("etl", 1)
		s.complete("etl", 2)
		s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
		s.expectNoJob("etl-0")
	})
	t.Run("leaves a Job alone that was restored without its owner", func(t *testing.T) {
		s, backup := begin(t)
		s.Restore(backup, cluster.Restore{})
		object := s.awaitPhase("etl", v1alpha1.PhasePending)
		s.expectRestored(object)
		s.expectNoJob("etl-0")
		require.NotNil(t, s.job("etl-1"))
		assert.Nil(t, metav1.GetControllerOf(s.job("etl-1")))
	})
}

// expectRestored says that a SequentialJob waits because it was restored.
func (s *story) expectRestored(object *v1alpha1.SequentialJob) {
	s.Helper()
	c := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionProgressing)
	require.NotNil(s, c)
	assert.Equal(s, metav1.ConditionFalse, c.Status)
	assert.Equal(s, v1alpha1.ReasonRestored, c.Reason)
}

// lose deletes a SequentialJob with its Jobs and pods.
func (s *story) lose(name string) {
	s.Helper()
	object := s.get(name)
	require.NoError(s, s.API.Delete(s.Ctx, object, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	s.AwaitGone(object)
}
