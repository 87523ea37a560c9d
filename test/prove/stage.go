package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/test/prove/judge"
	"example.com/podsequence/test/prove/plan"
	"example.com/podsequence/test/prove/player"
	"example.com/podsequence/test/prove/results"
	"example.com/podsequence/test/prove/shrink"
	"example.com/podsequence/test/prove/site"
	"example.com/podsequence/test/prove/world"
)

const (
	// cleanTimeout is how long the objects of a world may take to vanish.
	cleanTimeout = 5 * time.Minute
	// verdictTimeout is how long the referee may take to catch up.
	verdictTimeout = 2 * time.Minute
)

// stage plays plans on one site.
type stage struct {
	*prover
	site *site.Site
}

// play plays one plan, and keeps the result, and what helps to understand a violation.
func (s *stage) play(ctx context.Context, what *plan.Plan) (results.Result, error) {
	trace := &bytes.Buffer{}
	result, err := s.playWorld(ctx, what, trace)
	if err != nil {
		return result, fmt.Errorf("play seed %d: %w\n%s", what.Seed, err, trace)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(result.Violations) > 0 {
		for _, violation := range result.Violations {
			fmt.Fprintf(s.out, "seed %d: %s\n", what.Seed, violation)
		}
		if err := s.keep(what, "plan", what.String()); err != nil {
			return result, err
		}
		if err := s.keep(what, "trace", trace.String()); err != nil {
			return result, err
		}
	}
	return result, s.store.Add(result)
}

// keep writes something about a plan to a file.
func (s *stage) keep(what *plan.Plan, kind, content string) error {
	path := filepath.Join(s.dir, fmt.Sprintf("seed-%d.%s", what.Seed, kind))
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		return fmt.Errorf("keep %s: %w", kind, err)
	}
	fmt.Fprintf(s.out, "seed %d: the %s is in %s\n", what.Seed, kind, path)
	return nil
}

// shorten looks for a shorter plan that fails as well, as long as it may.
func (s *stage) shorten(ctx context.Context, what *plan.Plan) {
	if s.shrink == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.shrink)
	defer cancel()
	short := shrink.Shrink(ctx, what, func(ctx context.Context, candidate *plan.Plan) bool {
		result, err := s.playWorld(ctx, candidate, io.Discard)
		failed := err == nil && len(result.Violations) > 0
		fmt.Fprintf(s.out, "seed %d with %d of %d steps: violated is %t\n", what.Seed, len(candidate.Steps), len(what.Steps), failed)
		return failed
	})
	if err := s.keep(short, "short-plan", short.String()); err != nil {
		fmt.Fprintln(s.out, "error:", err)
	}
}

// playWorld plays a plan, judges the world, removes it, and asks our programs what they still know of it.
func (s *stage) playWorld(ctx context.Context, what *plan.Plan, trace io.Writer) (results.Result, error) {
	result, err := s.playAndJudge(ctx, what, trace)
	if err := errors.Join(err, s.clean(context.WithoutCancel(ctx), world.Prefix(what.Seed))); err != nil {
		return result, err
	}
	for _, left := range s.remembered(ctx) {
		result.Violations = append(result.Violations, fmt.Sprintf("for %s after the world was gone: %s", s.patience, left))
	}
	return result, nil
}

// remembered is what our programs still know when the world is gone, and they had time to hear of that.
func (s *stage) remembered(ctx context.Context) (left []string) {
	_ = wait.PollUntilContextTimeout(ctx, time.Second, s.patience, true, func(ctx context.Context) (bool, error) { // then some are left
		left = s.site.Remembered(ctx)
		return len(left) == 0, nil
	})
	return left
}

// playAndJudge plays a plan and judges the world.
func (s *stage) playAndJudge(ctx context.Context, what *plan.Plan, trace io.Writer) (result results.Result, err error) {
	began := time.Now()
	result = results.Result{Seed: what.Seed, Commit: s.commit, Began: began, Steps: len(what.Steps), Faults: map[string]int{}}
	etcd, err := s.site.EtcdConfig()
	if err != nil {
		return result, err
	}
	referee, err := ordercheck.Start(ctx, etcd, ordercheck.Options{FenceTimeout: verdictTimeout, ExcusesUnseen: true})
	if err != nil {
		return result, err
	}
	defer referee.Stop()
	player := &player.Player{Site: s.site, Referee: referee, Trace: trace}
	if err := player.Play(ctx, what); err != nil {
		return result, err
	}
	result.Faults = countFaults(what.Steps, player.Sprung)
	judge := &judge.Judge{API: s.site.API, Label: world.SeedLabel, Value: world.Prefix(what.Seed), Patience: s.patience}
	end, err := judge.Settle(ctx)
	if err != nil {
		return result, err
	}
	result.Asked, result.Recovery, result.Restless = end.Asked, end.Recovery, end.Restless
	for _, violation := range end.Violations {
		result.Violations = append(result.Violations, fmt.Sprintf("for %s after the last fault: %s", s.patience, violation))
	}
	verdict := referee.Verdict(ctx)
	result.Bindings, result.Excused = verdict.Bindings, verdict.Excused
	for _, violation := range verdict.Violations {
		if violation.Raced {
			result.Raced++
		} else {
			result.Violations = append(result.Violations, violation.String())
			explain(trace, referee.History(ctx), violation)
		}
	}
	for _, record := range verdict.FalseRecords {
		result.Violations = append(result.Violations, record.String())
	}
	for _, incomplete := range verdict.Incomplete {
		result.Violations = append(result.Violations, "the referee cannot judge all: "+incomplete)
	}
	if rescued := s.site.Rescued(ctx); rescued > 0 {
		result.Violations = append(result.Violations, fmt.Sprintf("%d pods were scheduled only by the scheduler's flush of pods that it had forgotten", rescued))
	}
	result.Took = time.Since(began)
	return result, nil
}

