package sequentialjob

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// story is one test: a namespace, and words to tell what happens in it.
type story struct {
	*cluster.Story
	fences int
}

// newStory begins a story that may be told beside others.
func newStory(t *testing.T) *story {
	t.Helper()
	t.Parallel()
	return newLonelyStory(t)
}

// newLonelyStory begins a story that keeps two processors busy. Parallel tests wait until it is over.
func newLonelyStory(t *testing.T) *story {
	t.Helper()
	return newStoryIn(t, shared)
}

// newStoryOfVictims begins a story that tampers with what others need, on a cluster that it has for itself.
func newStoryOfVictims(t *testing.T) *story {
	t.Helper()
	t.Parallel()
	return newStoryIn(t, victims.Take(t))
}

func newStoryIn(t *testing.T, c *cluster.Cluster) *story {
	t.Helper()
	return &story{Story: cluster.NewStory(t, c)}
}

// steps is a SequentialJob of that many steps, whose pods run until the test ends them.
func (s *story) steps(name string, n int) *v1alpha1.SequentialJob {
	object := &v1alpha1.SequentialJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec:       v1alpha1.SequentialJobSpec{BackoffLimit: ptr.To[int32](0)},
	}
	object.Spec.Template.Annotations = map[string]string{cluster.CompleteAfter: "never"}
	for i := range n {
		object.Spec.Containers = append(object.Spec.Containers, corev1.Container{
			Name: fmt.Sprintf("step-%d", i), Image: "example.com/step",
		})
	}
	return object
}

// quickSteps end by themselves as soon as they run.
func (s *story) quickSteps(name string, n int) *v1alpha1.SequentialJob {
	object := s.steps(name, n)
	object.Spec.Template.Annotations = map[string]string{cluster.CompleteAfter: "0s"}
	return object
}

func (s *story) get(name string) *v1alpha1.SequentialJob {
	s.Helper()
	return cluster.Get(s.Story, &v1alpha1.SequentialJob{}, name)
}

// job is the Job of that name, or nil if there is none.
func (s *story) job(name string) *batchv1.Job {
	s.Helper()
	job := &batchv1.Job{}
	err := s.API.Get(s.Ctx, s.Key(name), job)
	if client.IgnoreNotFound(err) == nil && err != nil {
		return nil
	}
	require.NoError(s, err)
	return job
}

func (s *story) jobs() []batchv1.Job {
	s.Helper()
	var jobs batchv1.JobList
	require.NoError(s, s.API.List(s.Ctx, &jobs, client.InNamespace(s.Namespace)))
	return jobs.Items
}

// pods are the pods of a step that are there and not on their way out.
func (s *story) pods(name string, step int) []corev1.Pod {
	s.Helper()
	var pods corev1.PodList
	require.NoError(s, s.API.List(s.Ctx, &pods, client.InNamespace(s.Namespace),
		client.MatchingLabels{v1alpha1.LabelName: name, v1alpha1.LabelStepIndex: strconv.Itoa(step)}))
	var alive []corev1.Pod
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			alive = append(alive, pod)
		}
	}
	return alive
}

func (s *story) patchSpec(name string, spec map[string]any) {
	s.Helper()
	s.Patch(&v1alpha1.SequentialJob{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}, map[string]any{"spec": spec})
}

// end ends the running pod of a step, one way or the other.
func (s *story) end(name string, step int, how string) {
	s.Helper()
	s.awaitRunning(name, step)
	pod := s.pods(name, step)[0]
	s.Patch(&pod, map[string]any{"metadata": map[string]any{"annotations": map[string]string{how: "0s"}}})
}

func (s *story) complete(name string, step int) { s.Helper(); s.end(name, step, cluster.CompleteAfter) }
func (s *story) fail(name string, step int)     { s.Helper(); s.end(name, step, cluster.FailAfter) }

// awaitRunning waits until a pod of the step runs.
func (s *story) awaitRunning(name string, step int) {
	s.Helper()
	s.Await(fmt.Sprintf("step %d of %s to run", step, name), func() bool {
		pods := s.pods(name, step)
		return len(pods) == 1 && pods[0].Status.Phase == corev1.PodRunning
	})
}

func (s *story) awaitPhase(name string, phase v1alpha1.Phase) *v1alpha1.SequentialJob {
	s.Helper()
	var object *v1alpha1.SequentialJob
	s.Await(fmt.Sprintf("%s to be %s", name, phase), func() bool {
		object = s.get(name)
		return object.Status.Phase == phase
	})
	return object
}

// fence returns when the controller has acted on everything that happened before: it sees objects in the order in which
// they change, so when one that was created later has completed, it has dealt with the earlier.
func (s *story) fence() {
	s.Helper()
	s.fences++
	name := fmt.Sprintf("fence%d", s.fences)
	s.Create(s.quickSteps(name, 1))
	s.awaitPhase(name, v1alpha1.PhaseSucceeded)
}

// expectNoJob says that a step has no Job although everything that happened so far has been dealt with.
func (s *story) expectNoJob(name string) {
	s.Helper()
	s.fence()
	assert.Nil(s, s.job(name), "there is a Job %s", name)
}

// expectCondition says that a condition is true, and why.
func (s *story) expectCondition(object *v1alpha1.SequentialJob, kind, reason string) {
	s.Helper()
	c := meta.FindStatusCondition(object.Status.Conditions, kind)
	require.NotNil(s, c, "no condition %s", kind)
	assert.Equal(s, metav1.ConditionTrue, c.Status, kind)
	assert.Equal(s, reason, c.Reason, kind)
	assert.Equal(s, object.Generation, c.ObservedGeneration, kind)
}

// events are the reasons and notes of all events about an object.
func (s *story) events(name string) []string {
	s.Helper()
	var list eventsv1.EventList
	require.NoError(s, s.API.List(s.Ctx, &list, client.InNamespace(s.Namespace)))
	var all []string
	for _, e := range list.Items {
		if e.Regarding.Kind == v1alpha1.SequentialJobKind.Kind && e.Regarding.Name == name {
			assert.Nil(s, e.Series, "%s happened more than once", e.Reason)
			all = append(all, e.Reason+": "+e.Note)
		}
	}
	return all
}
