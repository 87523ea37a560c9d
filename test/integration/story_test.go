package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/controlplane"
	. "example.com/podsequence/internal/testing"
)

const (
	ourScheduler   = "podsequence-scheduler"
	stockScheduler = controlplane.AnotherScheduler
	readyAfter     = "sandbox.podsequence.example.com/ready-after"
	completeAfter  = "sandbox.podsequence.example.com/complete-after"

	// patience is how long something that must happen may take on a loaded machine.
	patience = 3 * time.Minute
	// pollEvery is how often the API server is asked for it.
	pollEvery = 20 * time.Millisecond
)

// story is one test: a namespace, and words to tell what happens in it. At its end the referee judges the namespace.
type story struct {
	testing.TB
	*environment
	ctx       context.Context
	namespace string
	// violates names the pods that the test binds too early on purpose.
	violates []string
	// charge is part of what the referee says of them.
	charge string
	// unjudged has the referee not asked: the test stores sequences that it cannot read.
	unjudged bool
	// lite has no pod given to our scheduler: there is none.
	lite   bool
	fences int
}

func newStory(t testing.TB) *story {
	t.Helper()
	return newStoryIn(t, shared)
}

// newStoryIn begins a story on a cluster of its own.
func newStoryIn(t testing.TB, env *environment) *story {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "story-"}}
	require.NoError(t, env.api.Create(ctx, ns))
	s := &story{TB: t, environment: env, ctx: ctx, namespace: ns.Name}
	t.Cleanup(func() {
		s.judge()
		assert.NoError(t, s.api.Delete(context.Background(), ns))
	})
	// Pods are refused without it, and a busy controller-manager takes its time.
	s.await("the account that pods need", func() bool { return s.api.Get(ctx, s.key("default"), &corev1.ServiceAccount{}) == nil })
	return s
}

// judge has the referee say which pods were bound too early.
func (s *story) judge() {
	if s.unjudged {
		return
	}
	verdict := s.referee.VerdictFor(context.Background(), s.namespace)
	assert.Empty(s, verdict.Incomplete, "the referee missed something")
	var early []string
	for _, v := range verdict.Violations {
		_, name, _ := strings.Cut(fmt.Sprint(v.Pod), "/")
		early = append(early, name)
	}
	assert.ElementsMatch(s, s.violates, early, "pods bound too early; the referee says: %s", verdict)
	assert.Contains(s, verdict.String(), s.charge)
}

// sequence begins a PodSequence of the story's namespace.
func (s *story) sequence(name string) *SequenceWrapper { return MakeSequence(s.namespace, name) }

// pod begins a pod of our scheduler that is not ready before the test says so.
func (s *story) pod(name string) *st.PodWrapper {
	return st.MakePod().Namespace(s.namespace).Name(name).SchedulerName(ourScheduler).
		Container("example.com/app").Annotation(readyAfter, "never").TerminationGracePeriodSeconds(0)
}

// gated is a pod that carries a sequence's gate.
func (s *story) gated(name string) *st.PodWrapper {
	return s.pod(name).SchedulingGates([]string{v1alpha1.DefaultSchedulingGateName})
}

// create creates objects in this order.
func (s *story) create(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		require.NoError(s, s.api.Create(s.ctx, object), "create %T %s", object, object.GetName())
	}
}

// createPods creates pods in this order.
func (s *story) createPods(pods ...*st.PodWrapper) {
	s.Helper()
	for _, pod := range pods {
		s.create(pod.Obj())
	}
}

func (s *story) delete(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		require.NoError(s, s.api.Delete(s.ctx, object), "delete %T %s", object, object.GetName())
	}
}

func (s *story) getPod(name string) *corev1.Pod {
	s.Helper()
	pod := &corev1.Pod{}
	require.NoError(s, s.api.Get(s.ctx, types.NamespacedName{Namespace: s.namespace, Name: name}, pod))
	return pod
}

func (s *story) getSequence(name string) *v1alpha1.PodSequence {
	s.Helper()
	ps := &v1alpha1.PodSequence{}
	require.NoError(s, s.api.Get(s.ctx, types.NamespacedName{Namespace: s.namespace, Name: name}, ps))
	return ps
}

