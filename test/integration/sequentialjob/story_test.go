package sequentialjob

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

const (
	completeAfter = "sandbox.podsequence.example.com/complete-after"
	failAfter     = "sandbox.podsequence.example.com/fail-after"

	// patience is how long something that must happen may take on a loaded machine.
	patience = 3 * time.Minute
)

// story is one test: a namespace, and words to tell what happens in it.
type story struct {
	*testing.T
	ctx       context.Context
	namespace string
	fences    int
}

// newStory begins a story that may be told beside others.
func newStory(t *testing.T) *story {
	t.Helper()
	t.Parallel()
	return newLonelyStory(t)
}

// newLonelyStory begins a story that tampers with what others need. Parallel tests wait until it is over.
func newLonelyStory(t *testing.T) *story {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "story-"}}
	require.NoError(t, api.Create(ctx, ns))
	t.Cleanup(func() { assert.NoError(t, api.Delete(context.Background(), ns)) })
	s := &story{T: t, ctx: ctx, namespace: ns.Name}
	// Pods are refused without it, and a busy controller-manager takes its time.
	s.await("the account that pods need", func() bool { return api.Get(ctx, s.key("default"), &corev1.ServiceAccount{}) == nil })
	return s
}

// steps is a SequentialJob of that many steps, whose pods run until the test ends them.
func (s *story) steps(name string, n int) *v1alpha1.SequentialJob {
	object := &v1alpha1.SequentialJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec:       v1alpha1.SequentialJobSpec{BackoffLimit: ptr.To[int32](0)},
	}
	object.Spec.Template.Annotations = map[string]string{completeAfter: "never"}
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
	object.Spec.Template.Annotations = map[string]string{completeAfter: "0s"}
	return object
}

func (s *story) create(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		require.NoError(s, api.Create(s.ctx, object), "create %T %s", object, object.GetName())
	}
}

func (s *story) get(name string) *v1alpha1.SequentialJob {
	s.Helper()
	object := &v1alpha1.SequentialJob{}
	require.NoError(s, api.Get(s.ctx, s.key(name), object))
	return object
}

func (s *story) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: s.namespace, Name: name}
}

// job is the Job of that name, or nil if there is none.
func (s *story) job(name string) *batchv1.Job {
	s.Helper()
	job := &batchv1.Job{}
	err := api.Get(s.ctx, s.key(name), job)
	if client.IgnoreNotFound(err) == nil && err != nil {
		return nil
	}
	require.NoError(s, err)
	return job
}

func (s *story) jobs() []batchv1.Job {
	s.Helper()
	var jobs batchv1.JobList
	require.NoError(s, api.List(s.ctx, &jobs, client.InNamespace(s.namespace)))
	return jobs.Items
}

// pods are the pods of a step that are there and not on their way out.
func (s *story) pods(name string, step int) []corev1.Pod {
	s.Helper()
	var pods corev1.PodList
	require.NoError(s, api.List(s.ctx, &pods, client.InNamespace(s.namespace),
		client.MatchingLabels{v1alpha1.LabelName: name, v1alpha1.LabelStepIndex: strconv.Itoa(step)}))
	var alive []corev1.Pod
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			alive = append(alive, pod)
		}
	}
	return alive
}

// patch merges this into an object.
func (s *story) patch(object client.Object, content map[string]any) {
	s.Helper()
	encoded, err := json.Marshal(content)
	require.NoError(s, err)
	require.NoError(s, api.Patch(s.ctx, object, client.RawPatch(types.MergePatchType, encoded)))
}

func (s *story) patchSpec(name string, spec map[string]any) {
	s.Helper()
	s.patch(&v1alpha1.SequentialJob{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}, map[string]any{"spec": spec})
}

// end has the running pod of a step end, one way or the other.
func (s *story) end(name string, step int, how string) {
	s.Helper()
	s.awaitRunning(name, step)
	pod := s.pods(name, step)[0]
	s.patch(&pod, map[string]any{"metadata": map[string]any{"annotations": map[string]string{how: "0s"}}})
}

func (s *story) complete(name string, step int) { s.Helper(); s.end(name, step, completeAfter) }
func (s *story) fail(name string, step int)     { s.Helper(); s.end(name, step, failAfter) }

// awaitRunning waits until a pod of the step runs.
func (s *story) awaitRunning(name string, step int) {
	s.Helper()
	s.await(fmt.Sprintf("step %d of %s to run", step, name), func() bool {
		pods := s.pods(name, step)
		return len(pods) == 1 && pods[0].Status.Phase == corev1.PodRunning
	})
}

// await waits for what must happen.
func (s *story) await(what string, happened func() bool) {
	s.Helper()
	require.Eventually(s, happened, patience, 20*time.Millisecond, "waited for %s", what)
}

func (s *story) awaitPhase(name string, phase v1alpha1.Phase) *v1alpha1.SequentialJob {
	s.Helper()
	var object *v1alpha1.SequentialJob
	s.await(fmt.Sprintf("%s to be %s", name, phase), func() bool {
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
	s.create(s.quickSteps(name, 1))
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
	require.NoError(s, api.List(s.ctx, &list, client.InNamespace(s.namespace)))
	var all []string
	for _, e := range list.Items {
		if e.Regarding.Kind == v1alpha1.SequentialJobKind.Kind && e.Regarding.Name == name {
			assert.Nil(s, e.Series, "%s happened more than once", e.Reason)
			all = append(all, e.Reason+": "+e.Note)
		}
	}
	return all
}
