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
	took := n.take(noteKey, "job-0", word{text: ""}, true, noon)
	assert.Empty(t, took.said.text)
	assert.Empty(t, n.notes, "nothing is remembered of pods that say nothing")

	took = n.take(noteKey, "job-0", word{text: "waits"}, true, noon)
	assert.Equal(t, "waits", took.said.text)
	assert.Zero(t, took.due())

	took = n.take(noteKey, "job-1", word{text: "waits as well"}, true, noon)
	assert.Equal(t, "waits as well", took.said.text, "another step has not said anything yet")
	n.forget(noteKey)
	assert.Empty(t, n.notes)
}

func TestStatusTakesUpAChangeLater(t *testing.T) {
	n := newNotes()
	n.take(noteKey, "job-0", word{text: "one"}, true, noon)
	took := n.take(noteKey, "job-0", word{text: "two"}, true, noon.Add(time.Second))
	assert.Equal(t, "one", took.said.text)
	assert.Equal(t, "two", took.heard.text)
	assert.Equal(t, noon.Add(quietAtFirst), took.due())
	took = n.take(noteKey, "job-0", word{text: "two"}, true, took.due())
	assert.Equal(t, "two", took.said.text)
	assert.Zero(t, took.due())

	took = n.take(noteKey, "job-0", word{text: ""}, false, noon.Add(time.Hour))
	assert.Equal(t, "two", took.said.text, "the pods are gone, and the last word stands")
	took = n.take(noteKey, "job-0", word{text: ""}, true, noon.Add(time.Hour))
	assert.Empty(t, took.said, "the pod works")
}

func TestStatusSaysAtOnceThatAPodRunsAfterAll(t *testing.T) {
	n := newNotes()
	waits := word{text: "pod a is not scheduled", waits: true, since: noon.Unix()}
	assert.Equal(t, waits, n.take(noteKey, "job-0", waits, true, noon).said)
	took := n.take(noteKey, "job-0", word{}, true, noon.Add(time.Second))
	assert.Equal(t, word{}, took.said)
	took = n.take(noteKey, "job-0", waits, true, noon.Add(2*time.Second))
	assert.Equal(t, word{}, took.said, "it changes its mind")
	took = n.take(noteKey, "job-0", waits, true, took.due())
	assert.Equal(t, waits, took.said)
	took = n.take(noteKey, "job-0", word{}, true, took.at.Add(time.Second))
	assert.Equal(t, waits, took.said, "again and again")
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
		took := n.take(noteKey, "job-0", word{text: heard}, true, noon.Add(time.Duration(second)*time.Second))
		if took.said.text != before {
			writes, before = writes+1, took.said.text
		}
	}
	assert.Less(t, writes, 10+hours*6+1, "at most one in ten minutes, when it is slow")
	assert.Greater(t, writes, 10)

	took := n.take(noteKey, "job-0", word{text: "calm"}, true, noon.Add(48*time.Hour))
	assert.Equal(t, "calm", took.said.text)
	assert.Equal(t, quietAtFirst, took.quiet, "after a calm it is quick again")
}
