package order

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Templates of charts write empty values for what nobody set.
func TestEmptyMeansAbsent(t *testing.T) {
	compiled := func(group, rest map[string]any) *Sequence {
		spec := map[string]any{"podGroups": []any{group, map[string]any{"podSelector": map[string]any{}}}}
		for field, value := range rest {
			spec[field] = value
		}
		return Compile(Read(map[string]any{"metadata": map[string]any{"namespace": "shop", "name": "shop"}, "spec": spec}), []string{"podsequence.example.com/"}, time.Time{})
	}
	selector := map[string]any{"matchLabels": map[string]any{"tier": "db"}}
	absent := compiled(map[string]any{"podSelector": selector}, nil)
	empty := compiled(map[string]any{
		"name": "", "pods": []any{}, "podSelector": selector, "nodeSelector": map[string]any{}, "waitDuration": "", "timeout": "",
	}, map[string]any{"namespace": "", "schedulingGateName": ""})
	assert.Empty(t, empty.Problems)
	assert.Equal(t, absent, empty)
}
