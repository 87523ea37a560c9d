package order

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// graph is a sequence of groups of one named pod each, with what each depends on.
func graph(groups ...v1alpha1.PodGroup) *Sequence {
	w := MakeSequence("shop", "backend").Gate("g").UID("u")
	for _, g := range groups {
		g.Pods = []string{"pod-of-" + g.Name}
		w.Group(g)
	}
	return Compile(Stored{PodSequence: w.Obj()}, []string{"g"}, time.Time{})
}

func after(name string, groups ...string) v1alpha1.PodGroup {
	return v1alpha1.PodGroup{Name: name, DependsOn: append([]string{}, groups...)}
}

func skipped(g v1alpha1.PodGroup) v1alpha1.PodGroup {
	g.Skip = true
	return g
}

func TestWhatAGroupWaitsFor(t *testing.T) {
	last := v1alpha1.PodGroup{Name: "last"} // depends on all before it
	tests := map[string]struct {
		groups                                    []v1alpha1.PodGroup
		wantPredecessors, wantAwaited, wantDirect []GroupSet
		wantProblem                               string
	}{
		"without dependsOn on all groups listed before": {
			groups:           []v1alpha1.PodGroup{{Name: "a"}, {Name: "b"}, {Name: "c"}},
			wantPredecessors: []GroupSet{0, 0b1, 0b11}, wantAwaited: []GroupSet{0, 0b1, 0b11}, wantDirect: []GroupSet{0, 0b1, 0b10},
		},
		"a diamond": {
			groups:           []v1alpha1.PodGroup{after("net"), after("db", "net"), after("cache", "net"), after("web", "db", "cache"), last},
			wantPredecessors: []GroupSet{0, 0b1, 0b1, 0b111, 0b1111},
			wantAwaited:      []GroupSet{0, 0b1, 0b1, 0b111, 0b1111},
			wantDirect:       []GroupSet{0, 0b1, 0b1, 0b110, 0b1000},
		},
		"a skipped group is not waited for, but the groups before it are": {
			groups:           []v1alpha1.PodGroup{after("net"), skipped(after("db", "net")), after("web", "db")},
			wantPredecessors: []GroupSet{0, 0b1, 0b11}, wantAwaited: []GroupSet{0, 0b1, 0b1}, wantDirect: []GroupSet{0, 0b1, 0b1},
		},
		"a name that is not listed earlier": {
			groups:           []v1alpha1.PodGroup{after("a"), after("b"), after("c", "d"), after("d")},
			wantPredecessors: []GroupSet{0, 0, 0b11, 0}, wantAwaited: []GroupSet{0, 0, 0b11, 0}, wantDirect: []GroupSet{0, 0, 0b11, 0},
			wantProblem: `spec.podGroups[2].dependsOn: no group listed before has the name "d": the group waits for all groups listed before it; correct the name`,
		},
		"a name of two groups": {
			groups:           []v1alpha1.PodGroup{after("a"), after("a"), after("b", "a")},
			wantPredecessors: []GroupSet{0, 0, 0b11}, wantAwaited: []GroupSet{0, 0, 0b11}, wantDirect: []GroupSet{0, 0, 0b11},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := graph(tt.groups...)
			for i, g := range s.Groups {
				assert.Equal(t, tt.wantPredecessors[i], g.Predecessors, "predecessors of group %d", i)
				assert.Equal(t, tt.wantAwaited[i], g.Awaited, "awaited groups of group %d", i)
				assert.Equal(t, tt.wantDirect[i], g.Direct, "direct groups of group %d", i)
			}
			var problems []string
			for _, p := range s.Problems {
				if p.Reason == v1alpha1.ReasonInvalidSpec {
					problems = append(problems, p.Message)
				}
			}
			if tt.wantProblem == "" {
				assert.Empty(t, problems)
			} else {
				assert.Equal(t, []string{tt.wantProblem}, problems)
			}
		})
	}
}

// TestHashesOfAListStay is about statuses and pods that have the hashes on record.
func TestHashesOfAListStay(t *testing.T) {
	w := MakeSequence("shop", "backend").Pods("One", "a", "b").Label("Two", "app", "web").Complete().Pods("Three", "c").MinAvailable("1")
	want := []string{"e520881ff6e6ae08", "defde222ad6a4894", "d909724b5a1009fd"}
	hashes := func() (hashes []string) {
		for _, g := range Compile(Stored{PodSequence: w.Obj()}, nil, time.Time{}).Groups {
			hashes = append(hashes, g.Hash)
		}
		return hashes
	}
	assert.Equal(t, want, hashes())
	w.Spec.PodGroups[1].DependsOn, w.Spec.PodGroups[2].DependsOn = []string{"One"}, []string{"Two"}
	assert.Equal(t, want, hashes(), "the same order in other words")
	w.Spec.PodGroups[1].Skip = true
	assert.Equal(t, want, hashes(), "what is skipped is no part of the definition")
}

