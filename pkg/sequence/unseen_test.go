package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A list removes one pod, and has yet to publish another: who is told meanwhile that the other must wait is remembered.
func TestAListThatRemovesAPodForgetsNoOther(t *testing.T) {
	e := newEngine()
	gone := makePod("gone", "5").Obj()
	e.ApplyPod(gone)
	tx := e.begin("20")
	e.removePod(gone.Namespace, gone.Name, gone.UID, tx)
	e.ReportWhenSeen(makePod("listed", "15").Obj())
	assert.Len(t, e.unseen.versions, 1)
	assert.True(t, e.unseen.take("listed", tx.version))
}

// What is gone no event brings any more, so it would be remembered for ever.
func TestAPodThatIsGoneIsNotRemembered(t *testing.T) {
	e := newEngine()
	e.ApplyPod(makePod("p", "5").Obj())
	e.RemovePod(makePod("p", "6").Obj())
	e.ReportWhenSeen(makePod("p", "5").Obj())
	assert.Empty(t, e.unseen.versions)
	e.ReportWhenSeen(makePod("another", "7").Obj())
	assert.Len(t, e.unseen.versions, 1, "an event will bring that one")
}
