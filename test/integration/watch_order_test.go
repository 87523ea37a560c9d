package integration

import (
	"net/http"
	"strings"
	"testing"
)

// isDeployments tells a request for Deployments, or for one of them, from any other.
func isDeployments(r *http.Request) bool {
	_, rest, found := strings.Cut(r.URL.Path, "/apis/apps/v1/")
	return found && strings.Contains("/"+rest+"/", "/deployments/")
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
		isRead := func(r *http.Request) bool { return isDeployments(r) && !r.URL.Query().Has("watch") }
		before := proxy.asked(isRead)
		s.Create(s.sequence("shop").Group(tier("db")).Pods("Application", "app").Obj())
		s.createPods(s.pod("app"))
		s.Await("the scheduler to look at the Deployment before it records a pass", func() bool { return proxy.asked(isRead) > before })
		s.expectHeld("app")
		free()
		s.expectHeld("app")
		s.makeReady(second...)
		s.awaitBound("app")
	})
}
