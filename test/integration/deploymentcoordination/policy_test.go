package deploymentcoordination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/podsequence/apis/apps/v1"
)

const policyName = "deploymentcoordination.podsequence.example.com"

// The controller is down: what is paused here is paused by the policy alone.
func TestThePolicyPauses(t *testing.T) {
	selectors := map[string]v1.LabelSelector{
		"matchLabels": {MatchLabels: map[string]v1.LabelValue{"app": "shop"}},
		"In":          {MatchExpressions: []v1.LabelSelectorRequirement{{Key: "app", Operator: v1.LabelSelectorOpIn, Values: []v1.LabelValue{"shop", "x"}}}},
		"Exists":      {MatchExpressions: []v1.LabelSelectorRequirement{{Key: "app", Operator: v1.LabelSelectorOpExists}}},
		"everything":  {},
		"NotIn and DoesNotExist": {MatchExpressions: []v1.LabelSelectorRequirement{
			{Key: "app", Operator: v1.LabelSelectorOpNotIn, Values: []v1.LabelValue{"bank"}}, {Key: "zone", Operator: v1.LabelSelectorOpDoesNotExist},
		}},
	}
	s := newStory(t)
	s.WhileControllerDown(func() {
		for name, selector := range selectors {
			t.Run(name, func(t *testing.T) {
				s := newStory(t)
				c := s.coordination("shop")
				c.Spec.LabelSelector = &selector
				s.Create(c)
				s.awaitPolicy(true)
				s.Create(s.deployment("a"))
				assert.True(t, s.get("a").Spec.Paused)
				assert.Equal(t, "shop", s.get("a").Annotations[v1.PausedByAnnotation])
				other := s.deployment("other")
				other.Labels = map[string]string{"app": "bank", "zone": "z"}
				if name == "matchLabels" || name == "In" || name == "NotIn and DoesNotExist" {
					s.Create(other)
					assert.False(t, s.get("other").Spec.Paused, "another Deployment")
				}
				assert.NoError(t, s.API.Delete(s.Ctx, s.get("a")))
				assert.NoError(t, client.IgnoreNotFound(s.API.Delete(s.Ctx, other)))
			})
		}
		t.Run("neither scaling, nor labels, nor what is paused already", func(t *testing.T) {
			s := newStory(t)
			s.Create(s.deployment("a"))
			s.Create(s.coordination("shop"))
			s.awaitPolicy(true)
			s.update("a", func(d *appsv1.Deployment) {
				d.Spec.Replicas = new(int32(3))
				d.Labels["x"] = "y"
			})
			assert.False(t, s.get("a").Spec.Paused)
			b := s.deployment("b")
			b.Spec.Paused = true
			s.Create(b)
			assert.Empty(t, s.get("b").Annotations[v1.PausedByAnnotation], "its owner paused it")
		})
	})
}

// A controller that does not renew its lease is down. The lease of this cluster is the test's own: its controller elects no leader.
func TestThePolicyPausesOnlyWhileTheControllerRenewsItsLease(t *testing.T) {
	s := newStory(t)
	s.mayOverlap = true
	s.WhileControllerDown(func() {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "podsequence-system", Name: "podsequence-controller"}}
		renewed := func(ago time.Duration) {
			lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(-ago)}
			require.NoError(t, s.API.Update(s.Ctx, lease))
			s.awaitPolicy(ago < time.Minute)
		}
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(time.Hour)} // the test may be slow
		require.NoError(t, s.API.Create(s.Ctx, lease))
		defer func() {
			require.NoError(t, s.API.Delete(s.Ctx, lease))
			s.awaitPolicy(true) // without a lease nobody knows
		}()
		s.coordinate(s.coordination("shop"))
		s.Create(s.deployment("waits"), s.deployment("scaled"))
		assert.True(t, s.get("waits").Spec.Paused)

		renewed(2 * time.Minute)
		s.Create(s.deployment("new"))
		s.update("waits", image("hotfix", "0s"))
		for _, name := range []string{"new", "waits"} {
			d := s.get(name)
			assert.False(t, d.Spec.Paused, name)
			assert.NotContains(t, d.Annotations, v1.PausedByAnnotation, name)
			assert.NotContains(t, d.Annotations, v1.PauseReasonAnnotation, name)
			at, err := time.Parse(time.RFC3339, d.Annotations[v1.UncoordinatedAnnotation])
			require.NoError(t, err, name)
			assert.WithinDuration(t, d.CreationTimestamp.Time, at, 10*time.Minute, name)
		}
		s.awaitComplete("new", "waits")
		s.update("scaled", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(3)) })
		assert.True(t, s.get("scaled").Spec.Paused, "its template did not change")
		owned := s.deployment("owned")
		owned.Spec.Paused = true
		s.Create(owned)
		assert.True(t, s.get("owned").Spec.Paused, "its owner paused it")

		// Times of requests have seconds: one of the same second would not look later.
		unpaused, err := time.Parse(time.RFC3339, s.get("new").Annotations[v1.UncoordinatedAnnotation])
		require.NoError(t, err)
		s.Await("the next second", func() bool { return time.Since(unpaused) > time.Second })
		renewed(-time.Hour)
		s.update("new", image("2", "0s"))
		assert.True(t, s.get("new").Spec.Paused, "it has the annotation of an earlier request")
		s.Create(s.deployment("newer"))
		assert.True(t, s.get("newer").Spec.Paused)
	})
}

// Without the policy the controller pauses what has changed a moment later, and that moment is all there is to see.
func TestWithoutThePolicy(t *testing.T) {
	s := newStory(t)
	s.rolledOut(s.coordination("shop"), "a", "b", "c")
	s.mayOverlap = true

	if s.servesPolicies() {
		binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policyName}}
		require.NoError(t, s.API.Get(s.Ctx, client.ObjectKeyFromObject(binding), binding))
		s.Delete(binding)
		defer func() {
			binding.ResourceVersion, binding.UID = "", ""
			s.Create(binding)
			s.awaitPolicy(true)
		}()
	}
	s.awaitPolicy(false)
	for _, name := range []string{"c", "b", "a"} {
		s.update(name, image("2", "3s"))
	}
	s.awaitReady("shop")
	s.awaitUnpaused("a", "b", "c")
	s.awaitComplete("a", "b", "c")
	var order []string
	for _, r := range s.verdict().Rollouts {
		if r.Complete {
			order = append(order, r.Deployment.Name)
		}
	}
	// The first that changed waits a second for the others. These come later on a slow machine, so the order is not certain.
	assert.ElementsMatch(t, []string{"a", "b", "c"}, order[len(order)-3:])
	for _, overlap := range s.verdict().Overlaps {
		assert.Less(t, overlap.Lasted, 3*time.Second, "%s and %s, of which no new pod can have been ready yet", overlap.First, overlap.Second)
	}
}
