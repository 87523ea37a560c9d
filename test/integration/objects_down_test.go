package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
)

// What happens to objects while the controller is down counts once it is back.
func TestObjectsChangeWhileTheControllerIsDown(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStoryIn(t, exclusively(t))
	k := s.installedCertificates()
	k.create("tls")
	k.setReady("tls", "True", time.Now().Add(-time.Second))
	s.Create(s.sequence("shop").Pods("Database", "db").Awaiting(k.reference("tls", "Ready")).Pods("Application", "app").Obj())
	s.createPods(s.pod("db"), s.pod("app"))
	first := s.awaitObject("shop", v1alpha1.ObjectSatisfied)
	s.awaitBound("db")

	t.Log("it turns unready and ready again")
	later := time.Now().Add(3 * time.Second)
	s.WhileControllerDown(func() {
		k.setReady("tls", "False", time.Now())
		s.Await("a later second", func() bool { return time.Now().After(later) })
		k.setReady("tls", "True", later)
	})
	s.Await("the record to say since when", func() bool {
		now := s.objectIn("shop")
		return now.Since != nil && now.Since.After(first.Since.Time) && now.UID == first.UID
	})

	t.Log("it is replaced under its name")
	s.WhileControllerDown(func() {
		s.Delete(k.object("tls"))
		k.create("tls")
	})
	waiting := s.awaitObject("shop", v1alpha1.ObjectWaiting)
	assert.NotEqual(t, first.UID, waiting.UID)
	assert.Nil(t, waiting.Since)
	s.makeReady("db")
	s.expectHeld("app")

	t.Log("it is deleted")
	s.WhileControllerDown(func() { s.Delete(k.object("tls")) })
	s.awaitObject("shop", v1alpha1.ObjectNotFound)
	s.expectHeld("app")

	t.Log("it comes and is ready")
	s.WhileControllerDown(func() {
		k.create("tls")
		k.setReady("tls", "True", time.Now())
	})
	s.awaitBound("app")
}

// A restart changes no record of an object that stays as it is, also if the object does not say since when.
func TestARestartKeepsSinceWhenAnObjectIsReady(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStoryIn(t, exclusively(t))
	k := s.installedCertificates()
	k.create("tls")
	s.Create(s.sequence("shop").Objects("Certificate", k.reference("tls", "Exists")).Pods("Application", "app").Obj())
	before := s.awaitObject("shop", v1alpha1.ObjectSatisfied)
	s.WhileControllerDown(func() {
		later := before.Since.Add(2 * time.Second)
		s.Await("a later second", func() bool { return time.Now().After(later) })
	})
	k.create("marker") // what the restarted controller records of it shows that it has read the kind
	s.Create(s.sequence("other").Objects("Certificate", k.reference("marker", "Exists")).Pods("Application", "none").Obj())
	s.awaitObject("other", v1alpha1.ObjectSatisfied)
	assert.Equal(t, before, s.objectIn("shop"))
}
