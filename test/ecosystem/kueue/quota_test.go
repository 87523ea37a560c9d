package kueue

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

const (
	bestEffort = "BestEffortFIFO"
	strict     = "StrictFIFO"
	ours       = "sequence"
)

// tiers is a sequence in which the Job api comes after the Job db is complete.
func (s *story) tiers() *v1alpha1.PodSequence {
	return MakeSequence(s.Namespace, "shop").Label("Database", "app", "db").Complete().Label("Application", "app", "api").Obj()
}

func inQueue(queue string) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Labels[queueLabel] = queue }
}

func labelled(app string) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Spec.Template.Labels["app"] = app }
}

func neverEnding(job *batchv1.Job) {
	job.Spec.Template.Annotations = map[string]string{cluster.CompleteAfter: "never"}
}

// Both need the whole quota. Without the check the one that came first has it, and each waits for the other.
func TestWithoutTheCheckQuotaIsHeldByPodsThatWait(t *testing.T) {
	s := newStory(t, bestEffort)
	s.Create(s.tiers())
	s.job("api")
	s.awaitWorkload("api", "admitted", admitted)
	s.job("db")
	s.awaitWorkload("db", "without quota", func(w *workload) bool { return w.condition("QuotaReserved").Reason == "Pending" })
}

func TestQuotaIsNotTakenByPodsThatWaitForTheirTurn(t *testing.T) {
	for name, strategy := range map[string]string{"a queue that skips what it cannot admit": bestEffort, "a queue in strict order": strict} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, strategy, ours)
			s.Create(s.tiers())
			s.job("api")
			held := s.awaitWorkload("api", "held", checkSays("Retry"))
			assert.Equal(t, `Its pods are held by PodSequence `+s.Namespace+`/shop until group 1/2 "Database" is passed.`, held.check().Message)
			s.job("db")
			s.awaitWorkload("db", "admitted", admitted)
			assert.False(t, hasQuota(s.workload("api")), "quota of both at a time")
			s.awaitComplete("db")
			s.awaitWorkload("api", "admitted", admitted)
			s.awaitComplete("api")
		})
	}
}

// Kueue evicts what it has admitted and is not ready in time. What the check holds was not admitted.
func TestWhatWaitsForItsTurnIsNotEvicted(t *testing.T) {
	s := newStory(t, bestEffort, ours)
	s.addQueue("unchecked", bestEffort)
	s.Create(MakeSequence(s.Namespace, "shop").Pods("Database", "db-0").Label("Application", "app", "api").Obj())
	s.job("api")
	s.awaitWorkload("api", "held", checkSays("Retry"))

	s.job("other", inQueue("unchecked"), labelled("api"))
	s.awaitWorkload("other", "evicted", func(w *workload) bool { return w.condition("Evicted").Reason == "PodsReadyTimeout" })
	held := s.workload("api")
	assert.False(t, hasQuota(held))
	// Kueue may have been faster than the check, and have taken quota back at once.
	assert.NotEqual(t, "PodsReadyTimeout", held.condition("Evicted").Reason)
	assert.Zero(t, held.Requeues)
}

func TestASequenceThatComesLaterHoldsWhatLacksQuota(t *testing.T) {
	s := newStory(t, bestEffort, ours)
	first := s.job("first", neverEnding)
	s.awaitWorkload("first", "admitted", admitted)
	s.job("api")
	s.awaitWorkload("api", "free to go", checkSays("Ready"))
	s.Create(s.tiers())
	s.awaitWorkload("api", "held", checkSays("Retry"))
	require.NoError(t, s.API.Delete(s.Ctx, first, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	s.job("next")
	s.awaitWorkload("next", "admitted", admitted) // it came after
	assert.False(t, hasQuota(s.workload("api")))
}

// Nobody would put a Workload back into the queue that was taken out for a check that is gone.
func TestAQueueWithoutTheCheckAdmitsWhatWasHeld(t *testing.T) {
	s := newStory(t, bestEffort, ours)
	s.Create(s.tiers())
	s.job("api")
	s.awaitWorkload("api", "held", checkSays("Retry"))
	s.setChecks()
	s.awaitWorkload("api", "admitted", admitted)
}

func TestQuotaThatALaterGroupHoldsIsReported(t *testing.T) {
	s := newStory(t, bestEffort)
	s.Create(s.tiers())
	s.job("api")
	api := s.awaitWorkload("api", "admitted", admitted)
	s.setChecks(ours)
	s.awaitWorkload("api", "left alone", checkSays("Ready"))
	s.job("db")
	db := s.awaitWorkload("db", "reported", func(w *workload) bool { return strings.Contains(w.check().Message, "lacks quota") })
	assert.Contains(t, db.check().Message, "Workload "+api.Name+" has quota of the same queue")

	command := regexp.MustCompile(`kubectl patch .*?}}'`).FindString(db.check().Message)
	s.Cluster.MustShell(t, command)
	s.awaitWorkload("db", "admitted", admitted)
	s.awaitComplete("db")
	s.Cluster.MustShell(t, strings.Replace(command, "false", "true", 1))
	s.awaitComplete("api")
}

// Nobody answers for the check while the controller is down: nothing is admitted, and nothing is lost.
func TestTheControllerIsDownWhenTheTurnComes(t *testing.T) {
	s := newStory(t, bestEffort, ours)
	s.Create(s.tiers())
	s.job("api")
	s.awaitWorkload("api", "held", checkSays("Retry"))
	s.job("db", neverEnding)
	s.awaitWorkload("db", "admitted", admitted)
	var pods corev1.PodList
	s.Await("the pod of the database", func() bool {
		require.NoError(t, s.API.List(s.Ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{"app": "db"}))
		return len(pods.Items) == 1
	})
	s.WhileControllerDown(func() {
		s.Annotate(&pods.Items[0], cluster.CompleteAfter, "0s")
		s.awaitComplete("db")
		assert.False(t, hasQuota(s.workload("api")))
	})
	s.awaitComplete("api")
}
