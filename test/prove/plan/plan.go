// Package plan describes what happens in one world, as a list of steps that people can read and that can be played again: a line
// for each step, with the time since the beginning, a verb, and what the verb needs.
//
//	at 0s create Namespace p7-a {"apiVersion":"v1",...}
//	at 2.5s patch Deployment p7-a/web {"spec":{"replicas":3}}
//	at 3s kill podsequence-scheduler-1
package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Verb says what a step does.
type Verb string

// The verbs of objects. Names are namespace/name, or the name alone for kinds without namespace.
const (
	Create      Verb = "create"       // KIND NAME OBJECT
	Patch       Verb = "patch"        // KIND NAME MERGE-PATCH
	PatchStatus Verb = "patch-status" // KIND NAME MERGE-PATCH
	Delete      Verb = "delete"       // KIND NAME, in the background
	DeleteAs    Verb = "delete-as"    // POLICY KIND NAME; the policy is Foreground, Background or Orphan
	PatchPods   Verb = "patch-pods"   // NAMESPACE LABELS MERGE-PATCH, for all pods there are with these labels
	DeletePods  Verb = "delete-pods"  // NAMESPACE LABELS
)

// The verbs of faults. What they begin ends with the last step at the latest.
const (
	Kill     Verb = "kill"     // PROCESS, by SIGKILL; it stays down
	Start    Verb = "start"    // PROCESS that was killed
	Stop     Verb = "stop"     // PROCESS, by SIGSTOP
	Continue Verb = "continue" // PROCESS, by SIGCONT
	Delay    Verb = "delay"    // RESOURCE DURATION: its watches by our programs are so late from now on; 0s ends that
	Cut      Verb = "cut"      // RESOURCE: its watches by our programs break
	// The instance of our programs that is the next to make such a write is killed, and started again at once.
	CrashBefore Verb = "crash-before" // METHOD RESOURCE; the API server does not get the write
	CrashAfter  Verb = "crash-after"  // METHOD RESOURCE; the API server has done it
	Refuse      Verb = "refuse"       // CODE: our programs' requests but those for leases get this HTTP status; 0 ends that
	// The watches of an instance of our programs break, and a second API server serves it from now on, whose own watches are so late: it
	// shows what was. 0s ends that.
	Travel Verb = "travel" // PROCESS DURATION
	// An instance of our programs starts again, and its own clock is ten minutes ahead.
	ClockAhead Verb = "clock-ahead" // PROCESS
	ClockRight Verb = "clock-right" // PROCESS: it starts again, and its clock is right
	// The power of a node fails, and the node boots: all containers start again, and until the kubelet reports that, the API has them as
	// they were before.
	Reboot Verb = "reboot" // NODE
	// The definition of a kind of ours is deleted, and all objects of that kind with it, and made again.
	RemoveDefinition  Verb = "remove-definition"  // RESOURCE
	RestoreDefinition Verb = "restore-definition" // RESOURCE
)

// shape is what follows a verb.
type shape struct {
	args  int
	body  bool
	fault bool
}

var shapes = map[Verb]shape{
	Create: {args: 2, body: true}, Patch: {args: 2, body: true}, PatchStatus: {args: 2, body: true}, Delete: {args: 2}, DeleteAs: {args: 3},
	PatchPods: {args: 2, body: true}, DeletePods: {args: 2},
	Kill: {args: 1, fault: true}, Start: {args: 1, fault: true}, Stop: {args: 1, fault: true}, Continue: {args: 1, fault: true},
	CrashBefore: {args: 2, fault: true}, CrashAfter: {args: 2, fault: true},
	Delay: {args: 2, fault: true}, Cut: {args: 1, fault: true}, Refuse: {args: 1, fault: true},
	ClockAhead: {args: 1, fault: true}, ClockRight: {args: 1, fault: true},
	Travel: {args: 2, fault: true}, Reboot: {args: 1, fault: true}, RemoveDefinition: {args: 1, fault: true}, RestoreDefinition: {args: 1, fault: true},
}

// Step is one thing that happens.
type Step struct {
	At   time.Duration // since the beginning
	Verb Verb
	Args []string
	Body string // JSON in one line
}

// Fault reports whether the step is about programs and not about objects.
func (s Step) Fault() bool { return shapes[s.Verb].fault }

// Ends reports whether the step only ends what another began.
func (s Step) Ends() bool {
	switch s.Verb {
	case Start, Continue, ClockRight, RestoreDefinition:
		return true
	case Delay, Travel:
		return s.Args[1] == "0s"
	case Refuse:
		return s.Args[0] == "0"
	}
	return false
}

// String returns the line of the step.
func (s Step) String() string {
	words := append([]string{"at", s.At.String(), string(s.Verb)}, s.Args...)
	if s.Body != "" {
		words = append(words, s.Body)
	}
	return strings.Join(words, " ")
}

// Plan is all that happens in one world.
type Plan struct {
	Seed  uint64
	Steps []Step
}

// Sort puts the steps in order of time. Steps of the same time stay as they are.
func (p *Plan) Sort() {
	slices.SortStableFunc(p.Steps, func(a, b Step) int { return int(a.At - b.At) })
}

// With returns the same plan with other steps.
func (p *Plan) With(steps []Step) *Plan { return &Plan{Seed: p.Seed, Steps: steps} }

// String returns the plan as text that Parse reads.
func (p *Plan) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "seed %d\n", p.Seed)
	for _, s := range p.Steps {
		out.WriteString(s.String() + "\n")
	}
	return out.String()
}

// Parse reads a plan. Empty lines and those that begin with # say nothing.
func Parse(text string) (*Plan, error) {
	p := &Plan{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := p.read(line); err != nil {
			return nil, fmt.Errorf("read line %d of the plan: %w", number, err)
		}
	}
	return p, nil
}

func (p *Plan) read(line string) error {
	if seed, found := strings.CutPrefix(line, "seed "); found {
		if _, err := fmt.Sscan(seed, &p.Seed); err != nil {
			return fmt.Errorf("seed: %w", err)
		}
		return nil
	}
	words := strings.SplitN(line, " ", 4)
	if len(words) < 4 || words[0] != "at" {
		return fmt.Errorf("want \"at DURATION VERB ...\", got %q", line)
	}
	at, err := time.ParseDuration(words[1])
	if err != nil {
		return err
	}
	s := Step{At: at, Verb: Verb(words[2])}
	shape, known := shapes[s.Verb]
	if !known {
		return fmt.Errorf("unknown verb %q", s.Verb)
	}
	count := shape.args
	if shape.body {
		count++
	}
	args := strings.SplitN(words[3], " ", count)
	if len(args) != count {
		return fmt.Errorf("%s takes %d arguments, got %q", s.Verb, count, words[3])
	}
	s.Args = args[:shape.args]
	if shape.body {
		s.Body = args[shape.args]
	}
	p.Steps = append(p.Steps, s)
	return nil
}
