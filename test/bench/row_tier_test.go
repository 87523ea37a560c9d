package bench

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

var earlierBuild = flag.String("earlier-build", "", "directory with bin/ and manifests/ of an earlier build of ours, which row 10 measures as well")

func tierRow() row {
	const ours, labels = "our plugin", "our plugin, groups by label"
	const poll, script = "a controller that looks every 5 s", "a script that applies, waits and applies"
	tiers := row{
		number: 10, name: "tier", turns: fewTurns,
		question: "How long does one tier take to follow the other on an idle cluster, from the last Ready to the first binding, as a watch sees them?",
		variants: []variant{
			{ours, startTiersOfOurs(byName, "")}, {labels, startTiersOfOurs(byLabel, "")},
			{poll, startTiersOfPoller}, {script, startTiersOfScript},
		},
		claims: []claim{
			{text: "our plugin, median in milliseconds", of: ours, figure: medianTime, atMost: new(20.0)},
			{text: "our plugin, groups by label, median in milliseconds", of: labels, figure: medianTime, atMost: new(15.0)},
			{text: "groups by label / groups by name", of: labels, to: ours, figure: medianTime, atMost: new(1.5)},
			{text: "our plugin / a controller that looks every 5 s", of: ours, to: poll, figure: medianTime},
			{text: "our plugin / a script that applies, waits and applies", of: ours, to: script, figure: medianTime},
		},
		notes: []string{"The script runs kubectl, which is part of the sandbox's executable here. It is what Argo CD does with two sync waves, " +
			"but for the pause of 2 s that Argo CD makes between them.",
			"A group by label counts a ReplicaSet, and the pod that it owns."},
	}
	if *earlierBuild != "" {
		const before = "an earlier build, groups by label"
		tiers.variants = append(tiers.variants, variant{"an earlier build", startTiersOfOurs(byName, *earlierBuild)}, variant{before, startTiersOfOurs(byLabel, *earlierBuild)})
		tiers.claims = append(tiers.claims, claim{text: "our plugin / an earlier build, groups by label", of: labels, to: before, figure: medianTime, atMost: new(0.3)})
	}
	return tiers
}

// byName and byLabel make the groups of a tier and of the one that waits for it, and create what the first group counts besides the pod.
func byName(_ *site, first, next string) (groups []v1alpha1.PodGroup, pods []*corev1.Pod) {
	return []v1alpha1.PodGroup{{Pods: []string{first}}, {Pods: []string{next}}}, []*corev1.Pod{pod(first, ourScheduler).Obj(), pod(next, ourScheduler).Obj()}
}

func byLabel(s *site, first, next string) (groups []v1alpha1.PodGroup, pods []*corev1.Pod) {
	s.b.Helper()
	replicas := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: first}}
	replicas.Spec.Replicas = new(int32(1))
	replicas.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{tierLabel: first}}
	replicas.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: replicas.Spec.Selector.MatchLabels}, Spec: pod(first, ourScheduler).Obj().Spec}
	s.create(replicas)
	replicas.Status.Replicas, replicas.Status.ObservedGeneration = 1, replicas.Generation
	require.NoError(s.b, s.API.Status().Update(s.ctx, replicas))
	owned := pod(first, ourScheduler).Label(tierLabel, first).Obj()
	owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(replicas, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	return []v1alpha1.PodGroup{{PodSelector: tier(first)}, {PodSelector: tier(next)}}, []*corev1.Pod{owned, pod(next, ourScheduler).Label(tierLabel, next).Obj()}
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

func startTiersOfOurs(tier func(s *site, first, next string) ([]v1alpha1.PodGroup, []*corev1.Pod), build string) func(b *testing.B) func(int) measurement {
	return func(b *testing.B) func(int) measurement {
		options := controlplane.Options{}
		if build != "" {
			options.Bin, options.Manifests = filepath.Join(build, "bin"), os.DirFS(filepath.Join(build, "manifests"))
		}
		s := newSite(b, releaseNodes, options, ourScheduler, ourProgram)
		b.Cleanup(s.close)
		seen := s.watchBindings()
		return func(turn int) measurement {
			return s.tiers(turn, func(number int) float64 {
				first, next := numbered("first", number), numbered("next", number)
				groups, pods := tier(s, first, next)
				name := numbered("shop", number)
				s.create(&v1alpha1.PodSequence{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.PodSequenceSpec{PodGroups: groups},
				})
				for _, pod := range pods {
					metav1.SetMetaDataLabel(&pod.ObjectMeta, v1alpha1.SequenceLabel, name) // it is created in the same moment as the sequence
					s.create(pod)
				}
				s.awaitBound(first)
				s.await(next+" to say what it waits for", func() bool {
					pod, err := s.core.CoreV1().Pods(namespace).Get(s.ctx, next, metav1.GetOptions{})
					require.NoError(b, err)
					return cluster.IsHeld(pod)
				})
				s.setReady(first)
				return seen.sinceReady(first, s.awaitAll(seen, []string{next})[0])
			})
		}
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
			s.setReady(first)
			p := &poller{core: core, first: tierLabel + "=" + first, many: tierLabel + "=" + next}
			require.NoError(b, p.run(s.ctx, phase(number, perTurn())))
			return seen.sinceReady(first, s.awaitAll(seen, []string{next})[0])
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
			s.setReady(first)
			bound := s.awaitAll(seen, []string{next})[0]
			require.Empty(b, <-done, "the script failed")
			return seen.sinceReady(first, bound)
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
