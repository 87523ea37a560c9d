package rolloutcheck

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/test/revisions"
)

// story makes changes out of words: the Deployment, its template, and what is said of it.
func story(lines ...change) []change {
	for i := range lines {
		lines[i].Revision = revisions.Revision(i + 1)
		lines[i].Arrived = time.Unix(int64(i), 0)
	}
	return lines
}

func is(name, template string, edits ...func(*change)) change {
	c := change{Object: deployment{
		key: types.NamespacedName{Namespace: "shop", Name: name}, uid: types.UID(name), template: template,
	}}
	for _, edit := range edits {
		edit(&c)
	}
	return c
}

func complete(c *change) { c.Object.complete = true }
func paused(c *change)   { c.Object.paused = true }
func deleted(c *change)  { c.Deleted = true }

func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		history []change
		order   []string
		overlap time.Duration // zero if none
	}{
		"nothing changes":   {history: story(is("a", "1", complete), is("b", "1", complete))},
		"one after another": {history: story(is("a", "1"), is("a", "1", complete), is("b", "1"), is("b", "1", complete)), order: []string{"a", "b"}},
		"one waits while one rolls": {
			history: story(is("a", "1"), is("b", "1", paused), is("a", "1", complete), is("b", "1")), order: []string{"a", "b"},
		},
		"two at once": {
			history: story(is("a", "1"), is("b", "1"), is("a", "1"), is("a", "1", complete)), order: []string{"a", "b"}, overlap: 2 * time.Second,
		},
		"two at once to this day": {
			history: story(is("a", "1"), is("b", "1"), is("a", "1")), order: []string{"a", "b"}, overlap: time.Second,
		},
		"until one is paused": {
			history: story(is("a", "1"), is("b", "1"), is("b", "1", paused)), order: []string{"a", "b"}, overlap: time.Second,
		},
		"until one is deleted": {
			history: story(is("a", "1"), is("b", "1"), is("b", "1", deleted)), order: []string{"a", "b"}, overlap: time.Second,
		},
		"scaling is no rollout": {
			history: story(is("a", "1", complete), is("a", "1"), is("b", "1"), is("a", "1", complete)), order: []string{"b"},
		},
		"a change that is taken back before anything was done is none": {
			history: story(is("a", "1", complete), is("a", "2", paused), is("a", "1")),
		},
		"a rollback is a rollout too": {
			history: story(is("a", "1", complete), is("a", "2"), is("a", "2"), is("a", "1"), is("b", "1"), is("a", "1", complete)),
			order:   []string{"a", "b"}, overlap: time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			verdict := judge(tc.history, "shop")
			assert.Equal(t, tc.order, verdict.Order())
			if tc.overlap == 0 {
				assert.Empty(t, verdict.Overlaps)
				return
			}
			require.Len(t, verdict.Overlaps, 1)
			assert.Equal(t, tc.overlap, verdict.Overlaps[0].Lasted)
		})
	}
}

func TestOtherNamespacesAreNotJudged(t *testing.T) {
	assert.Empty(t, judge(story(is("a", "1"), is("b", "1")), "bank").Overlaps)
}
