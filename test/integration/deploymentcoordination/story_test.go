package deploymentcoordination

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/rolloutcheck"
)

// story is one test: a namespace, and words to tell what happens in it. At its end the watcher judges the namespace.
type story struct {
	*cluster.Story
	// overlaps says that the test rolls out two at once on purpose, mayOverlap that it may or may not.
	overlaps, mayOverlap bool
}

func newStory(t *testing.T) *story {
	t.Helper()
	s := &story{Story: cluster.NewStory(t, shared)}
	t.Cleanup(func() {
		if verdict := s.verdict(); !s.mayOverlap {
			assert.Equal(s, s.overlaps, len(verdict.Overlaps) > 0, "the watcher %s", verdict)
		}
	})
	return s
}

func (s *story) verdict() rolloutcheck.Verdict {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cluster.Patience)
	defer cancel()
	verdict, err := watcher.VerdictFor(ctx, s.Namespace)
	require.NoError(s, err)
	return verdict
}

// coordination selects the Deployments with the label app=shop.
func (s *story) coordination(name string, edits ...func(*v1.DeploymentCoordinationSpec)) *v1.DeploymentCoordination {
	c := &v1.DeploymentCoordination{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	c.Spec.LabelSelector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"app": "shop"}}
	for _, edit := range edits {
		edit(&c.Spec)
	}
	return c
}

func minReady(seconds int32) func(*v1.DeploymentCoordinationSpec) {
	return func(s *v1.DeploymentCoordinationSpec) { s.MinReadySeconds = seconds }
}

func timeout(seconds int32, policy v1.TimeoutPolicy) func(*v1.DeploymentCoordinationSpec) {
	return func(s *v1.DeploymentCoordinationSpec) { s.RolloutTimeoutSeconds, s.OnTimeout = &seconds, policy }
}

// deployment is one of two pods that are ready at once.
func (s *story) deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Labels: map[string]string{"app": "shop"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"deployment": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels: map[string]string{"deployment": name}, Annotations: map[string]string{cluster.ReadyAfter: "0s"},
				},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64(0)),
					Containers:                    []corev1.Container{{Name: "app", Image: "example.com/app:1"}},
				},
			},
		},
	}
}

// rolledOut creates Deployments and a coordination once they have rolled out.
func (s *story) rolledOut(c *v1.DeploymentCoordination, names ...string) {
	s.Helper()
	for _, name := range names {
		s.Create(s.deployment(name))
		s.awaitComplete(name)
	}
	s.coordinate(c)
	s.awaitReady(c.Name)
}

// coordinate creates a coordination that selects app=shop, and waits until the policy knows of it, if there is one.
func (s *story) coordinate(c *v1.DeploymentCoordination) {
	s.Helper()
	s.Create(c)
	if s.servesPolicies() {
		s.awaitPolicy(true)
	}
}

// servesPolicies reports whether the cluster serves policies that change objects: it does from Kubernetes 1.36 on.
func (s *story) servesPolicies() bool {
	s.Helper()
	err := s.API.List(s.Ctx, &admissionv1.MutatingAdmissionPolicyBindingList{})
	if meta.IsNoMatchError(err) {
		return false
	}
	require.NoError(s, err)
	return true
}

// awaitPolicy waits until the policy pauses what is created with the label app=shop, or does not.
func (s *story) awaitPolicy(pauses bool) {
	s.Helper()
	s.Await(fmt.Sprintf("the policy to pause: %t", pauses), func() bool {
		probe := s.deployment("probe")
		require.NoError(s, s.API.Create(s.Ctx, probe, client.DryRunAll))
		return probe.Spec.Paused == pauses
	})
}

func (s *story) get(name string) *appsv1.Deployment {
	s.Helper()
	return cluster.Get(s.Story, &appsv1.Deployment{}, name)
}

func (s *story) status(name string) *v1.DeploymentCoordinationStatus {
	s.Helper()
	return &cluster.Get(s.Story, &v1.DeploymentCoordination{}, name).Status
}

// update changes a Deployment in one request.
func (s *story) update(name string, edit func(*appsv1.Deployment)) {
	s.Helper()
	cluster.Change(s.Story, &appsv1.Deployment{ObjectMeta: s.Meta(name)}, edit)
}

