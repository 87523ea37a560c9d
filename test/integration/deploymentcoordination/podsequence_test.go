package deploymentcoordination

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// A PodSequence starts db before api; a DeploymentCoordination would start api before db.
func TestAPodSequenceInTheOppositeOrder(t *testing.T) {
	t.Parallel()
	t.Run("both Deployments are new", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.databaseFirst("order").Obj())
		s.coordinate(s.coordination("shop"))
		s.atOnce(func() { s.Create(s.sequenced("api"), s.sequenced("db")) })
		s.awaitUnpaused("api", "db")
		s.awaitComplete("api", "db")
		s.awaitReady("shop")
		assert.Equal(t, []string{"db", "api"}, s.verdict().Order())
	})
	t.Run("the active one is held when the other comes", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.databaseFirst("order").Obj())
		s.coordinate(s.coordination("shop"))
		s.Create(s.sequenced("api"))
		s.awaitActive("api")
		s.Await("status to say that it is held", func() bool {
			return s.status("shop").DeploymentStates[0].HeldBy == s.Namespace+"/order"
		})
		db := s.sequenced("db")
		image("1", "never")(db) // or its turn may be over before anybody looks
		s.Create(db)
		s.awaitActive("db")
		s.makeReady("db")
		s.awaitEvent(v1.ReasonHeldByPodSequence)
		s.awaitComplete("api", "db")
		s.awaitReady("shop")
		// The pods that api has created already may all be ready before it is its turn again.
		assert.Equal(t, []string{"api", "db"}, s.verdict().Order()[:2])
	})
	t.Run("both are changed, and the sequence is Continuous", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.databaseFirst("order").Mode(v1alpha1.Continuous).Obj())
		for _, name := range []string{"db", "api"} { // one after the other, for the watcher
			s.Create(s.sequenced(name))
			s.awaitComplete(name)
		}
		s.coordinate(s.coordination("shop"))
		s.awaitReady("shop")
		began := len(s.verdict().Rollouts)
		s.atOnce(func() {
			s.update("api", image("2", "0s"))
			s.update("db", image("2", "0s"))
		})
		s.awaitUnpaused("api", "db")
		s.awaitComplete("api", "db")
		s.awaitReady("shop")
		s.awaitCondition("shop", v1.ConditionDegraded, "False "+v1.ReasonAsExpected)
		rollouts := s.after(began)
		require.NotEmpty(t, rollouts)
		assert.Equal(t, "api", rollouts[len(rollouts)-1].Deployment.Name)
	})
	t.Run("nobody can go: both objects say so, until somebody can", func(t *testing.T) {
		s := newStory(t)
		other := MakeSequence(s.Namespace, "other").Pods("Volume", "volume").Label("Database", "deployment", "db")
		s.Create(s.databaseFirst("order").Obj(), other.Obj())
		s.coordinate(s.coordination("shop"))
		s.Create(s.sequenced("api"), s.sequenced("db"))
		s.awaitActive("api")
		s.awaitCondition("shop", v1.ConditionDegraded, "True "+v1.ReasonHeldByPodSequence)
		degraded := meta.FindStatusCondition(s.status("shop").Conditions, v1.ConditionDegraded)
		assert.Contains(t, degraded.Message, "PodSequence "+s.Namespace+`/order until group 1/2 "Database" is passed, and this group needs `+s.Namespace+"/db")
		s.Await("the PodSequence to name the paused Deployment", func() bool {
			order := &v1alpha1.PodSequence{}
			require.NoError(s, s.API.Get(s.Ctx, types.NamespacedName{Namespace: s.Namespace, Name: "order"}, order))
			return order.Status.Message == `waiting for group 1/2 "Database": 0 of 2 pods ready, `+
				"Deployment db is paused by DeploymentCoordination shop until its turn"
		})

		t.Log("a change of what holds pods is enough: no Deployment changes")
		s.Create(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "volume", Annotations: map[string]string{cluster.ReadyAfter: "0s"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "volume", Image: "example.com/volume"}}},
		})
		s.awaitUnpaused("api", "db")
		s.awaitComplete("api", "db")
		s.awaitReady("shop")
		s.awaitCondition("shop", v1.ConditionDegraded, "False "+v1.ReasonAsExpected)
	})
}

// databaseFirst starts the pods of Deployment db before those of api.
func (s *story) databaseFirst(name string) *SequenceWrapper {
	return MakeSequence(s.Namespace, name).Label("Database", "deployment", "db").Label("Application", "deployment", "api")
}

// makeReady lets the pods that a Deployment of two has become ready.
func (s *story) makeReady(name string) {
	s.Helper()
	var pods corev1.PodList
	s.Await("two pods of "+name, func() bool {
		require.NoError(s, s.API.List(s.Ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{"deployment": name}))
		return len(pods.Items) == 2
	})
	for i := range pods.Items {
		s.Annotate(&pods.Items[i], cluster.ReadyAfter, "0s")
	}
}

// sequenced is a Deployment whose pods our scheduler places.
func (s *story) sequenced(name string) *appsv1.Deployment {
	d := s.deployment(name)
	d.Spec.Template.Spec.SchedulerName = controlplane.PodSequenceScheduler
	return d
}
