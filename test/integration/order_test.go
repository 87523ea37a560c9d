package integration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

func TestThreeTiersStartInOrder(t *testing.T) {
	t.Parallel()
	tests := map[string]func(s *story, name string) *st.PodWrapper{
		"gated pods of our scheduler":     func(s *story, name string) *st.PodWrapper { return s.gated(name) },
		"gate-less pods of our scheduler": func(s *story, name string) *st.PodWrapper { return s.pod(name) },
		"gated and gate-less pods mixed": func(s *story, name string) *st.PodWrapper {
			if name == "app" {
				return s.pod(name)
			}
			return s.gated(name)
		},
		"gated pods of the stock scheduler": func(s *story, name string) *st.PodWrapper {
			return s.gated(name).SchedulerName(stockScheduler)
		},
		"pods of both schedulers": func(s *story, name string) *st.PodWrapper {
			if name == "app" {
				return s.gated(name).SchedulerName(stockScheduler)
			}
			return s.pod(name)
		},
	}
	for name, makePod := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.Create(s.threeTiers().Obj())
			for _, tier := range []string{"web", "app", "db"} { // last tier first: the order is not that of creation
				s.createPods(makePod(s, tier))
			}
			s.startInOrder()
		})
	}
}

func TestTiersByLabel(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*SequenceWrapper) *SequenceWrapper{
		"matchLabels": func(w *SequenceWrapper) *SequenceWrapper {
			return w.Label("Database", "tier", "db").Label("Application", "tier", "app").Label("Frontend", "tier", "web")
		},
		"matchExpressions": func(w *SequenceWrapper) *SequenceWrapper {
			return w.Expression("Database", "tier", v1alpha1.LabelSelectorOpIn, "db", "cache").
				Expression("Application", "late", v1alpha1.LabelSelectorOpDoesNotExist).
				Expression("Frontend", "tier", v1alpha1.LabelSelectorOpExists)
		},
		"everything else last": func(w *SequenceWrapper) *SequenceWrapper {
			return w.Label("Database", "tier", "db").
				Expression("Application", "tier", v1alpha1.LabelSelectorOpNotIn, "web").Label("Rest", "", "")
		},
		"names and labels": func(w *SequenceWrapper) *SequenceWrapper {
			return w.Pods("Database", "db").Label("Application", "tier", "app").Label("Rest", "", "")
		},
	}
	for name, groups := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.Create(groups(s.sequence("shop")).Obj())
			// The fences are no part of the shop, but of the namespace that {} selects: they are pods of the last group
			// and would wait. This story does without them: each step is asserted at its own event instead.
			for _, tier := range tiers {
				pod := s.pod(tier).Label("tier", tier)
				if tier == "web" {
					pod.Label("late", "yes")
				}
				s.createPods(pod)
			}
			s.awaitBound("db")
			s.awaitHeldFor("app", "group 1/3")
			s.awaitHeldFor("web", "group 1/3")
			s.makeReady("db")
			s.awaitBound("app")
			s.awaitHeldFor("web", "group 2/3")
			s.makeReady("app")
			s.awaitBound("web")
		})
	}
}

// awaitHeldFor waits until a held pod says that it waits for this.
func (s *story) awaitHeldFor(name, what string) {
	s.Helper()
	s.Await(name+" to wait for "+what, func() bool {
		pod := s.getPod(name)
		require.Empty(s, pod.Spec.NodeName, "%s is bound, should wait for %s", name, what)
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
				return c.Status == corev1.ConditionFalse && strings.Contains(c.Message, what)
			}
		}
		return false
	})
}

func TestTheFirstGroupThatMatchesHasThePod(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Pods("Named", "b").Label("Labelled", "tier", "b").Pods("Last", "last").Obj())
	s.createPods(s.pod("b").Label("tier", "b"), s.pod("b-10").Label("tier", "b"), s.pod("last"))
	s.awaitBound("b")
	s.expectHeld("b-10", "last")
	s.makeReady("b")
	s.awaitBound("b-10") // a name is a whole name: b-10 is of the second group
	s.expectHeld("last")
}

func TestASequenceThatComesAfterItsPods(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	t.Run("gated pods wait for it, and then go in its order", func(t *testing.T) {
		s := newStory(t)
		for _, tier := range tiers {
			s.createPods(s.gated(tier))
		}
		s.expectHeld(tiers...)
		s.Create(s.threeTiers().Obj())
		s.startInOrder()
	})
	t.Run("pods that are bound stay as they are", func(t *testing.T) {
		s := newStory(t)
		for _, tier := range tiers {
			s.createPods(s.pod(tier))
		}
		s.awaitBound(tiers...)
		before := map[string]*corev1.Pod{}
		for _, tier := range tiers {
			s.makeReady(tier)
			before[tier] = s.getPod(tier)
		}
		s.Create(s.threeTiers().Obj())
		s.awaitPhase("shop", v1alpha1.PhaseCompleted)
		s.fence()
		for _, tier := range tiers {
			assert.Equal(t, before[tier].ResourceVersion, s.getPod(tier).ResourceVersion, "%s was written to", tier)
		}
	})
}

