package writes

import (
	"regexp"
	"slices"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// The stories. Each makes its writes at least as often as instances are to be killed around them.
const (
	order       = "order"        // a PodSequence of pods of our scheduler, all of them with gates
	others      = "others"       // the same with another scheduler
	across      = "across"       // a ClusterPodSequence
	alone       = "alone"        // a PodSequence of pods of another scheduler, while our scheduler is down
	acrossAlone = "across alone" // the same with a ClusterPodSequence
	steps       = "steps"        // SequentialJobs
	suspension  = "suspension"   // SequentialJobs that are suspended, and go on
	again       = "again"        // SequentialJobs that fail and run again
	lifetime    = "lifetime"     // SequentialJobs that are deleted when they are over
	podGroups   = "pod groups"
	rollout     = "rollout"    // Deployments roll out one at a time
	finalizers  = "finalizers" // DeploymentCoordinations come and go
)

// many is how many of each there are.
const many = 20

// phase is a part of a story.
type phase struct {
	do func(*scene) error
	// until are patterns, and how many lines of the state match each when the phase is over.
	until map[string]int
}

var stories = map[string][]phase{
	order:  {{do: createSequence("podsequence-scheduler"), until: map[string]int{`^Pod p.*ready`: many, `^PodSequence .*"phase":"Completed"`: 1}}},
	others: {{do: createSequence("another-scheduler"), until: map[string]int{`^Pod p.*ready`: many, `^PodSequence .*"phase":"Completed"`: 1}}},
	across: {{do: createClusterSequence("podsequence-scheduler"), until: map[string]int{`^Pod p.*ready`: many, `^ClusterPodSequence .*"phase":"Completed"`: 1}}},
	alone:  {{do: createSequence("another-scheduler"), until: map[string]int{`^Pod p.*ready`: many, `^PodSequence .*"phase":"Completed"`: 1}}},
	acrossAlone: {
		{do: createClusterSequence("another-scheduler"), until: map[string]int{`^Pod p.*ready`: many, `^ClusterPodSequence .*"phase":"Completed"`: 1}},
	},
	steps: {{do: createSequentialJobs(5, 4, nil, ""), until: map[string]int{`^SequentialJob .*"phase":"Succeeded"`: 5}}},
	suspension: {
		{do: createSequentialJobs(many, 1, nil, "never"), until: map[string]int{`^Job .*active`: many, `^SequentialJob .*"phase":"Running"`: many}},
		{do: suspend(true), until: map[string]int{`^Job .*suspended`: many, `^SequentialJob .*"phase":"Suspended"`: many, `^Pod`: 0}},
		{do: suspend(false), until: map[string]int{`^Job .*active`: many, `^SequentialJob .*"phase":"Running"`: many}},
	},
	again: {
		{do: createSequentialJobs(many, 1, nil, "fail"), until: map[string]int{`^SequentialJob .*"phase":"Failed"`: many}},
		{do: retry, until: map[string]int{`^SequentialJob .*"phase":"Failed".*"retry":"again"`: many}},
	},
	lifetime:  {{do: createSequentialJobs(many, 1, new(int32(0)), ""), until: map[string]int{`^SequentialJob`: 0, `^Job`: 0, `^Pod`: 0}}},
	podGroups: {{do: createPodGroups, until: map[string]int{`^Pod p.*ready.*inGroup`: many}}},
	rollout: {
		{do: createDeployments, until: map[string]int{`^Deployment .*complete`: deployments, `^DeploymentCoordination .*` + coordinationReady: 1}},
		{do: changeTemplates, until: map[string]int{`^Deployment .*complete image=example.com/app:2`: deployments, `^DeploymentCoordination .*` + coordinationReady: 1}},
	},
	finalizers: {
		{do: createCoordinations, until: map[string]int{`^DeploymentCoordination .*finalizer.*` + coordinationReady: many}},
		{do: deleteCoordinations, until: map[string]int{`^DeploymentCoordination`: 0}},
	},
}

// down are the instances that are down while a story is played: they would make the writes that the story is about.
var down = map[string]string{
	alone: controlplane.PodSequenceScheduler + "-1", acrossAlone: controlplane.PodSequenceScheduler + "-1",
}

const coordinationReady = `"reason":"[A-Za-z]+","status":"True","type":"Ready"`

func (p *phase) over(state []string) bool {
	for pattern, want := range p.until {
		matches := regexp.MustCompile(pattern).MatchString
		if len(state)-len(slices.DeleteFunc(slices.Clone(state), matches)) != want {
			return false
		}
	}
	return true
}