// image changes the template of a Deployment; its new pods are ready when ready says so.
func image(tag, ready string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Image = "example.com/app:" + tag
		d.Spec.Template.Annotations[cluster.ReadyAfter] = ready
	}
}

func unpause(d *appsv1.Deployment) { d.Spec.Paused = false }

func (s *story) awaitActive(name string) {
	s.Helper()
	s.Await(name+" to be active", func() bool { return s.status("shop").ActiveDeployment == s.Namespace+"/"+name })
}

func (s *story) awaitPaused(names ...string) {
	s.Helper()
	for _, name := range names {
		s.Await(name+" to be paused", func() bool { return s.get(name).Spec.Paused })
	}
}

func (s *story) awaitUnpaused(names ...string) {
	s.Helper()
	for _, name := range names {
		s.Await(name+" to be unpaused", func() bool {
			d := s.get(name)
			return !d.Spec.Paused && d.Annotations[v1.PausedByAnnotation] == ""
		})
	}
}

func (s *story) awaitComplete(names ...string) {
	s.Helper()
	for _, name := range names {
		s.Await(name+" to be rolled out", func() bool { return complete(s.get(name)) })
	}
}

// awaitCondition waits for a condition, told as "True Reason".
func (s *story) awaitCondition(name, kind, want string) {
	s.Helper()
	got := ""
	defer func() {
		if s.Failed() {
			s.Logf("condition %s is %q", kind, got)
		}
	}()
	s.Await(fmt.Sprintf("%s to be %s", kind, want), func() bool {
		condition := meta.FindStatusCondition(s.status(name).Conditions, kind)
		if condition == nil {
			return false
		}
		got = string(condition.Status) + " " + condition.Reason
		return got == want
	})
}

// awaitReady waits until all Deployments of the namespace have rolled out and the coordination says so of its own.
func (s *story) awaitReady(name string) {
	s.Helper()
	s.Await("all to have rolled out", func() bool {
		var list appsv1.DeploymentList
		require.NoError(s, s.API.List(s.Ctx, &list, client.InNamespace(s.Namespace)))
		for i := range list.Items {
			if d := &list.Items[i]; marked(d) || !complete(d) {
				return false
			}
		}
		return true
	})
	s.Await(name+" to list them", func() bool { return len(s.status(name).Deployments) > 0 })
	s.awaitCondition(name, v1.ConditionReady, "True "+v1.ReasonRolledOut)
}

func marked(d *appsv1.Deployment) bool { return d.Annotations[v1.PausedByAnnotation] != "" }

func complete(d *appsv1.Deployment) bool {
	want, is := *d.Spec.Replicas, d.Status
	return is.ObservedGeneration >= d.Generation && is.Replicas == want && is.UpdatedReplicas == want && is.AvailableReplicas == want
}

// fence returns when the controller has dealt with everything that happened before. It sees Deployments in the order in
// which they change and works on one thing after another, so when it has released one that changed later, it has dealt with
// the earlier; the second time also with what it had to do twice. The fence is in another namespace, or it would be judged.
func (s *story) fence() {
	s.Helper()
	for range 2 {
		d := s.deployment("")
		d.Namespace, d.GenerateName, d.Labels = metav1.NamespaceDefault, "fence-", nil // nothing matches it
		d.Annotations = map[string]string{v1.PausedByAnnotation: "nobody"}
		d.Spec.Paused, d.Spec.Replicas = true, new(int32(0))
		d.Spec.Selector.MatchLabels, d.Spec.Template.Labels = map[string]string{"fence": "yes"}, map[string]string{"fence": "yes"}
		s.Create(d)
		s.Await("the fence to be released", func() bool {
			require.NoError(s, s.API.Get(s.Ctx, client.ObjectKeyFromObject(d), d))
			return !d.Spec.Paused
		})
		s.Delete(d)
	}
}

// events counts those of the namespace by reason.
func (s *story) events() map[string]int {
	s.Helper()
	reasons := map[string]int{}
	for _, e := range s.Events("") {
		reasons[e.Reason]++
	}
	return reasons
}

func (s *story) awaitEvent(reason string) {
	s.Helper()
	s.Await("event "+reason, func() bool { return s.events()[reason] > 0 })
}

// after is what the watcher saw begin since n rollouts.
func (s *story) after(n int) []rolloutcheck.Rollout { return s.verdict().Rollouts[n:] }
