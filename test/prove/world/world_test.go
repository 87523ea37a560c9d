package world

import (
	"regexp"
	"slices"
	"strings"
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
	verbs, kinds, said, reports := map[plan.Verb]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for seed := range uint64(200) {
		for _, step := range Invent(seed, Options{}).Steps {
			verbs[step.Verb]++
			for _, words := range regexp.MustCompile(`"podsequence.example.com/(require-)?sequence":[^,}]*`).FindAllString(step.Body, -1) {
				said[words]++
			}
			for _, annotation := range regexp.MustCompile(`sandbox\.podsequence\.example\.com/[a-z-]+`).FindAllString(step.Body, -1) {
				reports[annotation]++
			}
			if step.Verb == plan.Create {
				kinds[step.Args[0]]++
			}
		}
	}
	for _, verb := range []plan.Verb{
		plan.Create, plan.Patch, plan.PatchStatus, plan.Delete, plan.PatchPods, plan.DeletePods,
		plan.Kill, plan.Start, plan.Stop, plan.Continue, plan.CrashBefore, plan.CrashAfter, plan.Delay, plan.Cut, plan.Refuse,
		plan.ClockAhead, plan.ClockRight, plan.Travel, plan.Reboot, plan.RemoveDefinition, plan.RestoreDefinition,
	} {
		assert.NotZero(t, verbs[verb], verb)
	}
	for _, asks := range []string{
		`"podsequence.example.com/sequence":"s0"`, `"podsequence.example.com/sequence":"late"`, `"podsequence.example.com/sequence":"never"`,
		`"podsequence.example.com/require-sequence":"true"`, `"podsequence.example.com/require-sequence":null`,
	} {
		assert.NotZero(t, said[asks], asks)
	}
	for _, report := range []string{crashAfter, crashTimes, restartAfter, goneAfter, rejected, clock} {
		assert.NotZero(t, reports[report], report)
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

func TestRealNodesAreUsedAndNeverMadeOrRemoved(t *testing.T) {
	const name = "real-0"
	reboots := 0
	for seed := range uint64(100) {
		invented := Invent(seed, Options{RealNodes: []string{name}})
		selected := false
		for _, step := range invented.Steps {
			about := strings.Join(step.Args, " ")
			switch {
			case step.Verb == plan.Reboot && about == name:
				reboots++
			case about == "Node "+name:
				require.Equal(t, plan.Patch, step.Verb, "%s of seed %d", step, seed)
				selected = selected || strings.Contains(step.Body, SeedLabel)
			case step.Verb == plan.Create && strings.Contains(step.Body, `"containers"`):
				require.Contains(t, step.Body, workloadImage, "seed %d", seed)
			}
		}
		assert.True(t, selected, "pods of seed %d go to the real node", seed)
	}
	assert.GreaterOrEqual(t, reboots, 100)
}
