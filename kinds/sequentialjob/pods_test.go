package sequentialjob

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"

	"example.com/podsequence/apis/batch/v1alpha1"
)

func podOf(job, name string, createdAfter int, said string) corev1.Pod {
	controller := true
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "data", Name: name, CreationTimestamp: *seconds(createdAfter),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "etl-0", UID: types.UID(job), Controller: &controller}},
		},
		Status: corev1.PodStatus{Message: said},
	}
}

func TestTheNewestPodOfAJobHasTheLastWord(t *testing.T) {
	leaving := podOf("job-0", "a", 0, "")
	leaving.DeletionTimestamp = seconds(1)
	for name, tc := range map[string]struct {
		pods    []corev1.Pod
		want    string
		wantAny bool
	}{
		"there is none":                   {},
		"there are only those of another": {pods: []corev1.Pod{podOf("job-1", "a", 0, "failed")}},
		"it is being deleted":             {pods: []corev1.Pod{leaving}},
		"it works":                        {pods: []corev1.Pod{podOf("job-0", "a", 0, "")}, wantAny: true},
		"the first one failed":            {pods: []corev1.Pod{podOf("job-0", "a", 0, "failed"), podOf("job-0", "b", 1, "")}, wantAny: true},
		"it waits": {
			pods: []corev1.Pod{podOf("job-0", "b", 1, "waits"), podOf("job-0", "a", 0, "failed")}, want: "pod b waits", wantAny: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			said, any := lastWord(tc.pods, "job-0")
			assert.Equal(t, tc.want, said)
			assert.Equal(t, tc.wantAny, any)
		})
	}
}

func TestStatusSaysWhatPodsSay(t *testing.T) {
	hear := func(w *worldWrapper) world {
		w.heard, w.heardLast = "pod a waits", "pod a failed"
		return w.world
	}
	for name, tc := range map[string]struct {
		world world
		want  string
	}{
		"a step that runs": {hear(makeWorld(2).at(0).job(0, active)), `step 1/2 "step-0" runs in Job etl-0; pod a waits`},
		"a step that failed": {
			hear(makeWorld(2).at(0).job(0, failedFor("BackoffLimitExceeded"))),
			`step 1/2 "step-0": Job etl-0 failed: BackoffLimitExceeded: it failed; pod a failed`,
		},
		"a step that took too long": {
			hear(makeWorld(2).spec(func(s *v1alpha1.SequentialJobSpec) { s.ActiveDeadlineSeconds = new(int64(60)) }).at(0).job(0, limitedTo(0), failedFor("DeadlineExceeded"))),
			`not completed within 60 seconds, stopped in step 1/2 "step-0"; pod a failed`,
		},
		"a step that is suspended": {
			hear(makeWorld(2).spec(suspend).at(0).job(0, suspendedByUs)), `suspended in step 1/2 "step-0"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			status := decide(tc.world).status
			assert.Equal(t, tc.want, status.Message)
		})
	}
}

func TestOfAPodOnlyItsTroubleIsKept(t *testing.T) {
	whole := podOf("job-0", "a", 0, "")
	whole.Spec.NodeName = "node"
	whole.Spec.Containers = []corev1.Container{{Name: "load", Image: "large"}}
	whole.Status = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "load", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
	}}}
	stripped, err := stripPod(&whole)
	require.NoError(t, err)
	want := podOf("job-0", "a", 0, `container "load" waits: ImagePullBackOff`)
	assert.Equal(t, &want, stripped)
	assert.Equal(t, []string{"job-0"}, indexJob(&want))
	assert.Empty(t, indexJob(&corev1.Pod{}))

	r := &reconciler{}
	assert.Equal(t, requestFor("data", "etl"), r.concernedByPod(t.Context(), &want))
	assert.Empty(t, r.concernedByPod(t.Context(), &corev1.Pod{}))

	quiet := podOf("job-0", "a", 0, "")
	update := ctrlevent.TypedUpdateEvent[*corev1.Pod]{ObjectOld: &want, ObjectNew: &quiet}
	assert.True(t, troubleChanges.Update(update))
	update.ObjectOld = quiet.DeepCopy()
	assert.False(t, troubleChanges.Update(update), "what else changes is of no interest")
	assert.False(t, troubleChanges.Create(ctrlevent.TypedCreateEvent[*corev1.Pod]{Object: &quiet}))
	assert.True(t, troubleChanges.Create(ctrlevent.TypedCreateEvent[*corev1.Pod]{Object: &want}))
}