// explain writes what became of the pods of the sequence that a pod was bound too early by.
func explain(trace io.Writer, history ordercheck.History, violation ordercheck.Violation) {
	namespace, name, namespaced := strings.Cut(violation.Sequence, "/")
	if !namespaced {
		namespace, name = "", violation.Sequence
	}
	timeline, err := ordercheck.NewTimeline(history, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		_, _ = fmt.Fprintf(trace, "no timeline of %s: %v\n", violation.Sequence, err) // as good as a trace can say it
		return
	}
	_, _ = fmt.Fprintf(trace, "\n%s\n%s\n", violation, timeline)
}

// countFaults counts what steps have of each fault. What ends one does not count, nor a crash that did not take place.
func countFaults(steps, crashes []plan.Step) map[string]int {
	counts := map[string]int{}
	for _, step := range crashes {
		counts[string(step.Verb)+" "+step.Args[0]+" "+step.Args[1]]++
	}
	for _, step := range steps {
		switch {
		case step.Verb == plan.CrashBefore || step.Verb == plan.CrashAfter:
		case !step.Fault(), step.Ends():
		case step.Verb == plan.Kill || step.Verb == plan.Stop || step.Verb == plan.Refuse || step.Verb == plan.RemoveDefinition || step.Verb == plan.Reboot:
			counts[string(step.Verb)+" "+step.Args[0]]++
		case step.Verb == plan.ClockAhead:
			counts["clock ten minutes ahead of "+step.Args[0]]++
		case step.Verb == plan.Travel:
			counts["second API server that lags, for "+step.Args[0]]++
		default:
			counts[string(step.Verb)+" watches of "+step.Args[0]]++
		}
	}
	return counts
}

// clean removes all objects of a world, and returns when its pods and nodes are gone.
func (s *stage) clean(ctx context.Context, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, cleanTimeout)
	defer cancel()
	api := s.site.API
	ofWorld := client.MatchingLabels{world.SeedLabel: prefix}
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		var sequences v1alpha1.ClusterPodSequenceList
		var namespaces corev1.NamespaceList
		var nodes corev1.NodeList
		if errors.Join(api.List(ctx, &sequences), api.List(ctx, &namespaces, ofWorld), api.List(ctx, &nodes, ofWorld)) != nil {
			return false, nil
		}
		for i := range sequences.Items {
			_ = api.Delete(ctx, &sequences.Items[i]) // the next turn tries again, here and below
		}
		left := 0
		for i := range namespaces.Items {
			left += s.cleanNamespace(ctx, &namespaces.Items[i])
		}
		if left > 0 {
			return false, nil // nodes come last: their kubelets end pods
		}
		for i := range nodes.Items {
			_ = s.removeNode(ctx, &nodes.Items[i])
		}
		return len(nodes.Items)+len(sequences.Items)+len(namespaces.Items) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("remove the world: %w", err)
	}
	return nil
}

// removeNode deletes a node, or takes from a real one what the world gave to it.
func (s *stage) removeNode(ctx context.Context, node *corev1.Node) error {
	if !slices.Contains(s.site.RealNodes(), node.Name) {
		return s.site.API.Delete(ctx, node)
	}
	return s.site.API.Patch(ctx, node, client.RawPatch(types.MergePatchType, world.NoRealNode()))
}

// cleanNamespace returns the number of pods that are left.
func (s *stage) cleanNamespace(ctx context.Context, namespace *corev1.Namespace) int {
	api := s.site.API
	_ = api.Delete(ctx, namespace)
	var pods corev1.PodList
	if err := api.List(ctx, &pods, client.InNamespace(namespace.Name)); err != nil {
		return 1
	}
	for i := range pods.Items {
		_ = api.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground))
	}
	return len(pods.Items)
}
