package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

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
