package writes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/test/prove/site"
)

// Runner plays stories. It may be used on several sites at once.
type Runner struct {
	played atomic.Int32 // stories so far, for names

	mu   sync.Mutex
	ends map[string][]string // of stories without kills
}

// Outcome is what came of kills around one kind of write.
type Outcome struct {
	// Kills is how many there were, in so many Rounds of the story.
	Kills, Rounds int
	// Violations say how the end differs from that without kills, and what was bound too early.
	Violations []string
}

// Prepare removes from a site what would make writes in place of our programs: the policy that pauses Deployments as they change.
func Prepare(ctx context.Context, on *site.Site) error {
	binding := &unstructured.Unstructured{}
	binding.SetAPIVersion("admissionregistration.k8s.io/v1")
	binding.SetKind("MutatingAdmissionPolicyBinding")
	binding.SetName("deploymentcoordination.podsequence.example.com")
	if err := on.API.Delete(ctx, binding); err != nil {
		return fmt.Errorf("remove the policy that pauses Deployments: %w", err)
	}
	return nil
}

// Run kills an instance around this many writes of a kind.
func (r *Runner) Run(ctx context.Context, on *site.Site, kind Kind, after bool, kills int) (outcome Outcome, err error) {
	want, err := r.endOf(ctx, on, kind.story)
	if err != nil {
		return outcome, err
	}
	etcd, err := on.EtcdConfig()
	if err != nil {
		return outcome, err
	}
	referee, err := ordercheck.Start(ctx, etcd, ordercheck.Options{})
	if err != nil {
		return outcome, err
	}
	defer referee.Stop()
	for outcome.Kills < kills && len(outcome.Violations) == 0 {
		s, err := r.enter(ctx, on)
		if err != nil {
			return outcome, err
		}
		on.KillAtWrite(site.Ambush{Write: kind.Write, After: after, In: s.namespace, Times: kills - outcome.Kills})
		problem := s.playOn(on, kind.story)
		killed := on.EndAmbush()
		outcome.Kills, outcome.Rounds = outcome.Kills+killed, outcome.Rounds+1
		if problem != nil {
			outcome.Violations = append(outcome.Violations, problem.Error())
		} else {
			outcome.Violations = append(outcome.Violations, differences(want, s.end(want))...)
		}
		if killed == 0 {
			outcome.Violations = append(outcome.Violations, "no such write was made")
		}
		verdict := referee.VerdictFor(ctx, s.namespace)
		for _, violation := range verdict.Violations {
			outcome.Violations = append(outcome.Violations, violation.String())
		}
		for _, record := range verdict.FalseRecords {
			outcome.Violations = append(outcome.Violations, record.String())
		}
		if err := s.leave(); err != nil {
			return outcome, err
		}
	}
	return outcome, nil
}

// endOf is the state at the end of a story without kills.
func (r *Runner) endOf(ctx context.Context, on *site.Site, story string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if end := r.ends[story]; end != nil {
		return end, nil
	}
	s, err := r.enter(ctx, on)
	if err != nil {
		return nil, err
	}
	if err := s.playOn(on, story); err != nil {
		return nil, fmt.Errorf("play %s without kills: %w", story, err)
	}
	if r.ends == nil {
		r.ends = map[string][]string{}
	}
	r.ends[story] = append([]string{}, s.end(nil)...)
	return r.ends[story], s.leave()
}

// enter makes a namespace for a story.
func (r *Runner) enter(ctx context.Context, on *site.Site) (*scene, error) {
	s := &scene{ctx: ctx, api: on.API, namespace: fmt.Sprintf("story-%04d", r.played.Add(1))}
	return s, s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}})
}

// differences are the lines that only one of two states has.
func differences(want, got []string) (lines []string) {
	for _, l := range want {
		if !slices.Contains(got, l) {
			lines = append(lines, "missing at the end: "+l)
		}
	}
	for _, l := range got {
		if !slices.Contains(want, l) {
			lines = append(lines, "not there without kills: "+l)
		}
	}
	if len(lines) == 0 && len(want) != len(got) {
		lines = append(lines, fmt.Sprintf("there are %d objects, and %d without kills", len(got), len(want)))
	}
	return lines
}
