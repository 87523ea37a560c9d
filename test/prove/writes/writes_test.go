package writes

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/test/prove/site"
)

func TestEachKindOfWriteHasAStory(t *testing.T) {
	for _, kind := range Kinds() {
		assert.NotEmpty(t, stories[kind.story], kind.What)
	}
}

func TestAWriteThatNobodyListedIsFound(t *testing.T) {
	listed := Kinds()[0].Write
	lease := site.Write{Program: listed.Program, Method: "PUT", Resource: "leases"}
	review := site.Write{Program: listed.Program, Method: "POST", Resource: "tokenreviews"}
	another := site.Write{Program: listed.Program, Method: "DELETE", Resource: "pods"}
	assert.Equal(t, []site.Write{another}, Unlisted([]site.Write{listed, lease, review, another}))
}

func TestAStatusWithoutWhatNoTwoRunsHaveAlike(t *testing.T) {
	var status any
	require.NoError(t, json.Unmarshal([]byte(`{"phase":"Completed","observedGeneration":3,"observedUID":"u","message":"m","groups":[{"ready":2,
		"passedAt":"2026-01-02T03:04:05Z","hash":"h"}],"passes":{"h":{"uid":"u","at":"2026-01-02T03:04:05Z"}},"conditions":[{"type":"Ready","lastTransitionTime":"2026-01-02T03:04:05Z"}]}`), &status))
	content, err := json.Marshal(stable(status))
	require.NoError(t, err)
	assert.JSONEq(t, `{"phase":"Completed","groups":[{"ready":2}],"passes":[{}],"conditions":[{"type":"Ready"}]}`, string(content))
}

func TestWhatDiffersIsNamed(t *testing.T) {
	assert.Empty(t, differences([]string{"a", "b"}, []string{"a", "b"}))
	assert.Equal(t, []string{"missing at the end: b", "not there without kills: c"}, differences([]string{"a", "b"}, []string{"a", "c"}))
	assert.Equal(t, []string{"there are 3 objects, and 2 without kills"}, differences([]string{"a", "b"}, []string{"a", "a", "b"}))
}

func TestAPhaseIsOverWhenAllCountsAreRight(t *testing.T) {
	p := phase{until: map[string]int{"^Pod .*ready": 2, "^Job": 0}}
	assert.True(t, p.over([]string{"Pod a ready", "Pod b ready", "Pod c"}))
	assert.False(t, p.over([]string{"Pod a ready", "Pod b ready", "Job d"}))
	assert.False(t, p.over([]string{"Pod a ready"}))
}