func TestANamedPodThatDoesNotExistYetKeepsTheNextGroupHeld(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Pods("Database", "db-0", "db-1").Pods("Application", "app").Obj())
	s.createPods(s.pod("db-0"), s.pod("app"))
	s.awaitBound("db-0")
	s.makeReady("db-0")
	s.expectHeld("app")
	s.createPods(s.pod("db-1"))
	s.awaitBound("db-1")
	s.expectHeld("app")
	s.makeReady("db-1")
	s.awaitBound("app")
}

// The scheduler's own informer leaves out pods that have completed: to it they look deleted.
func TestAPodThatCompletesLetsTheNextGroupGo(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStoryIn(t, exclusively(t))
	s.Create(s.sequence("shop").Pods("Migration", "migrate").Pods("Application", "app").Obj())
	s.createPods(s.pod("migrate").Annotation(cluster.CompleteAfter, "500ms"), s.pod("app"))
	s.awaitBound("migrate", "app")
	assert.Equal(t, corev1.PodSucceeded, s.getPod("migrate").Status.Phase)

	// Nothing but the completed pod says so to a scheduler that has just begun.
	s.Create(s.sequence("next").Pods("Migration", "migrate").Pods("Report", "report").Obj())
	require.NoError(t, s.Cluster.Kill(s.Ctx, controlplane.PodSequenceScheduler))
	require.NoError(t, s.Cluster.StartComponent(s.Ctx, controlplane.PodSequenceScheduler))
	s.createPods(s.pod("report"))
	s.awaitBound("report")
}

func TestAPodThatIsNeverReadyKeepsTheNextGroupHeld(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.threeTiers().Obj())
	s.createPods(s.pod("db"), s.pod("app"), s.pod("web"))
	s.awaitBound("db")
	s.expectHeld("app", "web")
	s.awaitPhase("shop", v1alpha1.PhaseInProgress)
	status := s.getSequence("shop").Status
	assert.Equal(t, int32(0), *status.CurrentIndex)
	assert.Equal(t, []string{"db"}, status.CurrentGroupPods)
	assert.Zero(t, status.ReadyPodsInCurrentGroup)
}

func TestStatusCountsTheReadyPodsOfTheCurrentGroup(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Pods("Database", "db-0", "db-1", "db-2").Pods("Application", "app").Obj())
	s.createPods(s.pod("db-0"), s.pod("db-1"), s.pod("db-2"), s.pod("app"))
	s.awaitBound("db-0", "db-1", "db-2")
	s.makeReady("db-0", "db-2")
	s.Await("status to count two", func() bool { return s.getSequence("shop").Status.ReadyPodsInCurrentGroup == 2 })
	assert.Equal(t, []string{"db-0", "db-1", "db-2"}, s.getSequence("shop").Status.CurrentGroupPods)
	s.makeReady("db-1")
	s.awaitBound("app")
	s.Await("status to count those of the second group", func() bool {
		status := s.getSequence("shop").Status
		return *status.CurrentIndex == 1 && status.ReadyPodsInCurrentGroup == 0
	})
}

func TestReplacementAndScaleUpOfAReleasedGroupGoStraightThrough(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Pods("Database", "db").Label("Application", "tier", "app").Pods("Frontend", "web").Obj())
	deployment := s.deployment("app", 2)
	s.Create(deployment)
	s.createPods(s.pod("db"), s.pod("web"))
	s.awaitBound("db")
	s.makeReady("db")
	s.Await("both replicas to be bound", func() bool { return len(s.boundPods("app")) == 2 })

	// The database fails again. Its group was passed, and that is permanent.
	s.annotate("db", cluster.ReadyAfter, "never")
	s.Await("db to be unready", func() bool { return !cluster.IsReady(s.getPod("db")) })
	s.fence()

	require.NoError(t, s.API.Delete(s.Ctx, s.getPod(s.boundPods("app")[0])))
	s.Await("the replacement to be bound", func() bool { return len(s.boundPods("app")) == 2 })
	scaled := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":5}}`))
	require.NoError(t, s.API.Patch(s.Ctx, deployment, scaled))
	s.Await("the new replicas to be bound", func() bool { return len(s.boundPods("app")) == 5 })
	s.expectHeld("web")
}

// deployment is a Deployment of our scheduler, labelled tier=NAME.
func (s *story) deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"tier": name}
	template := s.pod("template").Labels(labels).Obj()
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: template.Annotations},
				Spec:       template.Spec,
			},
		},
	}
}

// boundPods are the names of the bound, not terminating pods labelled tier=TIER.
func (s *story) boundPods(tier string) []string {
	s.Helper()
	var pods corev1.PodList
	require.NoError(s, s.API.List(s.Ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{"tier": tier}))
	var names []string
	for _, p := range pods.Items {
		if p.Spec.NodeName != "" && p.DeletionTimestamp == nil {
			names = append(names, p.Name)
		}
	}
	return names
}