func TestAHashDependsOnWhatComesBefore(t *testing.T) {
	before := graph(after("net"), after("db", "net"), after("cache", "net"), after("web", "db", "cache"))
	now := graph(after("tools"), after("net"), after("cache", "net"), after("db", "net"), after("web", "cache", "db"))
	assert.Equal(t, Same{-1, 0, 2, 1, 3}, now.SameGroups(before), "where a group is listed makes no difference")
	assert.Equal(t, GroupSet(0b10010), now.SameGroups(before).Set(0b1001))
	changed := graph(after("net"), after("db", "net"), after("cache"), after("web", "db", "cache"))
	assert.Equal(t, Same{0, 1, -1, -1}, changed.SameGroups(before))
	twice := graph(after("a"), after("a"))
	assert.NotEqual(t, twice.Groups[0].Hash, twice.Groups[1].Hash, "two groups never have one record")
}

func TestRecordsOfPasses(t *testing.T) {
	s := graph(after("net"), after("db", "net"), after("cache", "net"), after("web", "db", "cache"))
	at := metav1.Now()
	record := func(group int, passed bool) v1alpha1.GroupStatus {
		g := v1alpha1.GroupStatus{Hash: s.Groups[group].Hash}
		if passed {
			g.PassedAt = &at
		}
		return g
	}
	tests := map[string]struct {
		records []v1alpha1.GroupStatus
		want    GroupSet
	}{
		"none":                              {nil, 0},
		"a group, not those before it":      {[]v1alpha1.GroupStatus{{}, {}, {}, record(3, true)}, 0b1000},
		"one of two branches":               {[]v1alpha1.GroupStatus{record(0, true), record(1, false), record(2, true)}, 0b0101},
		"groups that were listed elsewhere": {[]v1alpha1.GroupStatus{record(2, true), record(0, true)}, 0b0101},
		"all but a group that was skipped":  {[]v1alpha1.GroupStatus{record(0, true), record(1, false), record(2, true), record(3, true)}, 0b1101},
		"a group that is defined otherwise": {[]v1alpha1.GroupStatus{{Hash: "other", PassedAt: &at}}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, passesIn(s, &v1alpha1.PodSequenceStatus{Groups: tt.records}))
		})
	}
}

func passesIn(s *Sequence, status *v1alpha1.PodSequenceStatus) (passed GroupSet) {
	for i := range s.Groups {
		if _, recorded := s.PassIn(status, i); recorded {
			passed.Add(i)
		}
	}
	return passed
}

func TestWhichRecordsCount(t *testing.T) {
	at := metav1.Now()
	own := func(s *Sequence) map[string]v1alpha1.GroupPass {
		return map[string]v1alpha1.GroupPass{s.Groups[0].Hash: {UID: s.UID, At: at}}
	}
	earlier := func(s *Sequence) []v1alpha1.GroupStatus {
		return []v1alpha1.GroupStatus{{Hash: s.Groups[0].Hash, PassedAt: &at}}
	}
	for name, test := range map[string]struct {
		status func(s *Sequence) v1alpha1.PodSequenceStatus
		want   bool
	}{
		"a pass of the group as it is defined": {func(s *Sequence) v1alpha1.PodSequenceStatus {
			return v1alpha1.PodSequenceStatus{Passes: own(s)}
		}, true},
		"a pass of another object": {func(s *Sequence) v1alpha1.PodSequenceStatus {
			return v1alpha1.PodSequenceStatus{Passes: map[string]v1alpha1.GroupPass{s.Groups[0].Hash: {UID: "another", At: at}}}
		}, false},
		"a record of an earlier release": {func(s *Sequence) v1alpha1.PodSequenceStatus {
			return v1alpha1.PodSequenceStatus{Groups: earlier(s)}
		}, true},
		"one from when passes could be lost": {func(s *Sequence) v1alpha1.PodSequenceStatus {
			return v1alpha1.PodSequenceStatus{Groups: earlier(s), EnforcementMode: v1alpha1.Continuous}
		}, false},
		"one from the dry run that is under way": {func(s *Sequence) v1alpha1.PodSequenceStatus {
			s.DryRunRequested = true
			return v1alpha1.PodSequenceStatus{Groups: earlier(s), Conditions: []metav1.Condition{{Type: v1alpha1.ConditionDryRun, Status: metav1.ConditionTrue}}}
		}, true},
		"one from a dry run that is over": {func(s *Sequence) v1alpha1.PodSequenceStatus {
			return v1alpha1.PodSequenceStatus{Groups: earlier(s), Conditions: []metav1.Condition{{Type: v1alpha1.ConditionDryRun, Status: metav1.ConditionTrue}}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := graph(after("net"), after("db", "net"))
			s.UID = "own"
			status := test.status(s)
			_, recorded := s.PassIn(&status, 0)
			assert.Equal(t, test.want, recorded)
		})
	}
}

// A sequence may have been a graph when status was written, and be a list now.
func TestAListFindsTheRecordsOfAGraph(t *testing.T) {
	before := graph(after("tools"), after("net"), after("db", "net"))
	now := graph(after("net"), after("db", "net"))
	require.True(t, now.IsList)
	at := metav1.Now()
	status := &v1alpha1.PodSequenceStatus{}
	for _, g := range before.Groups {
		status.Groups = append(status.Groups, v1alpha1.GroupStatus{Hash: g.Hash, PassedAt: &at})
	}
	assert.Equal(t, 1, now.RecordIndex(status, 0))
	assert.Equal(t, GroupSet(0b11), passesIn(now, status))
}
