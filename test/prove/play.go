package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/ordercheck"
	"example.com/podsequence/test/prove/judge"
	"example.com/podsequence/test/prove/plan"
	"example.com/podsequence/test/prove/player"
	"example.com/podsequence/test/prove/results"
	"example.com/podsequence/test/prove/world"
)

const (
	// cleanTimeout is how long the objects of a world may take to vanish.
	cleanTimeout = 2 * time.Minute
	// verdictTimeout is how long the referee may take to catch up.
	verdictTimeout = 2 * time.Minute
)

// playWorld plays a plan, has the world judged, removes it, and asks our programs what they still know of it.
func (p *prover) playWorld(ctx context.Context, what *plan.Plan, trace io.Writer) (results.Result, error) {
	result, err := p.playAndJudge(ctx, what, trace)
	if err := errors.Join(err, p.clean(context.WithoutCancel(ctx), world.Prefix(what.Seed))); err != nil {
		return result, err
	}
	if left := p.remembered(ctx); left > 0 {
		result.Violations = append(result.Violations, fmt.Sprintf("for %s after all pods were gone the schedulers held %d", p.patience, left))
	}
	return result, nil
}

// remembered is how many pods our schedulers still hold when the world is gone, and they had time to hear of that.
func (p *prover) remembered(ctx context.Context) (left int) {
	_ = wait.PollUntilContextTimeout(ctx, time.Second, p.patience, true, func(ctx context.Context) (bool, error) { // then some are left
		left = p.site.Held(ctx)
		return left == 0, nil
	})
	return left
}

// playAndJudge plays a plan and has the world judged.
func (p *prover) playAndJudge(ctx context.Context, what *plan.Plan, trace io.Writer) (result results.Result, err error) {
	began := time.Now()
	result = results.Result{Seed: what.Seed, Commit: p.commit, Began: began, Steps: len(what.Steps), Faults: countFaults(what)}
	etcd, err := p.site.EtcdConfig()
	if err != nil {
		return result, err
	}
	referee, err := ordercheck.Start(ctx, etcd, ordercheck.Options{FenceTimeout: verdictTimeout})
	if err != nil {
		return result, err
	}
	defer referee.Stop()
	player := &player.Player{Site: p.site, Referee: referee, Trace: trace}
	if err := player.Play(ctx, what); err != nil {
		return result, err
	}
	judge := &judge.Judge{API: p.site.API, Label: world.SeedLabel, Value: world.Prefix(what.Seed), Patience: p.patience}
	end, err := judge.Settle(ctx)
	if err != nil {
		return result, err
	}
	result.Asked, result.Recovery, result.Restless = end.Asked, end.Recovery, end.Restless
	for _, violation := range end.Violations {
		result.Violations = append(result.Violations, fmt.Sprintf("for %s after the last fault: %s", p.patience, violation))
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
	for _, incomplete := range verdict.Incomplete {
		result.Violations = append(result.Violations, "the referee cannot judge all: "+incomplete)
	}
	if rescued := p.site.Rescued(ctx); rescued > 0 {
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

// countFaults counts what a plan has of each fault. What ends one does not count.
func countFaults(what *plan.Plan) map[string]int {
	counts := map[string]int{}
	for _, step := range what.Steps {
		switch {
		case !step.Fault(), step.Verb == plan.Start, step.Verb == plan.Continue:
		case step.Verb == plan.Delay && step.Args[1] == "0s", step.Verb == plan.Refuse && step.Args[0] == "0":
		case step.Verb == plan.Kill || step.Verb == plan.Stop || step.Verb == plan.Refuse:
			counts[string(step.Verb)+" "+step.Args[0]]++
		case step.Verb == plan.CrashBefore || step.Verb == plan.CrashAfter:
			counts[string(step.Verb)+" "+step.Args[0]+" "+step.Args[1]]++
		default:
			counts[string(step.Verb)+" watches of "+step.Args[0]]++
		}
	}
	return counts
}

// clean removes all objects of a world, and returns when its pods and nodes are gone.
func (p *prover) clean(ctx context.Context, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, cleanTimeout)
	defer cancel()
	api := p.site.API
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
			left += p.cleanNamespace(ctx, &namespaces.Items[i])
		}
		if left > 0 {
			return false, nil // nodes come last: their kubelets end pods
		}
		for i := range nodes.Items {
			_ = api.Delete(ctx, &nodes.Items[i])
		}
		return len(nodes.Items)+len(sequences.Items)+len(namespaces.Items) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("remove the world: %w", err)
	}
	return nil
}

// cleanNamespace returns the number of pods that are left.
func (p *prover) cleanNamespace(ctx context.Context, namespace *corev1.Namespace) int {
	api := p.site.API
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
