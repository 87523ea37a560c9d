package sequentialjob

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
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
			newest := newestOf(tc.pods, "job-0")
			said, _ := wordOf(&batchv1.Job{}, newest, noon)
			assert.Equal(t, tc.want, said.text)
			assert.Equal(t, tc.wantAny, newest != nil)
		})
	}
}

func TestWhatIsSaidOfAJobWhoseStepDoesNotRun(t *testing.T) {
	inPhase := func(phase corev1.PodPhase, createdAfter int, said string) *corev1.Pod {
		pod := podOf("job-0", "a", createdAfter, said)
		pod.Status.Phase = phase
		return &pod
	}
	started := func(after int) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "etl-0"}, Status: batchv1.JobStatus{StartTime: seconds(after)}}
	}
	with := func(job *batchv1.Job, changes ...func(*batchv1.Job)) *batchv1.Job {
		for _, change := range changes {
			change(job)
		}
		return job
	}
	const noPod = "it has no pod, by a quota for instance: kubectl describe job/etl-0 -n data says why"
	for name, tc := range map[string]struct {
		job   *batchv1.Job
		pod   *corev1.Pod
		want  word
		again *metav1.Time
	}{
		"its pod runs":              {job: with(started(-99), active), pod: inPhase(corev1.PodRunning, -99, "")},
		"its pod runs, and crashes": {job: with(started(-99), active), pod: inPhase(corev1.PodRunning, -99, "waits"), want: word{text: "pod a waits"}},
		"its pod is new":            {job: with(started(-9), active), pod: inPhase(corev1.PodPending, -9, ""), again: seconds(1)},
		"its pod takes long to start": {
			job: with(started(-99), active), pod: inPhase(corev1.PodPending, -10, ""), want: word{"pod a starts", true, seconds(-10).Unix()},
		},
		"its pod has no node": {
			job: with(started(-9), active), pod: inPhase(corev1.PodPending, -1, "is not scheduled"),
			want: word{"pod a is not scheduled", true, seconds(-1).Unix()},
		},
		"its pod has failed, and another one follows": {
			job: with(started(-99), attemptsFailed(1, 1)), pod: inPhase(corev1.PodFailed, -9, "failed"), want: word{text: "pod a failed", waits: true},
		},
		"its pod has failed, and no other one follows": {
			job: with(started(-99), attemptsFailed(2, 1)), pod: inPhase(corev1.PodFailed, -9, "failed"), want: word{text: "pod a failed"},
		},
		"its pod has failed, and another one is there that is not known yet": {
			job: with(started(-99), active), pod: inPhase(corev1.PodFailed, -9, "failed"), want: word{text: "pod a failed"},
		},
		"its pod has succeeded":              {job: started(-99), pod: inPhase(corev1.PodSucceeded, -99, "")},
		"it has no pod yet":                  {job: started(-9), again: seconds(1)},
		"it has no pod":                      {job: started(-10), want: word{noPod, true, seconds(-10).Unix()}},
		"the Job controller is behind":       {job: &batchv1.Job{}},
		"its pod is not known yet":           {job: with(started(-99), active)},
		"its pod is being deleted":           {job: with(started(-99), podsEnd)},
		"a queue holds it":                   {job: with(started(-99), suspendedByOther)},
		"its pod has succeeded, and is gone": {job: with(started(-99), allPodsSucceeded)},
		"it is complete":                     {job: with(started(-99), complete)},
	} {
		t.Run(name, func(t *testing.T) {
			said, again := wordOf(tc.job, tc.pod, noon)
			assert.Equal(t, tc.want, said)
			if tc.again == nil {
				assert.Zero(t, again)
			} else {
				assert.Equal(t, tc.again.UTC(), again.UTC())
			}
		})
	}
}

func TestStatusSaysWhatPodsSay(t *testing.T) {
	hear := func(w *worldWrapper) world {
		w.heard, w.heardLast = word{text: "pod a waits"}, "pod a failed"
		return w.world
	}
	waiting := func(w *worldWrapper) world {
		w.heard = word{"pod a is not scheduled", true, seconds(0).Unix()}
		return w.world
	}
	for name, tc := range map[string]struct {
		world world
		want  string
	}{
		"a step that runs": {hear(makeWorld(2).at(0).job(0, active)), `step 1/2 "step-0" runs in Job etl-0; pod a waits`},
		"a step whose pod does not run": {
			waiting(makeWorld(2).at(0).job(0, active)), `step 1/2 "step-0" waits in Job etl-0 since 2026-01-02T12:00:00Z: pod a is not scheduled`,
		},
		"a step of which attempts failed": {
			waiting(makeWorld(2).at(0).job(0, active, attemptsFailed(2, 3))),
			`step 1/2 "step-0" waits in Job etl-0 since 2026-01-02T12:00:00Z: pod a is not scheduled; 2 of 4 attempts failed`,
		},
		"a step that has one attempt": {hear(makeWorld(2).at(0).job(0, attemptsFailed(1, 0))), `step 1/2 "step-0" runs in Job etl-0; pod a waits`},
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

func TestAStepWhosePodDoesNotRunIsPending(t *testing.T) {
	for index := range int32(2) {
		w := makeWorld(2).at(index).job(index, active)
		w.heard = word{text: "pod a is not scheduled", waits: true}
		status := decide(w.world).status
		assert.Equal(t, v1alpha1.PhasePending, status.Phase)
		assert.Equal(t, v1alpha1.ReasonPodPending, progressingReason(status))
		assert.NotNil(t, status.StartTime, "the time of its deadline runs")
	}
}

func TestOfAPodOnlyItsTroubleIsKept(t *testing.T) {
	whole := podOf("job-0", "a", 0, "")
	whole.Spec.NodeName = "node"
	whole.Spec.Containers = []corev1.Container{{Name: "load", Image: "large"}}
	whole.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "load", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
	}}}
	stripped, err := stripPod(&whole)
	require.NoError(t, err)
	want := podOf("job-0", "a", 0, `container "load" waits: ImagePullBackOff`)
	want.Status.Phase = corev1.PodPending
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
	runs := quiet.DeepCopy()
	runs.Status.Phase = corev1.PodRunning
	assert.True(t, troubleChanges.Update(ctrlevent.TypedUpdateEvent[*corev1.Pod]{ObjectOld: &quiet, ObjectNew: runs}), "it begins to run")
	assert.False(t, troubleChanges.Create(ctrlevent.TypedCreateEvent[*corev1.Pod]{Object: &quiet}))
	assert.True(t, troubleChanges.Create(ctrlevent.TypedCreateEvent[*corev1.Pod]{Object: &want}))
}
