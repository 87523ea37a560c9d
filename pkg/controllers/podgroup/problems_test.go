package podgroup

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newEvents are the notes of events that were sent since the last time.
func (s *stage) newEvents() []string {
	var notes []string
	for len(s.events.Events) > 0 {
		notes = append(notes, <-s.events.Events)
	}
	return notes
}

// TestAProblemIsPublishedOnce adds and removes pods while the stage reconciles. A problem is published when it begins, and
// published again only if it was gone in between, whichever pod has it.
func TestAProblemIsPublishedOnce(t *testing.T) {
	const invalid, conflict = "InvalidGroupSize", "GroupSizeConflict"
	gone := func(p *corev1.Pod) { p.Name = "-" + p.Name }
	for name, tc := range map[string]struct {
		steps [][]*corev1.Pod // each changes, adds or removes pods
		want  [][]string      // what is published after each, in parts
	}{
		"nothing happens": {
			steps: [][]*corev1.Pod{{pod("b", sized("x"))}, nil, nil},
			want:  [][]string{{invalid, `of pod b is "x"`}, nil, nil},
		},
		"a pod whose name sorts before comes with the same text": {
			steps: [][]*corev1.Pod{{pod("b", sized("x"))}, {pod("a", sized("x"))}},
			want:  [][]string{{invalid, `of pod b is "x"`}, nil},
		},
		"a pod whose name sorts before comes with another text": {
			steps: [][]*corev1.Pod{{pod("b", sized("x"))}, {pod("a", sized("y"))}},
			want:  [][]string{{invalid, `of pod b is "x"`}, nil},
		},
		"the pod that was named goes, and others have the same text": {
			steps: [][]*corev1.Pod{{pod("a", sized("x")), pod("b", sized("x"))}, {pod("a", gone)}},
			want:  [][]string{{invalid, `of pod a is "x"`}, nil},
		},
		"what was published is fixed: then the next is published": {
			steps: [][]*corev1.Pod{{pod("a", sized("x")), pod("b", sized("y"))}, {pod("a", sized("2"))}},
			want:  [][]string{{invalid, `of pod a is "x"`}, {invalid, `of pod b is "y"`}},
		},
		"it comes again after it was gone": {
			steps: [][]*corev1.Pod{{pod("a", sized("x"))}, {pod("a", sized("1"))}, {pod("a", sized("x"))}},
			want:  [][]string{{invalid, `of pod a is "x"`}, nil, {invalid, `of pod a is "x"`}},
		},
		"annotations disagree, and other pods come that do": {
			steps: [][]*corev1.Pod{
				{pod("b", sized("2")), pod("c", sized("3"))},
				{pod("a", sized("2"))},
				{pod("bb", sized("4"))},
			},
			want: [][]string{{conflict, "of pod b says 2, and that of pod c says 3: 2 counts"}, nil, nil},
		},
		"annotations disagree, and then another holds": {
			steps: [][]*corev1.Pod{{pod("b", sized("2")), pod("c", sized("3"))}, {pod("a", sized("3"))}},
			want: [][]string{
				{conflict, "of pod b says 2, and that of pod c says 3: 2 counts"},
				{conflict, "of pod a says 3, and that of pod b says 2: 3 counts"},
			},
		},
		"sources disagree, and pods come of which one source knows": {
			steps: [][]*corev1.Pod{
				{pod("b", sized("4"), ownedBy("1")), pod("c", ownedBy("1"))},
				{pod("a")},
				{pod("d", phase(corev1.PodPending))},
			},
			want: [][]string{{conflict, "4 pods by annotation podgroup.jhwagner.github.io/size, but 2 by Jobs"}, nil, nil},
		},
		"sources disagree again after they agreed": {
			steps: [][]*corev1.Pod{
				{pod("b", sized("3"), ownedBy("1")), pod("c", ownedBy("1"))},
				{pod("a")},
				{pod("a", gone)},
			},
			want: [][]string{{conflict, "3 pods by"}, nil, {conflict, "3 pods by"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil)
			s.create(job("1", 2))
			for i, pods := range tc.steps {
				for _, p := range pods {
					s.put(p)
				}
				require.NoError(t, s.reconcile())
				got := s.newEvents()
				if tc.want[i] == nil {
					require.Empty(t, got, "step %d", i)
					continue
				}
				require.Len(t, got, 1, "step %d", i)
				for _, part := range tc.want[i] {
					assert.Contains(t, got[0], part, "step %d", i)
				}
			}
		})
	}
}

