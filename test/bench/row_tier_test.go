package bench

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

func tierRow() row {
	const ours, poll, script = "our plugin", "a controller that looks every 5 s", "a script that applies, waits and applies"
	return row{
		number: 10, name: "tier", turns: fewTurns,
		question: "How long does one tier take to follow the other on an idle cluster, from the last Ready written to the first binding?",
		variants: []variant{
			{ours, startTiersOfOurs}, {poll, startTiersOfPoller}, {script, startTiersOfScript},
		},
		claims: []claim{
			{text: "our plugin, median in milliseconds", of: ours, figure: medianTime, atMost: new(20.0)},
			{text: "our plugin / a controller that looks every 5 s", of: ours, to: poll, figure: medianTime},
			{text: "our plugin / a script that applies, waits and applies", of: ours, to: script, figure: medianTime},
		},
		notes: []string{"The script runs kubectl, which is part of the sandbox's executable here. It is what Argo CD does with two sync waves, " +
			"but for the pause of 2 s that Argo CD makes between them."},
	}
}

// perTurn is how often a tier follows the other in a turn.
func perTurn() int { return inFull(10, 2) }

// tiers measures several times how long the pod "next" takes to follow the pod "first"; both names get a number.
func (s *site) tiers(turn int, once func(number int) float64) measurement {
	s.b.Helper()
	var took []float64
	for i := range perTurn() {
		took = append(took, once(turn*perTurn()+i))
	}
	return measurement{figures: map[string]float64{medianTime: percentile(took, 50), "longest ms": percentile(took, 100)}}
}

func startTiersOfOurs(b *testing.B) func(int) measurement {
	s := newSite(b, releaseNodes, controlplane.Options{}, ourScheduler, ourProgram)
	b.Cleanup(s.close)
	seen := s.watchBindings()
	return func(turn int) measurement {
		return s.tiers(turn, func(number int) float64 {
			first, next := numbered("first", number), numbered("next", number)
			s.create(&v1alpha1.PodSequence{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: numbered("shop", number)},
				Spec:       v1alpha1.PodSequenceSpec{PodGroups: []v1alpha1.PodGroup{{Pods: []string{first}}, {Pods: []string{next}}}},
			}, pod(first, ourScheduler).Obj(), pod(next, ourScheduler).Obj())
			s.awaitBound(first)
			s.await(next+" to say what it waits for", func() bool {
				pod, err := s.core.CoreV1().Pods(namespace).Get(s.ctx, next, metav1.GetOptions{})
				require.NoError(b, err)
				return cluster.IsHeld(pod)
			})
			ready := s.setReady(first)
			return milliseconds(ready, s.awaitAll(seen, []string{next})[0])
		})
	}
}

func startTiersOfPoller(b *testing.B) func(int) measurement {
	s := newSite(b, releaseNodes, controlplane.Options{}, controlplane.Scheduler)
	b.Cleanup(s.close)
	seen, core := s.watchBindings(), s.clientOf(pollingAgent)
	return func(turn int) measurement {
		return s.tiers(turn, func(number int) float64 {
			first, next := numbered("first", number), numbered("next", number)
			s.create(pod(first, controlplane.AnotherScheduler).Label(tierLabel, first).Obj(),
				pod(next, controlplane.AnotherScheduler).Label(tierLabel, next).SchedulingGates([]string{nativeGate}).Obj())
			s.awaitBound(first)
			ready := s.setReady(first)
			p := &poller{core: core, first: tierLabel + "=" + first, many: tierLabel + "=" + next}
			require.NoError(b, p.run(s.ctx, phase(number, perTurn())))
			return milliseconds(ready, s.awaitAll(seen, []string{next})[0])
		})
	}
}

func startTiersOfScript(b *testing.B) func(int) measurement {
	s := newSite(b, releaseNodes, controlplane.Options{AuditLog: true}, controlplane.Scheduler)
	b.Cleanup(s.close)
	seen := s.watchBindings()
	return func(turn int) measurement {
		return s.tiers(turn, func(number int) float64 {
			first, next := numbered("first", number), numbered("next", number)
			done := make(chan string, 1)
			go func() {
				output, err := s.Shell(b, waves(manifestOf(first), manifestOf(next)))
				if err != nil {
					done <- fmt.Sprintf("%v: %s", err, output)
				}
				close(done)
			}()
			s.await(first+" to be bound", func() bool {
				_, bound := seen.of(first)
				return bound
			})
			s.awaitWaiting(first)
			ready := s.setReady(first)
			bound := s.awaitAll(seen, []string{next})[0]
			require.Empty(b, <-done, "the script failed")
			return milliseconds(ready, bound)
		})
	}
}

// awaitWaiting returns when somebody watches this pod, as kubectl does that waits for it.
func (s *site) awaitWaiting(name string) {
	s.b.Helper()
	s.await("kubectl to wait for "+name, func() bool {
		watching := false
		selector := "fieldSelector=metadata.name%3D" + name
		require.NoError(s.b, s.ReadAudit(selector, func(r *cluster.Request) {
			watching = watching || r.Verb == "watch" && strings.Contains(r.RequestURI+"&", selector+"&")
		}))
		return watching
	})
}

func manifestOf(name string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {namespace: %s, name: %s}
spec:
  schedulerName: %s
  terminationGracePeriodSeconds: 0
  containers:
  - {name: app, image: example.com/app}`, namespace, name, controlplane.AnotherScheduler)
}
