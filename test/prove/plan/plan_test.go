package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPlanIsReadAsItWasWritten(t *testing.T) {
	p := &Plan{Seed: 7, Steps: []Step{
		{Verb: Create, Args: []string{"Namespace", "p7-a"}, Body: `{"metadata":{"name":"p7-a", "labels": {}}}`},
		{At: 1500 * time.Millisecond, Verb: PatchPods, Args: []string{"p7-a", "app=web"}, Body: `{"metadata": null}`},
		{At: 2 * time.Second, Verb: Delete, Args: []string{"Pod", "p7-a/db"}},
		{At: 3 * time.Second, Verb: Kill, Args: []string{"etcd"}},
		{At: 3 * time.Second, Verb: Delay, Args: []string{"pods", "800ms"}},
	}}
	read, err := Parse("# a comment\n\n" + p.String())
	require.NoError(t, err)
	assert.Equal(t, p, read)
	assert.False(t, read.Steps[2].Fault())
	assert.True(t, read.Steps[3].Fault())
}

func TestWhatIsNoPlan(t *testing.T) {
	for sentence, tc := range map[string]struct{ text, want string }{
		"a line that is no step":          {"seed 1\nhello", `read line 2 of the plan: want "at DURATION VERB ...", got "hello"`},
		"a verb that nobody knows":        {"at 1s paint Pod x", `read line 1 of the plan: unknown verb "paint"`},
		"too few arguments":               {"at 1s create Pod x", `read line 1 of the plan: create takes 3 arguments, got "Pod x"`},
		"a time that is none":             {"at soon kill etcd", `read line 1 of the plan: time: invalid duration "soon"`},
		"a seed that is not a number":     {"seed x", "read line 1 of the plan: seed: expected integer"},
		"a time without a step behind it": {"at 1s", `read line 1 of the plan: want "at DURATION VERB ...", got "at 1s"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := Parse(tc.text)
			assert.EqualError(t, err, tc.want)
		})
	}
}

func TestStepsAreSortedByTime(t *testing.T) {
	p := &Plan{Steps: []Step{
		{At: 2, Verb: Kill, Args: []string{"c"}}, {At: 1, Verb: Kill, Args: []string{"a"}}, {At: 1, Verb: Kill, Args: []string{"b"}},
	}}
	p.Sort()
	assert.Equal(t, "seed 0\nat 1ns kill a\nat 1ns kill b\nat 2ns kill c\n", p.String())
}
