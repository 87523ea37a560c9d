package integration

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// isDeployments tells a question about Deployments from one about anything else.
func isDeployments(r *http.Request) bool {
	return strings.Contains(r.URL.Path, "/apis/apps/v1/") && strings.HasSuffix(r.URL.Path, "/deployments")
}

// delayDeployments makes the watch of Deployments deliver nothing until free is called.
func (p *proxy) delayDeployments() (free func()) {
	held := make(chan struct{})
	p.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if isDeployments(r) && r.URL.Query().Has("watch") {
			select {
			case <-held:
			case <-r.Context().Done():
			}
		}
		return false
	})
	return func() { close(held) }
}

// awaitAsked waits until the scheduler, before it lets something go, has asked which Deployments it should know.
func (s *story) awaitAsked(p *proxy, event func()) {
	s.Helper()
	isList := func(r *http.Request) bool { return isDeployments(r) && !r.URL.Query().Has("watch") }
	before := p.asked(isList)
	event()
	s.Await("the scheduler to ask which Deployments it should know", func() bool { return p.asked(isList) > before })
}

// The watches of pods and of what makes them are not in step.
func testWatchesOutOfStep(t *testing.T, env *environment) {
	t.Run("a group is not passed while a change of its Deployment is missing", func(t *testing.T) {
		s, proxy := slowWatch(t, env)
		db := s.deployment("db", 1)
		s.Create(s.sequence("other").Group(tier("db")).Pods("Application", "probe").Obj(), db)
		s.createPods(s.pod("probe"))
		s.makeReady(s.awaitWorking("db", 1)...)
		s.awaitBound("probe") // the scheduler knows the Deployment as it was
		free := proxy.delayDeployments()
		s.Patch(db, `{"spec":{"replicas":2}}`)
		second := s.awaitWorking("db", 1)
		s.awaitAsked(proxy, func() {
			s.Create(s.sequence("shop").Group(tier("db")).Pods("Application", "app").Obj())
			s.createPods(s.pod("app"))
		})
		assert.Empty(t, s.getPod("app").Spec.NodeName, "one of two is ready")
		free()
		s.expectHeld("app")
		s.makeReady(second...)
		s.awaitBound("app")
	})
	t.Run("a pod of a rollout waits for the rollout before it though that is not seen to have begun", func(t *testing.T) {
		s, proxy := slowWatch(t, env)
		db, app := s.surging("db"), s.surging("app")
		s.Create(s.continuous(tier("db"), tier("app")), db, app)
		s.makeReady(s.awaitWorking("db", 2)...)
		s.makeReady(s.awaitWorking("app", 2)...)
		s.awaitPhase("shop", v1alpha1.PhaseCompleted)
		free := proxy.delayDeployments()
		s.Patch(db, newRevision)
		first := s.awaitWorking("db", 1)
		var waiting []string
		s.awaitAsked(proxy, func() {
			s.Patch(app, newRevision)
			waiting = s.awaitWaiting("app", 1)
		})
		assert.Empty(t, s.getPod(waiting[0]).Spec.NodeName, "the first tier's rollout has begun")
		free()
		s.expectHeld(waiting...)
		s.makeReady(first...)
		s.makeReady(s.awaitWorking("db", 1)...)
		s.awaitBound(waiting...)
	})
}
