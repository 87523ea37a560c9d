package inventory

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/labels"
)

// Any two of these differ.
var someLabels = []map[string]string{
	nil, {"a": "b"}, {"ab": ""}, {"a": ""}, {"a": "", "b": ""}, {"b": "a"}, {"a": "b", "b": ""}, {"a": "", "b": "b"}, {"a": "b", "c": ""},
}

func TestKeptLabelsSayWhatTheObjectSaid(t *testing.T) {
	shared := &Interner{}
	for range 2 { // the second time all are shared
		for _, object := range someLabels {
			p := &Pod{common: &common{}, Name: "db-0", Labels: LabelsOf(object)}
			shared.Intern(p, NoPod())
			assert.True(t, p.Labels.set == nil || p.Labels.set.object == nil, "nothing of the object is kept")
			assert.Equal(t, len(object), p.Labels.Len())
			for _, name := range []string{"a", "ab", "b", "c", ""} {
				value, has := p.Labels.Lookup(name)
				wantValue, wantHas := object[name]
				assert.Equal(t, wantValue, value)
				assert.Equal(t, wantHas, has)
				assert.Equal(t, wantHas, p.Labels.Has(name))
				assert.Equal(t, wantValue, p.Labels.Get(name))
			}
			selector := labels.SelectorFromSet(object)
			assert.True(t, selector.Matches(&p.Labels))
		}
	}
}

func TestLabelsAreEqualHoweverTheyAreKept(t *testing.T) {
	shared, others := &Interner{}, &Interner{}
	keep := func(s *Interner, object map[string]string) Labels {
		p := &Pod{common: &common{}, Labels: LabelsOf(object)}
		s.Intern(p, NoPod())
		return p.Labels
	}
	for i, a := range someLabels {
		for j, b := range someLabels {
			for _, first := range []Labels{LabelsOf(a), keep(shared, a)} {
				for _, second := range []Labels{LabelsOf(maps.Clone(b)), keep(shared, b), keep(others, b)} {
					assert.Equal(t, i == j, first.Equal(&second), "%v and %v", a, b)
				}
			}
		}
	}
}

func TestPodsShareTheirLabels(t *testing.T) {
	shared := &Interner{}
	pod := func(name string, object map[string]string) *Pod {
		p := &Pod{common: &common{}, Name: name, Labels: LabelsOf(object)}
		shared.Intern(p, NoPod())
		return p
	}
	first, second := pod("db-0", map[string]string{"app": "db", "pod": "db-0"}), pod("db-1", map[string]string{"app": "db", "pod": "db-1"})
	assert.Same(t, first.Labels.set, pod("db-0", map[string]string{"app": "db", "pod": "db-0"}).Labels.set)
	assert.Same(t, first.Labels.set.names, second.Labels.set.names)

	name := strings.Clone("db-2")
	third := pod(name, map[string]string{"app": "db", "pod": strings.Clone(name)})
	assert.Same(t, unsafe.StringData(name), unsafe.StringData(third.Labels.Get("pod")), "a label with the name of the pod costs no string")

	again := &Pod{common: &common{}, Labels: LabelsOf(map[string]string{"app": "db", "pod": "db-2"})}
	shared = &Interner{} // it remembers nothing
	shared.Intern(again, third)
	assert.Same(t, third.Labels.set, again.Labels.set, "a new version of a pod keeps the labels of the old one")
}

func TestVeryManyLabels(t *testing.T) {
	object := map[string]string{}
	for n := range 10_000 {
		object[fmt.Sprint("name-", n)] = fmt.Sprint(n)
	}
	shared := &Interner{}
	p := &Pod{common: &common{}, Labels: LabelsOf(object)}
	shared.Intern(p, NoPod())
	assert.Zero(t, shared.labels.Len(), "they do not outlast the pod")
	assert.Zero(t, shared.names.Len())
	for name, value := range object {
		assert.Equal(t, value, p.Labels.Get(name))
	}
	assert.False(t, p.Labels.Has("name"))
	same := LabelsOf(object)
	assert.True(t, p.Labels.Equal(&same))
}

func TestWhatSharedRemembersIsBounded(t *testing.T) {
	shared := &Interner{}
	for n := range 10 * maxShared {
		shared.Intern(&Pod{common: &common{}, Labels: LabelsOf(map[string]string{fmt.Sprint(n): ""})}, NoPod())
	}
	assert.LessOrEqual(t, shared.labels.Len(), 2*maxShared)
	assert.LessOrEqual(t, shared.names.Len(), 2*maxShared)
}
