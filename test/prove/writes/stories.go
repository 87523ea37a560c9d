package writes

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/prove/site"
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

// scene is where a story is played.
type scene struct {
	ctx       context.Context
	api       client.Client
	namespace string
}

const (
	// lookEvery is how often the state is looked at.
	lookEvery = 300 * time.Millisecond
	// phaseTimeout is how long a phase may take.
	phaseTimeout = 5 * time.Minute
	// settled is how long a state must not change to be the end of a story.
	settled = 4 * time.Second
	// endTimeout is how long it may take after the last phase until the state is as it must be.
	endTimeout = time.Minute
)

// playOn plays all phases of a story. What must be down meanwhile is up again afterwards.
func (s *scene) playOn(on *site.Site, story string) error {
	instance := down[story]
	if instance == "" {
		return s.play(story)
	}
	if err := on.KillProcess(s.ctx, instance); err != nil {
		return err
	}
	return errors.Join(s.play(story), on.StartProcess(s.ctx, instance))
}

// play plays all phases of a story.
func (s *scene) play(story string) error {
	for i, p := range stories[story] {
		if err := s.persist(p.do); err != nil {
			return fmt.Errorf("play phase %d: %w", i, err)
		}
		var state []string
		err := s.look(phaseTimeout, func(now []string) bool {
			state = now
			return p.over(now)
		})
		if err != nil {
			return fmt.Errorf("wait for the end of phase %d: %w; it is %q", i, err, state)
		}
	}
	return nil
}

func (p *phase) over(state []string) bool {
	for pattern, want := range p.until {
		matches := regexp.MustCompile(pattern).MatchString
		if len(state)-len(slices.DeleteFunc(slices.Clone(state), matches)) != want {
			return false
		}
	}
	return true
}

// look looks at the state until it is as it must be.
func (s *scene) look(patience time.Duration, done func([]string) bool) error {
	return wait.PollUntilContextTimeout(s.ctx, lookEvery, patience, true, func(context.Context) (bool, error) {
		state, err := s.state()
		return err == nil && done(state), nil
	})
}

// end returns the state when it has not changed for a while, or is the one that is wanted.
func (s *scene) end(want []string) (state []string) {
	var since time.Time
	_ = s.look(endTimeout, func(now []string) bool { // what it is then is the end
		if !slices.Equal(now, state) {
			state, since = now, time.Now()
		}
		return slices.Equal(now, want) || want == nil && time.Since(since) > settled
	})
	return state
}

// persist does something until it works.
func (s *scene) persist(do func(*scene) error) error {
	var last error
	err := wait.PollUntilContextTimeout(s.ctx, lookEvery, phaseTimeout, true, func(context.Context) (bool, error) {
		last = do(s)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}
