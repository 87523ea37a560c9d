package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	. "example.com/podsequence/test/harness/builders"
)

func TestSequencesThatAListDoesNotHave(t *testing.T) {
	known := func(t *testing.T, version string) *Engine {
		e := NewEngine(Config{})
		ps := MakeSequence("shop", "shop").UID("shop").Pods("", "db").Obj()
		ps.ResourceVersion = version
		e.ApplySequence(ps)
		return e
	}
	tests := map[string]struct {
		version string
		listed  []types.UID
		list    string
		want    []types.UID
	}{
		"one that the list has is not gone":              {version: "100", listed: []types.UID{"shop"}, list: "110"},
		"one that the list does not have is gone":        {version: "100", list: "110", want: []types.UID{"shop"}},
		"one that is newer than the list is not gone":    {version: "120", list: "110"},
		"one that was made anew is not the one it was":   {version: "100", listed: []types.UID{"other"}, list: "110", want: []types.UID{"shop"}},
		"versions are numbers, and compared as such":     {version: "99", list: "110", want: []types.UID{"shop"}},
		"one that is exactly as old as the list is gone": {version: "110", list: "110", want: []types.UID{"shop"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e := known(t, tt.version)
			assert.Equal(t, tt.want, e.UnlistedSequences(false, sets.New(tt.listed...), tt.list))
			assert.True(t, e.KnowsAnySequence([]types.UID{"other", "shop"}))
			e.RemoveSequence(types.NamespacedName{Namespace: "shop", Name: "shop"}, "130")
			assert.False(t, e.KnowsAnySequence([]types.UID{"other", "shop"}))
			assert.Empty(t, e.UnlistedSequences(false, nil, "200"))
		})
	}
}
