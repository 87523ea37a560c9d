package kubectl

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

// awaitRunning waits until so many pods of a tier are bound, and returns their names, sorted.
func (s *story) awaitRunning(tier string, pods int) []string {
	s.Helper()
	var names []string
	s.Await(fmt.Sprintf("%d pods of tier %s to be bound", pods, tier), func() bool {
		var list corev1.PodList
		require.NoError(s, s.API.List(s.Ctx, &list, client.InNamespace(s.Namespace), client.MatchingLabels{"tier": tier}))
		names = nil
		for _, pod := range list.Items {
			if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
				names = append(names, pod.Name)
			}
		}
		return len(names) == pods && len(list.Items) == pods
	})
	slices.Sort(names)
	return names
}

// awaitDegraded waits until the condition Degraded of the sequence has this reason, and returns it with the status.
func (s *story) awaitDegraded(sequence, reason string) (metav1.Condition, v1alpha1.PodSequenceStatus) {
	s.Helper()
	var status v1alpha1.PodSequenceStatus
	s.Await("the condition Degraded with the reason "+reason, func() bool {
		status = cluster.Get(s.Story, &v1alpha1.PodSequence{}, sequence).Status
		c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDegraded)
		return c != nil && c.Reason == reason
	})
	return *meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDegraded), status
}

// A tool creates the workloads first, and nothing holds their pods before the sequence exists. Everybody who looks is told, and whoever
// runs the command that is named gets rid of it.
func TestPodsThatStartedBeforeTheirSequenceAreReported(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	s.Create(unready(s.pod("db", "db")), s.deployment("app", "app", 3))
	early := s.awaitRunning("app", 3)
	s.awaitRunning("db", 1)

	s.Create(MakeSequence(s.Namespace, "shop").Label("Database", "tier", "db").Label("Application", "tier", "app").Obj())
	condition, status := s.awaitDegraded("shop", v1alpha1.ReasonStartedOutOfOrder)
	assert.Equal(t, &v1alpha1.StartedOutOfOrderStatus{Total: 3, Pods: early}, status.StartedOutOfOrder)
	started := fmt.Sprintf(`3 pods started before this PodSequence existed, while group 1/2 "Database" was not ready: %s, %s, %s. `, early[0], early[1], early[2])
	restart := "To start them in order, run: kubectl rollout restart deployment/app -n " + s.Namespace + ". "
	assert.Equal(t, started+restart+"To prevent it next time, add the label podsequence.example.com/sequence: shop to the pod templates", condition.Message)
	assert.Equal(t, metav1.ConditionTrue, condition.Status)
	metric := s.here(`podsequence_objects_with_problems{kind="PodSequence",`)
	s.awaitMetric(metric, 1)
	s.awaitMetric(`podsequence_pods_started_out_of_order{kind="PodSequence"}`, 3)
	s.awaitSaid([]string{"why", early[0]}, "pod "+early[0], "StartedOutOfOrder: in PodSequence "+s.Namespace+"/shop: "+started+restart)
	s.awaitSaid([]string{"why", "podsequence/shop"}, "StartedOutOfOrder: "+started+restart)
	s.awaitSaid([]string{"get"}, "shop", "StartedOutOfOrder: 3 pods of PodSequence "+s.Namespace+"/shop started while a group")
	s.awaitSaid([]string{"get", "shop"}, "Degraded: "+started+restart)

	s.Annotate(s.Pod("db"), cluster.ReadyAfter, "0s")
	s.waitFor("podseq/shop", "Completed")
	s.awaitDegraded("shop", v1alpha1.ReasonStartedOutOfOrder) // that all is ready now does not change when they started

	app := &appsv1.Deployment{ObjectMeta: s.Meta("app")}
	s.Patch(app, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`) // as kubectl rollout restart
	_, status = s.awaitDegraded("shop", v1alpha1.ReasonAsExpected)
	assert.Nil(t, status.StartedOutOfOrder)
	s.Await("the metric to be gone", func() bool { return s.Cluster.Metric(s, controller, metric) == 0 })
	for _, name := range s.awaitRunning("app", 3) {
		assert.NotContains(t, early, name)
	}

	told := 0
	for _, e := range s.Events("shop") {
		if e.Reason == v1alpha1.ReasonStartedOutOfOrder {
			told++
			assert.Equal(t, corev1.EventTypeWarning, e.Type)
			assert.Contains(t, e.Note, started+restart)
			assert.Nil(t, e.Series, "once")
		}
	}
	assert.Equal(t, 1, told, "events")
}

// Somebody forgets the label in one template. That the order was broken shows until he does what the message says, though all is ready soon.
func TestAForgottenLabelStaysVisible(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	s.Create(MakeSequence(s.Namespace, "shop").Label("Database", "tier", "db").Label("Application", "tier", "app").Obj())
	app := s.deployment("app", "app", 1)
	app.Spec.Template.Spec.SchedulerName = corev1.DefaultSchedulerName
	s.Create(unready(s.pod("db", "db")), app)
	early := s.awaitRunning("app", 1)
	s.awaitRunning("db", 1)
	s.Annotate(s.Pod("db"), cluster.ReadyAfter, "0s")
	s.waitFor("podseq/shop", "Completed")

	condition, status := s.awaitDegraded("shop", v1alpha1.ReasonStartedOutOfOrder)
	assert.Contains(t, condition.Message, early[0])
	assert.Contains(t, condition.Message, "add the label podsequence.example.com/sequence: shop to the pod templates")
	assert.Equal(t, v1alpha1.ReasonStartedOutOfOrder, status.State, "kubectl get shows it")
	s.awaitSaid([]string{"get"}, "shop", "StartedOutOfOrder: 1 pod of PodSequence "+s.Namespace+"/shop started while a group")

	s.Patch(app, `{"spec":{"template":{"metadata":{"labels":{"podsequence.example.com/sequence":"shop"}}}}}`)
	_, status = s.awaitDegraded("shop", v1alpha1.ReasonAsExpected)
	assert.Nil(t, status.StartedOutOfOrder)
	assert.NotEqual(t, early, s.awaitRunning("app", 1))
}

// Pods that came before the sequence, but after all that they wait for was ready, started in order.
func TestPodsThatStartedInOrderBeforeTheirSequenceAreNotReported(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	s.Create(s.pod("db", "db"))
	s.awaitReady("db")
	s.Create(s.deployment("app", "app", 2))
	s.awaitRunning("app", 2)
	s.Create(MakeSequence(s.Namespace, "shop").Label("Database", "tier", "db").Label("Application", "tier", "app").Obj())
	s.waitFor("podseq/shop", "Completed") // whatever is said of their start, the first status says it
	condition, status := s.awaitDegraded("shop", v1alpha1.ReasonAsExpected)
	assert.Equal(t, metav1.ConditionFalse, condition.Status)
	assert.Nil(t, status.StartedOutOfOrder)
	for _, e := range s.Events("shop") {
		assert.NotEqual(t, v1alpha1.ReasonStartedOutOfOrder, e.Reason)
	}
	stdout, _ := s.Says("get", "shop")
	assert.NotContains(t, stdout, "StartedOutOfOrder")
}
