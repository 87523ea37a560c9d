package integration

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// tier is a group of the pods labelled tier=NAME.
func tier(name string) v1alpha1.PodGroup {
	return v1alpha1.PodGroup{
		Name:        name,
		PodSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"tier": v1alpha1.LabelValue(name)}},
	}
}

// completed is such a group of pods that must have succeeded.
func completed(name string) v1alpha1.PodGroup {
	group := tier(name)
	group.RequiredStatus = v1alpha1.RequireComplete
	return group
}

func (s *story) replicaSet(name, tier string, replicas int32) *appsv1.ReplicaSet {
	template := s.template(tier)
	template.Labels["set"] = name
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To(replicas), Template: template,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"set": name}},
		},
	}
}

// job fails with its first pod that does, unless its backoffLimit is raised. Its pods run until the test ends them.
func (s *story) job(name, tier string, completions, parallelism int32) *batchv1.Job {
	template := s.template(tier)
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	template.Annotations[cluster.CompleteAfter] = "never"
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec: batchv1.JobSpec{
			Completions: ptr.To(completions), Parallelism: ptr.To(parallelism), BackoffLimit: ptr.To[int32](0), Template: template,
		},
	}
}

// remove deletes an object and its dependents, and waits until it is gone.
func (s *story) remove(object client.Object) {
	s.Helper()
	require.NoError(s, s.API.Delete(s.Ctx, object, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	s.AwaitGone(object)
}

// podsOf are the pods labelled tier=TIER that are not terminating and meet the condition, by name.
func (s *story) podsOf(tier string, meet func(*corev1.Pod) bool) []string {
	s.Helper()
	var pods corev1.PodList
	require.NoError(s, s.API.List(s.Ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{"tier": tier}))
	var names []string
	for i := range pods.Items {
		if p := &pods.Items[i]; p.DeletionTimestamp == nil && meet(p) {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

func isPlaced(p *corev1.Pod) bool { return p.Spec.NodeName != "" }

// isWorking reports whether the pod is placed, and neither ready nor at its end.
func isWorking(p *corev1.Pod) bool {
	return isPlaced(p) && !cluster.IsReady(p) && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

// awaitWorking waits for so many pods of a tier that are placed and not ready yet, and returns them.
func (s *story) awaitWorking(tier string, count int) (names []string) {
	s.Helper()
	s.Await(tier+" to have working pods", func() bool {
		names = s.podsOf(tier, isWorking)
		return len(names) == count
	})
	return names
}

// awaitWaiting waits for so many pods of a tier without a node.
func (s *story) awaitWaiting(tier string, count int) []string {
	s.Helper()
	var names []string
	s.Await(tier+" to have pods that wait", func() bool {
		names = s.podsOf(tier, func(p *corev1.Pod) bool { return !isPlaced(p) })
		return len(names) == count
	})
	return names
}

// end brings a working pod to its end.
func (s *story) end(pod, how string, phase corev1.PodPhase) {
	s.Helper()
	s.annotate(pod, how, "0s")
	s.Await(pod+" to be "+string(phase), func() bool {
		found := &corev1.Pod{}
		err := s.API.Get(s.Ctx, s.Key(pod), found)
		return apierrors.IsNotFound(err) || (err == nil && found.Status.Phase == phase)
	})
}

func (s *story) succeed(pod string) {
	s.Helper()
	s.end(pod, cluster.CompleteAfter, corev1.PodSucceeded)
}
func (s *story) fail(pod string) { s.Helper(); s.end(pod, cluster.FailAfter, corev1.PodFailed) }

// awaitCondition waits until a condition of the sequence has this status and reason.
func (s *story) awaitCondition(sequence, kind string, status metav1.ConditionStatus, reason string) *metav1.Condition {
	s.Helper()
	var c *metav1.Condition
	s.Await(sequence+" to be "+kind+"="+string(status)+" for "+reason, func() bool {
		c = meta.FindStatusCondition(s.getSequence(sequence).Status.Conditions, kind)
		return c != nil && c.Status == status && c.Reason == reason
	})
	return c
}

// awaitFailed waits until the sequence says in all places that it failed for this reason.
func (s *story) awaitFailed(sequence, reason string) {
	s.Helper()
	s.awaitPhase(sequence, v1alpha1.PhaseFailed)
	s.awaitCondition(sequence, v1alpha1.ConditionDegraded, metav1.ConditionTrue, reason)
	s.awaitCondition(sequence, v1alpha1.ConditionReady, metav1.ConditionFalse, reason)
	s.awaitCondition(sequence, v1alpha1.ConditionProgressing, metav1.ConditionFalse, reason)
}

// awaitGroup waits until status counts a group so.
func (s *story) awaitGroup(sequence string, group int, ready, expected int32) {
	s.Helper()
	s.Await(sequence+"'s status to count a group", func() bool {
		groups := s.getSequence(sequence).Status.Groups
		return len(groups) > group && groups[group].Ready == ready && groups[group].Expected == expected
	})
}

// awaitEvent waits until there is an event on the sequence for this reason.
func (s *story) awaitEvent(sequence, reason string) {
	s.Helper()
	s.Await(sequence+" to have an event "+reason, func() bool { return s.hasEvent(sequence, reason) })
}

// hasEvent reports whether there is an event on the sequence for this reason. Events are written after the status that they
// tell of, in no order: that one did not happen is told by one of a much later status.
func (s *story) hasEvent(sequence, reason string) bool {
	s.Helper()
	var events eventsv1.EventList
	require.NoError(s, s.API.List(s.Ctx, &events, client.InNamespace(s.Namespace)))
	return slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool {
		return e.Regarding.Name == sequence && e.Reason == reason
	})
}

// placedAt is when the pod was placed, cut to whole seconds.
func (s *story) placedAt(pod string) time.Time {
	s.Helper()
	return s.conditionTime(pod, corev1.PodScheduled)
}

func (s *story) readyAt(pod string) time.Time {
	s.Helper()
	return s.conditionTime(pod, corev1.PodReady)
}

func (s *story) conditionTime(pod string, kind corev1.PodConditionType) time.Time {
	s.Helper()
	for _, c := range s.getPod(pod).Status.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	require.Fail(s, "a condition is missing", "%s of %s", kind, pod)
	return time.Time{}
}
