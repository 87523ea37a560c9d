package world

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/test/prove/plan"
)

func TestASeedGivesOnePlanThatCanBeReplayed(t *testing.T) {
	for seed := range uint64(200) {
		invented := Invent(seed, Options{})
		again := Invent(seed, Options{})
		require.Equal(t, invented.String(), again.String(), "seed %d", seed)
		read, err := plan.Parse(invented.String())
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, invented.String(), read.String(), "seed %d", seed)
	}
}

func TestSeedsBetweenThemHaveEverything(t *testing.T) {
	verbs, kinds, said := map[plan.Verb]int{}, map[string]int{}, map[string]int{}
	for seed := range uint64(200) {
		for _, step := range Invent(seed, Options{}).Steps {
			verbs[step.Verb]++
			for _, words := range regexp.MustCompile(`"podsequence.example.com/(require-)?sequence":[^,}]*`).FindAllString(step.Body, -1) {
				said[words]++
			}
			if step.Verb == plan.Create {
				kinds[step.Args[0]]++
			}
		}
	}
	for _, verb := range []plan.Verb{
		plan.Create, plan.Patch, plan.PatchStatus, plan.Delete, plan.PatchPods, plan.DeletePods,
		plan.Kill, plan.Start, plan.Stop, plan.Continue, plan.CrashBefore, plan.CrashAfter, plan.Delay, plan.Cut, plan.Refuse,
		plan.Travel, plan.RemoveDefinition, plan.RestoreDefinition,
	} {
		assert.NotZero(t, verbs[verb], verb)
	}
	for _, asks := range []string{
		`"podsequence.example.com/sequence":"s0"`, `"podsequence.example.com/sequence":"late"`, `"podsequence.example.com/sequence":"never"`,
		`"podsequence.example.com/require-sequence":"true"`, `"podsequence.example.com/require-sequence":null`,
	} {
		assert.NotZero(t, said[asks], asks)
	}
	for _, kind := range []string{
		"Namespace", "Node", "Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController",
		"PodSequence", "ClusterPodSequence",
	} {
		assert.NotZero(t, kinds[kind], kind)
	}
}

func TestWithoutFaultsTheWorldIsTheSame(t *testing.T) {
	for seed := range uint64(50) {
		invented := Invent(seed, Options{})
		if slices.ContainsFunc(invented.Steps, func(s plan.Step) bool { return s.Verb == plan.RemoveDefinition }) {
			continue // what vanished with it is made again
		}
		var objects []string
		for _, step := range invented.Steps {
			if !step.Fault() {
				objects = append(objects, step.String())
			}
		}
		var calm []string
		for _, step := range Invent(seed, Options{WithoutFaults: true}).Steps {
			require.False(t, step.Fault())
			calm = append(calm, step.String())
		}
		require.Equal(t, objects, calm, "seed %d", seed)
	}
}
