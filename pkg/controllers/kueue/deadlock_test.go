package kueue

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence"
)

func group(sequence string, index int) groupOf {
	return groupOf{types.NamespacedName{Namespace: "shop", Name: sequence}, index}
}

// waiting is a Workload with pods of groups that waits for a group; for none if that is nil.
func waiting(name string, awaited *groupOf, groups ...groupOf) *waiter {
	w := &waiter{workload: made(checked("Pending", "")), groups: groups}
	w.Name, w.Spec.QueueName = name, "queue"
	if awaited != nil {
		w.hold = sequence.Hold{Sequence: awaited.sequence, Group: "a group", Groups: []int{awaited.index}}
	}
	return w
}

func TestCycles(t *testing.T) {
	a, b, c := group("one", 0), group("two", 0), group("three", 0)
	for name, tc := range map[string]struct {
		waiters []*waiter
		want    map[string][]string // the Workloads of the cycle, by the one that is asked about
	}{
		"nobody waits":          {[]*waiter{waiting("x", nil, a), waiting("y", nil, b)}, nil},
		"one waits for another": {[]*waiter{waiting("x", nil, a), waiting("y", &a, b)}, nil},
		"two wait for each other": {
			[]*waiter{waiting("x", &b, a), waiting("y", &a, b)}, map[string][]string{"x": {"y"}, "y": {"x"}},
		},
		"three do": {
			[]*waiter{waiting("x", &b, a), waiting("y", &c, b), waiting("z", &a, c)},
			map[string][]string{"x": {"y", "z"}, "y": {"z", "x"}, "z": {"x", "y"}},
		},
		"one waits for two that wait for each other": {
			[]*waiter{waiting("x", &b, a), waiting("y", &a, b), waiting("z", &a, c)}, map[string][]string{"x": {"y"}, "y": {"x"}},
		},
		"one of the two runs": {
			[]*waiter{waiting("x", &b, a), func() *waiter {
				w := waiting("y", &a, b)
				has("Admitted")(w.workload)
				return w
			}()}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNeighbors(tc.waiters)
			for _, w := range tc.waiters {
				if w.runs() {
					assert.Empty(t, n.note(w, tc.waiters))
					continue
				}
				var names []string
				for _, other := range n.cycle(w) {
					names = append(names, other.Name)
				}
				assert.Equal(t, tc.want[w.Name], names, w.Name)
				assert.Equal(t, len(names) > 0, n.note(w, tc.waiters) != "", w.Name)
			}
		})
	}
}

func TestTheShortestCycleIsReported(t *testing.T) {
	a, b := group("one", 0), group("two", 0)
	var all []*waiter
	for i := range 30 {
		all = append(all, waiting(fmt.Sprintf("left-%02d", i), &b, a), waiting(fmt.Sprintf("right-%02d", i), &a, b))
	}
	for _, w := range all {
		assert.Len(t, newNeighbors(all).cycle(w), 1)
	}
}

func TestALongCycleIsCounted(t *testing.T) {
	const count = 20
	var all []*waiter
	for i := range count {
		next := group("shop", (i+1)%count)
		all = append(all, waiting(fmt.Sprintf("w%02d", i), &next, group("shop", i)))
	}
	assert.Contains(t, newNeighbors(all).note(all[0], all), "w01, w02, w03, w04, w05, and 14 more")
}

func TestQuotaOfLaterGroups(t *testing.T) {
	database := group("shop", 0)
	lacks := func(edits ...func(*workload)) *waiter {
		w := waiting("db", nil, database)
		with("QuotaReserved", metav1.ConditionFalse, "Pending", "")(w.workload)
		for _, edit := range edits {
			edit(w.workload)
		}
		return w
	}
	holds := func(edits ...func(*workload)) *waiter {
		w := waiting("api", &database, group("shop", 1))
		has("QuotaReserved")(w.workload)
		has("Admitted")(w.workload)
		for _, edit := range edits {
			edit(w.workload)
		}
		return w
	}
	for name, tc := range map[string]struct {
		lacks, holds *waiter
		want         bool
	}{
		"a later group has it":                {lacks(), holds(), true},
		"it is in another queue":              {lacks(), holds(func(w *workload) { w.Spec.QueueName = "other" }), false},
		"it is being evicted":                 {lacks(), holds(has("Evicted")), false},
		"it is finished":                      {lacks(), holds(has("Finished")), false},
		"its pods are ready":                  {lacks(), holds(has("PodsReady")), false},
		"it has none":                         {lacks(), holds(func(w *workload) { w.Status.Conditions = nil }), false},
		"nothing is known to be lacking":      {lacks(func(w *workload) { w.Status.Conditions = nil }), holds(), false},
		"its pods wait for those of no group": {waiting("other", nil), holds(), false},
	} {
		t.Run(name, func(t *testing.T) {
			all := []*waiter{tc.lacks, tc.holds}
			note := newNeighbors(all).note(tc.lacks, all)
			assert.Equal(t, tc.want, note != "")
			if tc.want {
				assert.Contains(t, note, `kubectl patch workload api -n shop --type=merge -p '{"spec":{"active":false}}'`)
			}
		})
	}
}
