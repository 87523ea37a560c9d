package sequentialjob

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

var noteKey = types.NamespacedName{Namespace: "data", Name: "etl"}

func TestStatusTakesUpAtOnceWhatPodsSayFirst(t *testing.T) {
	n := newNotes()
	took := n.take(noteKey, "job-0", "", true, noon)
	assert.Empty(t, took.said)
	assert.Empty(t, n.notes, "nothing is remembered of pods that say nothing")

	took = n.take(noteKey, "job-0", "waits", true, noon)
	assert.Equal(t, "waits", took.said)
	assert.Zero(t, took.due())

	took = n.take(noteKey, "job-1", "waits as well", true, noon)
	assert.Equal(t, "waits as well", took.said, "another step has not said anything yet")
	n.forget(noteKey)
	assert.Empty(t, n.notes)
}

func TestStatusTakesUpAChangeLater(t *testing.T) {
	n := newNotes()
	n.take(noteKey, "job-0", "one", true, noon)
	took := n.take(noteKey, "job-0", "two", true, noon.Add(time.Second))
	assert.Equal(t, "one", took.said)
	assert.Equal(t, "two", took.heard)
	assert.Equal(t, noon.Add(quietAtFirst), took.due())
	took = n.take(noteKey, "job-0", "two", true, took.due())
	assert.Equal(t, "two", took.said)
	assert.Zero(t, took.due())

	took = n.take(noteKey, "job-0", "", false, noon.Add(time.Hour))
	assert.Equal(t, "two", took.said, "the pods are gone, and the last word stands")
	took = n.take(noteKey, "job-0", "", true, noon.Add(time.Hour))
	assert.Empty(t, took.said, "the pod works")
}

// A container that crashes says so between its restarts only.
func TestPodsThatChangeTheirMindsAllTheTimeCostFewWrites(t *testing.T) {
	n := newNotes()
	writes, before := 0, ""
	const hours = 24
	for second := range hours * 3600 {
		heard := ""
		if second%30 < 20 {
			heard = fmt.Sprintf("crashed %d", second/30%7)
		}
		took := n.take(noteKey, "job-0", heard, true, noon.Add(time.Duration(second)*time.Second))
		if took.said != before {
			writes, before = writes+1, took.said
		}
	}
	assert.Less(t, writes, 10+hours*6+1, "at most one in ten minutes, when it is slow")
	assert.Greater(t, writes, 10)

	took := n.take(noteKey, "job-0", "calm", true, noon.Add(48*time.Hour))
	assert.Equal(t, "calm", took.said)
	assert.Equal(t, quietAtFirst, took.quiet, "after a calm it is quick again")
}
