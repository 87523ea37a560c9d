package real

import (
	"testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestThreeTiersStartOneAfterTheOther(t *testing.T) {
	s := newStory(t)
	s.Create(
		s.sequence("shop").Label("Database", app, "db").Label("Application", app, "api").Label("Frontend", app, "web").Obj(),
		s.deployment("web", 2, probed(workload("serve"))),
		s.deployment("api", 3, probed(workload("-ready-after", "3s", "serve"))),
		s.deployment("db", 2, probed(workload("-ready-after", "3s", "serve"))),
	)
	s.awaitPhase("shop", v1alpha1.PhaseCompleted)
	s.expectOrder("db-", "api-")
	s.expectOrder("api-", "web-")
}
