package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// optIn is the label of a namespace whose pods our scheduler has.
const optIn = "podsequence.example.com/scheduling"

// Workloads that nobody can edit, as those of charts of others, start in order in a namespace with the label.
func TestANamespaceOptsIn(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.createPods(s.pod("before").SchedulerName(""))
	s.optIn("enabled")
	assert.Equal(t, corev1.DefaultSchedulerName, s.getPod("before").Spec.SchedulerName, "a pod from before stays as it is")

	t.Run("pods of workloads start in order", func(t *testing.T) {
		s.Create(s.sequence("chart").Label("Database", "tier", "db").Label("Application", "tier", "app").Obj())
		for _, tier := range []string{"app", "db"} {
			set := s.statefulSet(tier, tier, 1)
			set.Spec.Template.Spec.SchedulerName = ""
			s.Create(set)
		}
		s.awaitCreated("app-0")
		s.awaitCreated("db-0")
		assert.Equal(t, ourScheduler, s.getPod("app-0").Spec.SchedulerName)
		s.awaitBound("db-0")
		s.expectHeld("app-0")
		s.makeReady("db-0")
		s.awaitBound("app-0")
	})
	t.Run("others are left alone: of a scheduler that was chosen, with a node, elsewhere", func(t *testing.T) {
		elsewhere := newStory(t)
		elsewhere.createPods(elsewhere.pod("elsewhere").SchedulerName(""))
		assert.Equal(t, corev1.DefaultSchedulerName, elsewhere.getPod("elsewhere").Spec.SchedulerName)
		s.createPods(
			s.pod("chosen").SchedulerName(stockScheduler),
			s.pod("placed").SchedulerName("").Node("node-0"),
		)
		assert.Equal(t, stockScheduler, s.getPod("chosen").Spec.SchedulerName)
		assert.Equal(t, corev1.DefaultSchedulerName, s.getPod("placed").Spec.SchedulerName)
	})
	t.Run("only the value enabled counts", func(t *testing.T) {
		other := newStory(t)
		other.label(other.Namespace, optIn, "disabled")
		other.createPods(other.pod("any").SchedulerName(""))
		assert.Equal(t, corev1.DefaultSchedulerName, other.getPod("any").Spec.SchedulerName)
	})
}

// optIn sets the label of the story's namespace, and waits until it counts.
func (s *story) optIn(value string) {
	s.Helper()
	s.label(s.Namespace, optIn, value)
	s.Await("the policy to count", func() bool {
		probe := s.pod("probe").SchedulerName("").Obj()
		require.NoError(s, s.API.Create(s.Ctx, probe, client.DryRunAll))
		return probe.Spec.SchedulerName == ourScheduler
	})
}

// label sets one label of a namespace.
func (s *story) label(namespace, key, value string) {
	s.Helper()
	s.Patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		map[string]any{"metadata": map[string]any{"labels": map[string]string{key: value}}})
}

// unlabel removes one label of a namespace.
func (s *story) unlabel(namespace, key string) {
	s.Helper()
	s.Patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		map[string]any{"metadata": map[string]any{"labels": map[string]any{key: nil}}})
}
