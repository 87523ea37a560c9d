package order

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/labels"
)

func TestWhatAPodWaitsForThatDoesNotExist(t *testing.T) {
	tests := map[string]struct {
		join Join
		want Missing
	}{
		"a pod that asks for nothing":                                           {Join{Ours: true}, NothingMissing},
		"a pod of podsequence-scheduler waits for the sequence that it names":   {Join{Ours: true, Named: "shop"}, NamedMissing},
		"a gated pod of another scheduler waits for the sequence that it names": {Join{Gated: true, Named: "shop"}, NamedMissing},
		"nobody can hold a pod of another scheduler without a gate":             {Join{Named: "shop", Required: true}, NothingMissing},
		"a pod whose sequence exists, though it does not select the pod":        {Join{Ours: true, Named: "shop", Exists: true}, NothingMissing},
		"another sequence that selects the pod is not the one that it names":    {Join{Ours: true, Named: "shop", Selected: true}, NamedMissing},
		"a namespace that requires a sequence":                                  {Join{Ours: true, Required: true}, AnyMissing},
		"a namespace that requires a sequence, and one selects the pod":         {Join{Ours: true, Required: true, Selected: true}, NothingMissing},
		"a namespace asks nothing of pods of other schedulers":                  {Join{Gated: true, Required: true}, NothingMissing},
		"the named sequence exists, and the namespace requires one that selects the pod": {
			Join{Ours: true, Named: "shop", Exists: true, Required: true}, AnyMissing,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, test.join.Missing()) })
	}
}

func TestWhoAsksForASequence(t *testing.T) {
	assert.Equal(t, "shop", NamedSequence(labels.Set{"podsequence.example.com/sequence": "shop"}))
	assert.Empty(t, NamedSequence(labels.Set{"tier": "web"}))
	assert.True(t, RequiresSequence(map[string]string{"podsequence.example.com/require-sequence": "true"}))
	assert.False(t, RequiresSequence(map[string]string{"podsequence.example.com/require-sequence": "false"}))
	assert.False(t, RequiresSequence(nil))
}
