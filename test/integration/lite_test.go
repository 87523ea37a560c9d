package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// Lite mode: nothing but manifests/lite is applied, and the controller runs as its Deployment says, with its permissions.
func TestLiteMode(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := startCluster(t, controlplane.Options{
		AuditLog: true, LeaderElection: true, Installation: "lite",
		Components: append(controlplane.UpstreamComponents(), controlplane.PodSequenceController),
		// Of the Deployment, see below.
		ExtraArgs: map[string][]string{controlplane.PodSequenceController: {"--v=2", "--scheduler-names="}},
	})
	deployment := &appsv1.Deployment{}
	require.NoError(t, env.API.Get(t.Context(), types.NamespacedName{Namespace: "podsequence-system", Name: "podsequence-controller"}, deployment))
	assert.Equal(t, []string{"--v=2", "--health-probe-bind-address=[$(POD_IP)]:8081", "--scheduler-names="}, deployment.Spec.Template.Spec.Containers[0].Args)
	served := env.Metrics(t, controlplane.PodSequenceController)
	assert.Contains(t, served, "\npodsequence_scheduler_expected 0\n", "no alert misses the scheduler")
	newLiteStory := func(t *testing.T) *story {
		s := newStoryIn(t, env)
		s.lite = true
		return s
	}

	t.Run("gated pods of the stock scheduler start in order", func(t *testing.T) {
		s := newLiteStory(t)
		s.Create(s.threeTiers().Obj())
		for _, tier := range []string{"web", "app", "db"} {
			s.createPods(s.gated(tier).SchedulerName(stockScheduler))
		}
		s.awaitHeldFor("web", "group 1/3")
		s.startInOrder()
	})
	t.Run("gated pods wait for a sequence that comes after them", func(t *testing.T) {
		s := newLiteStory(t)
		for _, tier := range tiers {
			s.createPods(s.gated(tier).SchedulerName(stockScheduler))
		}
		s.expectHeld(tiers...)
		s.Create(s.threeTiers().Obj())
		s.startInOrder()
	})
	t.Run("a pod that is held for ten seconds gets an event", func(t *testing.T) {
		s := newLiteStory(t)
		s.Create(s.threeTiers().Obj())
		s.createPods(s.gated("db").SchedulerName(stockScheduler), s.gated("web").SchedulerName(stockScheduler))
		s.awaitEventOf("web", controlplane.PodSequenceController)
	})
	t.Run("who may only look sees why, and when what happened", func(t *testing.T) {
		s := newLiteStory(t)
		person := s.Person("view")
		s.Create(s.threeTiers().Obj())
		for _, tier := range tiers {
			s.createPods(s.gated(tier).SchedulerName(stockScheduler))
		}
		s.awaitHeldFor("web", "group 1/3")
		said, _ := person.Says("why", "web", "--scheduler-names=")
		assert.Contains(t, said, "pod web: held in group 3/3")
		assert.Contains(t, said, "group 1/3")
		assert.Contains(t, said, "pod db: ")
		said, _ = person.Says("tree", "shop", "--scheduler-names=")
		assert.Contains(t, said, "pod app: held in group 2/3")
		s.startInOrder()
		said, _ = person.Says("timeline", "shop", "--scheduler-names=")
		assert.Contains(t, said, " all ready after")
		assert.Contains(t, said, "3 Frontend")
	})
	for name, of := range map[string]struct{ scheduler, reason string }{
		"a pod without a gate is reported, with the fix":                                  {stockScheduler, v1alpha1.ReasonStartedOutOfOrder},
		"a pod without a gate that names the scheduler that is not there is reported too": {ourScheduler, v1alpha1.ReasonUngovernedPods},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLiteStory(t)
			s.Create(s.threeTiers().Obj())
			s.createPods(s.pod("app").SchedulerName(of.scheduler))
			s.awaitDegraded("shop", of.reason)
			degraded := meta.FindStatusCondition(s.getSequence("shop").Status.Conditions, v1alpha1.ConditionDegraded)
			assert.Contains(t, degraded.Message, "app cannot be held: add the scheduling gate "+v1alpha1.DefaultSchedulingGateName+" in the pod template", degraded.Message)
		})
	}
	t.Run("gated pods wait for an object", func(t *testing.T) {
		s := newLiteStory(t)
		database := v1alpha1.ObjectReference{APIVersion: "v1", Kind: "Service", Name: "db"}
		s.Create(s.sequence("shop").Objects("Service", database).Pods("Application", "app").Obj())
		s.createPods(s.gated("app").SchedulerName(stockScheduler))
		s.awaitObject("shop", v1alpha1.ObjectNotFound)
		s.expectHeld("app")
		s.Create(&corev1.Service{ObjectMeta: s.Meta("db"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 5432}}}})
		s.awaitBound("app")
	})
	t.Run("the controller was refused nothing", func(t *testing.T) {
		s := newLiteStory(t)
		requests := 0
		s.Audited(func(e *cluster.Request) {
			if e.Program != controlplane.PodSequenceController || !e.IsAnswered() {
				return
			}
			requests++
			assert.Equal(t, "allow", e.Annotations["authorization.k8s.io/decision"], "%s %s", e.Verb, e.RequestURI)
		})
		assert.NotZero(t, requests)
	})
}