// annotate sets one annotation.
func (s *story) annotate(pod, key, value string) {
	s.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	require.NoError(s, err)
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: pod}}
	require.NoError(s, s.api.Patch(s.ctx, object, client.RawPatch(types.MergePatchType, patch)))
}

// makeReady has bound pods turn ready, and waits until they are.
func (s *story) makeReady(names ...string) {
	s.Helper()
	for _, name := range names {
		s.annotate(name, readyAfter, "0s")
	}
	for _, name := range names {
		s.await(name+" to be ready", func() bool { return isReady(s.getPod(name)) })
	}
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// awaitBound waits until the pods are bound.
func (s *story) awaitBound(names ...string) {
	s.Helper()
	for _, name := range names {
		s.await(name+" to be bound", func() bool { return s.getPod(name).Spec.NodeName != "" })
	}
}

// await waits for what must happen.
func (s *story) await(what string, happened func() bool) {
	s.Helper()
	require.Eventually(s, happened, patience, pollEvery, "waited for %s", what)
}

// expectHeld says that these pods are held although everything that happened so far has been dealt with.
func (s *story) expectHeld(names ...string) {
	s.Helper()
	s.fence()
	for _, name := range names {
		pod := s.getPod(name)
		assert.Empty(s, pod.Spec.NodeName, "%s is bound, should be held", name)
	}
}

// fence returns when both programs have acted on everything that happened before it was called. Each sees pods in the
// order in which they change, so when one has let a pod go because of a later change, it has dealt with the earlier.
func (s *story) fence() {
	s.Helper()
	s.fences++
	name := func(role string) string { return fmt.Sprintf("fence-%d-%s", s.fences, role) }
	first, ours, theirs := name("first"), name("ours"), name("theirs")
	s.create(s.sequence(name("sequence")).Pods("", first).Pods("", ours, theirs).Obj())
	if s.lite {
		ours = theirs
		s.createPods(s.gated(theirs).SchedulerName(stockScheduler), s.pod(first).SchedulerName(stockScheduler).Annotation(readyAfter, "0s"))
	} else {
		s.createPods(
			s.pod(ours),
			s.gated(theirs).SchedulerName(stockScheduler),
			s.pod(first).Annotation(readyAfter, "0s"),
		)
	}
	s.awaitBound(ours, theirs)
}

// settledStatus is a status of the sequence that speaks of everything that happened to pods so far. Status is written
// some time after what it tells of, and not at all if it stays the same; to spell out the sequence's own namespace, or to
// leave it out again, changes nothing but the generation, and the status that speaks of that one is newer than the fence.
func (s *story) settledStatus(sequence string) v1alpha1.PodSequenceStatus {
	s.Helper()
	s.fence()
	ps := s.getSequence(sequence)
	edit := fmt.Sprintf(`{"spec":{"namespace":%q}}`, s.namespace)
	if ps.Spec.Namespace != "" {
		edit = `{"spec":{"namespace":null}}`
	}
	s.patch(ps, edit)
	edited := ps.Generation
	s.await(sequence+" to have a status of its newest generation", func() bool {
		ps = s.getSequence(sequence)
		return ps.Status.ObservedGeneration >= edited
	})
	return ps.Status
}

// tiers are the names of the pods that tests order most.
var tiers = []string{"db", "app", "web"}

// threeTiers is a sequence of three groups by name.
func (s *story) threeTiers() *SequenceWrapper {
	return s.sequence("shop").Pods("Database", "db").Pods("Application", "app").Pods("Frontend", "web")
}

// startInOrder sees the three tiers start one after another.
func (s *story) startInOrder() {
	s.Helper()
	s.awaitBound("db")
	s.expectHeld("app", "web")
	s.makeReady("db")
	s.awaitBound("app")
	s.expectHeld("web")
	s.makeReady("app")
	s.awaitBound("web")
	s.makeReady("web")
	s.awaitPhase("shop", v1alpha1.PhaseCompleted)
}

func (s *story) awaitPhase(sequence string, phase v1alpha1.Phase) {
	s.Helper()
	s.await(fmt.Sprintf("%s to be %s", sequence, phase), func() bool { return s.getSequence(sequence).Status.Phase == phase })
}
