package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

// A tool that restores objects gives them new UIDs and no status, so nothing is left that says what was passed. Its order is
// pods, workloads, and then what it knows nothing of.
func TestRestoredObjectsWithoutAFinishedJob(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.completeShop()
	s.loseShop()

	// Of the application one pod is in the backup. It is bound before there is a sequence.
	s.createPods(s.pod("restored").Label("tier", "app").Annotation(cluster.ReadyAfter, "0s"))
	s.awaitBound("restored")
	s.Create(s.deployment("db", 1), s.shop().Obj())
	db := s.awaitWorking("db", 1)
	s.createPods(s.pod("replacement").Label("tier", "app"))
	s.expectHeld("replacement")
	s.makeReady(db...)
	s.awaitGroup("shop", 0, 1, 1) // some seconds later: it has no readiness probe
	s.expectHeld("replacement")   // the Job of the second group is gone: its TTL was over long before the backup

	person := s.Person("edit")
	why, _ := person.Says("why", "replacement")
	assert.Contains(t, why, "no pod matches it yet")
	person.Says("skip", "shop", "migration", "--reason", "restored from a backup: the migration was complete")
	s.awaitBound("replacement")

	// Nor is what comes later held, and the order of all other groups holds.
	s.createPods(s.pod("web"))
	s.expectHeld("web")
	s.makeReady("replacement")
	s.awaitBound("web")
	s.makeReady("web")
	s.awaitPhase("shop", v1alpha1.PhaseCompleted)
	s.createPods(s.pod("another").Label("tier", "app"))
	s.awaitBound("another")

	// A migration that comes later starts, and nobody waits for it.
	s.Create(s.job("next-migration", "migration", 1, 1))
	s.awaitWorking("migration", 1)
	s.createPods(s.pod("yet-another").Label("tier", "app"))
	s.awaitBound("yet-another")
}

// A shop of which all is in the backup needs nobody to do anything: it starts in order.
func TestRestoredObjectsOfAWholeShop(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.completeShop()
	s.loseShop()

	// PodSequences first, as docs/howto/backup-and-restore.md recommends: then the pods of the backup start in order as well.
	s.Create(s.shop().Obj())
	s.createPods(s.pod("web"), s.pod("restored").Label("tier", "app"))
	s.expectHeld("web", "restored")
	s.Create(s.deployment("db", 1))
	db := s.awaitWorking("db", 1)
	s.Create(s.job("migration", "migration", 1, 1))
	s.expectHeld("web", "restored")
	s.makeReady(db...)
	migration := s.awaitWorking("migration", 1)
	s.expectHeld("web", "restored")
	s.succeed(migration[0])
	s.awaitBound("restored")
	s.expectHeld("web")
	s.makeReady("restored")
	s.awaitBound("web")
	s.makeReady("web")
	s.awaitPhase("shop", v1alpha1.PhaseCompleted)
}

// shop is a sequence of a database, a migration, an application and a web server.
func (s *story) shop() *SequenceWrapper {
	return s.sequence("shop").Mode(v1alpha1.BootstrapOnly).Group(tier("db")).Group(completed("migration")).Group(tier("app")).Pods("web", "web")
}

// completeShop completes the shop, and then deletes the Job of its migration.
func (s *story) completeShop() {
	s.Helper()
	job := s.job("migration", "migration", 1, 1)
	s.Create(s.shop().Obj(), s.deployment("db", 1), job)
	s.createPods(s.pod("app").Label("tier", "app"), s.pod("web"))
	s.makeReady(s.awaitWorking("db", 1)...)
	s.succeed(s.awaitWorking("migration", 1)[0])
	s.awaitBound("app")
	s.makeReady("app")
	s.awaitBound("web")
	s.makeReady("web")
	s.awaitPhase("shop", v1alpha1.PhaseCompleted)
	s.remove(&batchv1.Job{ObjectMeta: s.Meta("migration")})
	s.createPods(s.pod("replacement").Label("tier", "app"))
	s.awaitBound("replacement") // which the API remembers to be passed
}

// loseShop deletes all of it.
func (s *story) loseShop() {
	s.Helper()
	sequence := &v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "shop"}}
	s.remove(sequence)
	s.remove(s.deployment("db", 1))
	for _, name := range []string{"app", "web", "replacement"} {
		s.remove(s.Pod(name))
	}
	s.Await("the database to be gone", func() bool { return len(s.boundPods("db")) == 0 })
}
