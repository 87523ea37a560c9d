package kueue

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
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
