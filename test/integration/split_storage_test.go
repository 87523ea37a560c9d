package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// Resource versions of two etcds have nothing to do with each other.
func TestSplitStorage(t *testing.T) {
	slow.Test(t)
	for name, resource := range map[string]string{
		"Deployments are in an etcd of their own": "apps/deployments",
		"pods are in an etcd of their own":        "/pods",
	} {
		t.Run(name, func(t *testing.T) {
			env := startCluster(t, controlplane.Options{AuditLog: true, SplitStorage: []string{resource}})
			s := newStoryIn(t, env)
			s.unjudged = true // the referee reads one etcd, and goes by its versions

			s.createPods(s.pod("free"))
			s.awaitBound("free")
			s.Create(s.sequence("shop").Group(tier("db")).Group(tier("app")).Pods("Frontend", "web", "gated").Obj())
			s.Create(s.deployment("db", 2), s.deployment("app", 2))
			s.createPods(s.pod("web"), s.gated("gated").SchedulerName(stockScheduler))

			db := s.awaitWorking("db", 2)
			s.makeReady(db[0])
			s.fence()
			assert.Empty(t, s.boundPods("app"), "one of two database pods is ready")
			s.makeReady(db[1])
			s.expectPrompt("the second tier", func() bool { return len(s.boundPods("app")) == 2 })

			s.expectHeld("web", "gated")
			s.makeReady(s.awaitWorking("app", 2)...)
			s.expectPrompt("the last tier", func() bool {
				return s.getPod("web").Spec.NodeName != "" && s.getPod("gated").Spec.NodeName != ""
			})

			// Nothing is listed while nothing happens, however little versions say.
			lists, last := s.lists(), time.Now()
			s.Await("no lists for three seconds", func() bool {
				if now := s.lists(); now > lists {
					lists, last = now, time.Now()
				}
				return time.Since(last) > 3*time.Second
			})
			assert.Less(t, lists, 200, "lists for two dozen pods")
			t.Logf("both programs made %d lists", lists)
		})
	}
}

// expectPrompt awaits what must happen soon after what was done last.
func (s *story) expectPrompt(what string, happened func() bool) {
	s.Helper()
	begin := time.Now()
	s.Await(what+" to be bound", happened)
	took := time.Since(begin)
	assert.Less(s, took, 5*time.Second, "%s took long", what)
	s.Logf("%s was bound after %s", what, took.Round(time.Millisecond))
}

// lists counts the lists that our programs made before they recorded a pass or lifted a gate: those of metadata, by the page.
func (s *story) lists() int {
	count := 0
	s.Audited(func(e *cluster.Request) {
		if e.Program != "" && e.IsAnswered() && e.Verb == "list" && strings.Contains(e.RequestURI, "limit=") {
			count++
		}
	})
	return count
}
