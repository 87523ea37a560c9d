package integration

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
)

// An administrator, or a GitOps controller with the rights of one, passes every check at admission. So both programs ask the
// namespace whose pods are to be held, all the time.
func TestANamespaceMustAllowSequencesOfAnother(t *testing.T) {
	t.Parallel()
	testConsent(t, shared)
}

// The tests have a cluster without the policy, too, as after make install.
func TestANamespaceMustAllowSequencesOfAnotherWithoutThePolicy(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := exclusively(t)
	t.Cleanup(func() { assert.NoError(t, env.Apply(context.Background(), "sandbox")) })
	env.MustShell(t, "kubectl delete validatingadmissionpolicybinding,validatingadmissionpolicy podsequence-cross-namespace")
	testConsent(t, env)
}

func testConsent(t *testing.T, env *environment) {
	ours := func(s *story, name string) *st.PodWrapper { return s.pod(name) }
	theirs := func(s *story, name string) *st.PodWrapper { return s.gated(name).SchedulerName(stockScheduler) }
	gatedOurs := func(s *story, name string) *st.PodWrapper { return s.gated(name) }

	t.Run("pods of our scheduler are held while their namespace allows it", func(t *testing.T) {
		s, away := newStoryIn(t, env), newStoryIn(t, env)
		s.Create(s.tiersOf(away))
		s.awaitDegraded("shop", v1alpha1.ReasonNamespaceNotAllowed)
		away.createPods(ours(away, "app-0").Label("tier", "app"))
		away.awaitBound("app-0") // nothing holds it

		s.grant("shop", away)
		away.createPods(ours(away, "app-1").Label("tier", "app"))
		away.awaitHeldFor("app-1", "of PodSequence "+s.Namespace+"/shop")
		away.expectHeld("app-1")

		away.allow("")
		away.awaitBound("app-1")
		s.awaitDegraded("shop", v1alpha1.ReasonNamespaceNotAllowed)
		assert.Equal(t, v1alpha1.PhasePending, s.getSequence("shop").Status.Phase)

		away.allow("*")
		away.createPods(ours(away, "app-2").Label("tier", "app"))
		away.expectHeld("app-2")
		away.createPods(ours(away, "db").Label("tier", "db"))
		away.awaitBound("db")
		away.makeReady("db")
		away.awaitBound("app-2")
	})
	for name, pod := range map[string]func(*story, string) *st.PodWrapper{
		"of another scheduler": theirs, "of our scheduler": gatedOurs,
	} {
		t.Run("gated pods "+name+" keep their gate while their namespace does not allow it", func(t *testing.T) {
			s, away := newStoryIn(t, env), newStoryIn(t, env)
			away.createPods(pod(away, "db").Label("tier", "db"), pod(away, "app").Label("tier", "app"))
			s.Create(s.tiersOf(away))
			s.awaitDegraded("shop", v1alpha1.ReasonNamespaceNotAllowed)
			away.expectHeld("db", "app")
			assert.NotEmpty(t, gates(away.getPod("db")))

			s.grant("shop", away)
			away.awaitBound("db")
			away.expectHeld("app")
			away.allow("someone-else")
			s.awaitDegraded("shop", v1alpha1.ReasonNamespaceNotAllowed)
			away.makeReady("db")
			away.expectHeld("app")
			assert.NotEmpty(t, gates(away.getPod("app")))

			s.grant("shop", away)
			away.awaitBound("app")
			assert.Equal(t, "someone-else,"+s.Namespace, away.allowed(), "who was allowed before still is")
		})
	}
	t.Run("a list may have spaces, and names that resemble each other are different", func(t *testing.T) {
		s, away := newStoryIn(t, env), newStoryIn(t, env)
		away.allow(s.Namespace + "-2, x" + s.Namespace)
		s.Create(s.tiersOf(away))
		s.awaitDegraded("shop", v1alpha1.ReasonNamespaceNotAllowed)
		away.allow(" someone-else , " + s.Namespace + " ")
		away.createPods(ours(away, "app").Label("tier", "app"))
		away.awaitHeldFor("app", "group 1/2")
	})
	t.Run("a pass that status recorded survives that consent is withdrawn and given again", func(t *testing.T) {
		s, away := newStoryIn(t, env), newStoryIn(t, env)
		away.allow(s.Namespace)
		s.Create(s.tiersOf(away))
		away.createPods(ours(away, "db").Label("tier", "db"))
		away.awaitBound("db")
		away.makeReady("db")
		s.Await("the pass to be recorded", func() bool {
			groups := s.getSequence("shop").Status.Groups
			return len(groups) == 2 && groups[0].PassedAt != nil
		})
		away.allow("")
		s.awaitDegraded("shop", v1alpha1.ReasonNamespaceNotAllowed)
		away.Delete(away.getPod("db"))
		away.allow(s.Namespace)
		away.createPods(ours(away, "app").Label("tier", "app"))
		away.awaitBound("app")
		s.awaitCondition("shop", v1alpha1.ConditionDegraded, metav1.ConditionFalse, v1alpha1.ReasonAsExpected)
	})
	t.Run("a namespace that does not exist allows nothing, and the message says so", func(t *testing.T) {
		s := newStoryIn(t, env)
		s.Create(s.pointing("nowhere", s.Namespace+"-none"))
		c := s.awaitCondition("nowhere", v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonNamespaceNotAllowed)
		assert.Contains(t, c.Message, "namespace "+s.Namespace+"-none does not exist")
	})
}

// tiersOf is a sequence of two groups for the pods of another story's namespace.
func (s *story) tiersOf(away *story) *v1alpha1.PodSequence {
	return s.sequence("shop").Group(tier("db")).Group(tier("app")).TargetNamespace(away.Namespace).Obj()
}

// allow makes the story's namespace allow sequences of the namespaces in a list; of none if it is empty.
func (s *story) allow(list string) {
	s.Helper()
	value := &list
	if list == "" {
		value = nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]*string{v1alpha1.AllowSequencesFromAnnotation: value}},
	})
	require.NoError(s, err)
	s.Patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}, string(patch))
	s.unseen = true // to a scheduler a sequence that is allowed from now on is a new one
}

// allowed is the list that the story's namespace has.
func (s *story) allowed() string {
	s.Helper()
	ns := &corev1.Namespace{}
	require.NoError(s, s.API.Get(s.Ctx, s.Key(s.Namespace), ns))
	return ns.Annotations[v1alpha1.AllowSequencesFromAnnotation]
}

// grant runs the command that the sequence's condition names, and waits until the sequence is allowed to order the pods of away.
func (s *story) grant(sequence string, away *story) {
	s.Helper()
	c := s.awaitCondition(sequence, v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonNamespaceNotAllowed)
	_, command, found := strings.Cut(c.Message, "with: ")
	require.True(s, found, "no command in %q", c.Message)
	out, err := s.Cluster.Shell(s, command)
	require.NoError(s, err, "%s: %s", command, out)
	s.awaitCondition(sequence, v1alpha1.ConditionDegraded, metav1.ConditionFalse, v1alpha1.ReasonAsExpected)
	away.unseen = true
}