// TestWhyAGroupIsNotReady uses pods that were created at second 1000 of the stage's clock.
func TestWhyAGroupIsNotReady(t *testing.T) {
	const pending, failed = corev1.PodPending, corev1.PodFailed
	at := func(second int64) podEdit {
		return func(p *corev1.Pod) { p.CreationTimestamp = metav1.Unix(second, 0) }
	}
	failedJob := job("failed", 2)
	failedJob.CreationTimestamp = metav1.Unix(900, 0)
	failedJob.Spec.Template.Labels = map[string]string{DefaultNameLabel: "gang"}
	failedJob.Status.Conditions = []batchv1.JobCondition{{
		Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(990, 0),
	}}
	for name, tc := range map[string]struct {
		objects []client.Object
		after   time.Duration // since the stage began
		want    []string      // of the event; none if nothing is published
		again   time.Duration
	}{
		"a pod does not run yet": {
			objects: []client.Object{pod("a", at(1000)), pod("b", at(990), phase(pending))},
			after:   20 * time.Second, again: 40 * time.Second,
		},
		"a pod does not run for a minute after the newest was created": {
			objects: []client.Object{pod("a", at(1000)), pod("b", at(990), phase(pending))},
			after:   time.Minute,
			want:    []string{"GroupNotReady", "1 of 2 pods run (size by", "Pod b is Pending: look at its events"},
		},
		"pods do not come for a minute": {
			objects: []client.Object{pod("a", at(1000), sized("3"))},
			after:   time.Minute,
			want:    []string{"GroupNotReady", "1 of 1 pods run, 2 more are missing (size by annotation", "Create the missing pods"},
		},
		"a pod that failed is not replaced": {
			objects: []client.Object{pod("a", at(1000)), pod("b", at(990), phase(failed))},
			want:    []string{"GroupNotReady", "Pod b has failed: delete it"},
		},
		"a pod failed that had the label, and another has joined": {
			objects: []client.Object{pod("a", at(990), labelled), pod("b", at(990), labelled, phase(failed)), pod("d", at(1000))},
			want:    []string{"GroupNotReady", "2 of 3 pods run (size by existing pods)", "Pod b has failed: delete it"},
		},
		"a pod stopped that had the label, and another has joined": {
			objects: []client.Object{pod("a", at(1000)), pod("b", at(990), labelled, phase(corev1.PodUnknown))},
			after:   time.Minute,
			want:    []string{"GroupNotReady", "1 of 2 pods run (size by existing pods)", "Pod b is Unknown: look at its events"},
		},
		"a Job failed": {
			objects: []client.Object{pod("a", at(1000)), failedJob},
			want:    []string{"GroupNotReady", "1 of 1 pods run, 2 more are missing", "Job job-failed has failed and creates no more pods", "delete it, or create another Job"},
		},
		"those that there are have the label": {
			objects: []client.Object{pod("a", at(900), labelled, sized("2"))},
			after:   time.Hour,
		},
		"the clock of the API server is ahead": {
			objects: []client.Object{pod("a", at(1030), sized("2"))},
			again:   time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, tc.objects)
			s.clock.SetTime(s.clock.Now().Add(tc.after))
			require.NoError(t, s.reconcile())
			assert.Equal(t, tc.again, s.again)
			got := s.newEvents()
			if tc.want == nil {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			for _, part := range tc.want {
				assert.Contains(t, got[0], part)
			}
			s.put(pod("c", at(s.clock.Now().Unix()), phase(pending)))
			require.NoError(t, s.reconcile())
			require.Empty(t, s.newEvents(), "another pod that waits is no news")
		})
	}
}
