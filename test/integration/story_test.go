package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	ourScheduler   = "podsequence-scheduler"
	stockScheduler = controlplane.AnotherScheduler
)

// story is one test: a namespace, and words to tell what happens in it. At its end the referee judges the namespace.
type story struct {
	*cluster.Story
	env *environment
	// violates names the pods that the test binds too early on purpose.
	violates []string
	// charge is part of what the referee says of them.
	charge string
	// unjudged skips the referee: the test stores sequences that it cannot read.
	unjudged bool
	// lite gives no pod to our scheduler: there is none.
	lite           bool
	fences, probes int
	// unseen reports that a sequence was created, changed or allowed since the scheduler was last known to have seen all of them.
	unseen bool
}

func newStory(t testing.TB) *story {
	t.Helper()
	return newStoryIn(t, shared)
}

// newStoryIn begins a story on a cluster of its own.
func newStoryIn(t testing.TB, env *environment) *story {
	t.Helper()
	s := &story{Story: cluster.NewStory(t, env.Cluster), env: env}
	t.Cleanup(s.expectNoEarlyBindings)
	return s
}

// expectNoEarlyBindings checks which pods were bound too early according to the referee.
func (s *story) expectNoEarlyBindings() {
	if s.unjudged {
		return
	}
	verdict := s.env.referee.VerdictFor(context.Background(), s.Namespace)
	assert.Empty(s, verdict.Incomplete, "the referee missed something")
	assert.Empty(s, verdict.FalseRecords, "statuses said of objects what they never were")
	assert.Empty(s, verdict.UncheckedRecords, "the referee believed what statuses said of objects")
	var early []string
	for _, v := range verdict.Violations {
		_, name, _ := strings.Cut(fmt.Sprint(v.Pod), "/")
		early = append(early, name)
	}
	assert.ElementsMatch(s, s.violates, early, "pods bound too early; the referee says: %s", verdict)
	assert.Contains(s, verdict.String(), s.charge)
}

// sequence begins a PodSequence of the story's namespace.
func (s *story) sequence(name string) *SequenceWrapper { return MakeSequence(s.Namespace, name) }

// pod begins a pod of our scheduler that is not ready before the test says so.
func (s *story) pod(name string) *st.PodWrapper {
	return st.MakePod().Namespace(s.Namespace).Name(name).SchedulerName(s.env.scheduler).
		Container("example.com/app").Annotation(cluster.ReadyAfter, "never").TerminationGracePeriodSeconds(0)
}

// gated is a pod that carries a sequence's gate.
func (s *story) gated(name string) *st.PodWrapper {
	return s.pod(name).SchedulingGates([]string{v1alpha1.DefaultSchedulingGateName})
}

// Create creates objects, and notes if a sequence is among them.
func (s *story) Create(objects ...client.Object) {
	s.Helper()
	s.Story.Create(objects...)
	for _, object := range objects {
		s.noteUnseen(object)
	}
}

// Patch changes an object, and notes if it is a sequence.
func (s *story) Patch(object client.Object, patch any) {
	s.Helper()
	s.Story.Patch(object, patch)
	s.noteUnseen(object)
}

func (s *story) noteUnseen(object client.Object) {
	switch object.(type) {
	case *v1alpha1.PodSequence, *v1alpha1.ClusterPodSequence:
		s.unseen = true
	}
}

func (s *story) getPod(name string) *corev1.Pod {
	s.Helper()
	return cluster.Get(s.Story, &corev1.Pod{}, name)
}

func (s *story) getSequence(name string) *v1alpha1.PodSequence {
	s.Helper()
	return cluster.Get(s.Story, &v1alpha1.PodSequence{}, name)
}

// annotate sets one annotation of a pod.
func (s *story) annotate(pod, key, value string) {
	s.Helper()
	s.Annotate(s.Pod(pod), key, value)
}

// makeReady makes bound pods ready, and waits until they are.
func (s *story) makeReady(names ...string) {
	s.Helper()
	for _, name := range names {
		s.annotate(name, cluster.ReadyAfter, "0s")
	}
	for _, name := range names {
		s.Await(name+" to be ready", func() bool { return cluster.IsReady(s.getPod(name)) })
	}
}

// awaitBound waits until the pods are bound.
func (s *story) awaitBound(names ...string) {
	s.Helper()
	for _, name := range names {
		s.Await(name+" to be bound", func() bool { return s.getPod(name).Spec.NodeName != "" })
	}
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
	s.Story.Create(s.sequence(name("sequence")).Pods("", first).Pods("", ours, theirs).Obj())
	if s.lite {
		ours = theirs
		s.Story.Create(
			s.gated(theirs).SchedulerName(stockScheduler).Obj(),
			s.pod(first).SchedulerName(stockScheduler).Annotation(cluster.ReadyAfter, "0s").Obj(),
		)
	} else {
		s.Story.Create(
			s.pod(ours).Label(v1alpha1.SequenceLabel, name("sequence")).Obj(),
			s.gated(theirs).SchedulerName(stockScheduler).Obj(),
			probed(s.pod(first).Annotation(cluster.ReadyAfter, "0s")).Obj(),
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
	edit := fmt.Sprintf(`{"spec":{"namespace":%q}}`, s.Namespace)
	if ps.Spec.Namespace != "" {
		edit = `{"spec":{"namespace":null}}`
	}
	s.Patch(ps, edit)
	edited := ps.Generation
	s.Await(sequence+" to have a status of its newest generation", func() bool {
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
	s.Await(fmt.Sprintf("%s to be %s", sequence, phase), func() bool { return s.getSequence(sequence).Status.Phase == phase })
}
