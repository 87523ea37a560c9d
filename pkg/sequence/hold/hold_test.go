package hold

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/pkg/sequence/order"
)

func TestRule(t *testing.T) {
	tests := map[string]struct {
		facts Facts
		want  Rule
	}{
		"in the cluster a pod waits until its group is released": {Facts{Waits: true}, ByGroup},
		"in the cluster a group that is released is free":        {Facts{Waits: true, Released: true}, Free},
		"in the cluster a suspension that leaves the group released leaves it free": {
			Facts{Waits: true, Suspended: true, Released: true}, Free,
		},
		"in the cluster the first group waits for the end of a suspension": {Facts{Suspended: true}, ByGroup},
		"in the cluster it does not matter who places the pod":             {Facts{Waits: true, Gated: true, Blind: true}, ByGroup},
		"in the cluster it does not matter whether the pod is placed":      {Facts{Waits: true, Ours: true, Placed: true}, ByGroup},
		"a dry run holds nothing in the cluster":                           {Facts{DryRun: true, Waits: true}, Free},

		"a pod of a group that waits goes by nodes":                {Facts{PerNode: true, Waits: true, Ours: true}, ByNode},
		"it does so with a gate":                                   {Facts{PerNode: true, Waits: true, Ours: true, Gated: true}, ByNode},
		"it does so though its group is released":                  {Facts{PerNode: true, Waits: true, Ours: true, Released: true}, ByNode},
		"it does so by Continuous":                                 {Facts{PerNode: true, Waits: true, Ours: true, Continuous: true}, ByNode},
		"it does so where nobody sees nodes, unless it has a gate": {Facts{PerNode: true, Waits: true, Ours: true, Blind: true}, ByNode},
		"a pod of the first group is free on every node":           {Facts{PerNode: true, Ours: true}, Free},
		"a suspension keeps it from nodes":                         {Facts{PerNode: true, Suspended: true, Ours: true}, ByNode},
		"a pod that has a node is free":                            {Facts{PerNode: true, Waits: true, Ours: true, Placed: true}, Free},
		"a pod of another scheduler without a gate is free":        {Facts{PerNode: true, Waits: true}, Free},
		"a dry run keeps no pod from any node":                     {Facts{PerNode: true, DryRun: true, Waits: true, Ours: true}, Free},

		"a gated pod of another scheduler stays gated": {Facts{PerNode: true, Waits: true, Gated: true}, Unsupported},
		"it does so even if its group waits for none":  {Facts{PerNode: true, Gated: true}, Unsupported},
		"it does so even if it has a node":             {Facts{PerNode: true, Gated: true, Placed: true}, Unsupported},
		"a gated pod stays gated if nobody sees nodes": {Facts{PerNode: true, Gated: true, Ours: true, Blind: true}, Unsupported},
		"but for a dry run":                            {Facts{PerNode: true, DryRun: true, Gated: true}, Free},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, test.facts.Rule()) })
	}
}

func TestRevocable(t *testing.T) {
	tests := map[string]struct {
		facts Facts
		want  bool
	}{
		"in the cluster a pass is permanent":         {Facts{Waits: true}, false},
		"by Continuous it is not":                    {Facts{Waits: true, Continuous: true}, true},
		"on nodes it is not":                         {Facts{Waits: true, PerNode: true}, true},
		"who waits for no group loses none":          {Facts{PerNode: true, Continuous: true}, false},
		"not even in a suspension, which is an edit": {Facts{PerNode: true, Continuous: true, Suspended: true}, false},
		"a dry run takes nothing back":               {Facts{DryRun: true, Waits: true, Continuous: true}, false},
		"a dry run takes nothing back on a node":     {Facts{DryRun: true, Waits: true, PerNode: true}, false},
		"a pod that is free now may be held again":   {Facts{Waits: true, Continuous: true, Released: true}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, test.facts.IsRevocable()) })
	}
}

func TestReleased(t *testing.T) {
	const reached, before = order.GroupSet(0b0111), order.GroupSet(0b1001)
	tests := map[string]struct {
		suspended, refused bool
		want               order.GroupSet
	}{
		"what is reached is released":                             {want: reached},
		"a suspension leaves what was released, if it is reached": {suspended: true, want: 0b0001},
		"without consent nothing is released":                     {refused: true},
		"without consent a suspension releases nothing":           {suspended: true, refused: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, Released(reached, before, test.suspended, test.refused))
		})
	}
}

func TestEveryCombination(t *testing.T) {
	for i := range 1 << 10 {
		is := func(bit int) bool { return i&(1<<bit) != 0 }
		f := Facts{
			DryRun: is(0), Suspended: is(1), PerNode: is(2), Continuous: is(3), Waits: is(4),
			Released: is(5), Ours: is(6), Gated: is(7), Placed: is(8), Blind: is(9),
		}
		if f.DryRun {
			assert.Equal(t, Free, f.Rule(), "a dry run holds nothing: %+v", f)
			continue
		}
		longer := f
		longer.Suspended, longer.Waits = true, true
		if f.Rule() != Free {
			assert.NotEqual(t, Free, longer.Rule(), "who waits for more is held all the more: %+v", f)
		}
		if !f.PerNode {
			assert.Equal(t, f.Released, f.Rule() == Free, "in the cluster only the group counts: %+v", f)
			continue
		}
		elsewhere := f
		elsewhere.Released = !f.Released
		assert.Equal(t, f.Rule(), elsewhere.Rule(), "in scope Node it does not count where groups are released elsewhere: %+v", f)
		if !f.Ours && !f.Gated {
			assert.Equal(t, Free, f.Rule(), "nobody can hold it: %+v", f)
		}
	}
}
