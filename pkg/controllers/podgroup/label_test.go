package podgroup

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

func TestAPodIsNotWrittenToTwiceWhileTheCacheIsBehind(t *testing.T) {
	s := newStage(t, []client.Object{pod("a")})
	require.NoError(t, s.reconcile())
	require.Equal(t, 1, s.patches)
	require.NoError(t, s.reconcile())
	assert.Equal(t, 1, s.patches, "the cache has it as it was before")
	written := s.labels.written[types.NamespacedName{Namespace: "train", Name: "a"}]
	at := func(version string) *corev1.Pod {
		return pod("a", func(p *corev1.Pod) { p.ResourceVersion = version })
	}
	s.labels.seen(at("11"))
	require.NoError(t, s.reconcile())
	assert.Equal(t, 1, s.patches, "it changed before it was written to")
	s.labels.seen(at(written))
	require.NoError(t, s.reconcile())
	assert.Equal(t, 2, s.patches, "the cache has it as it was written, and without the label: somebody has taken that off")
	s.labels.gone(at("2000"))
	assert.Empty(t, s.labels.written)
	assert.Empty(t, s.labels.wanted)
}

func TestAWriteIsForOnePodAndOneLabel(t *testing.T) {
	s := newStage(t, []client.Object{pod("a")})
	require.NoError(t, s.reconcile())
	assert.JSONEq(t, `{"metadata":{"uid":"a","labels":{"podgroup.jhwagner.github.io/ready":"true"}}}`, s.last)
	assert.Equal(t, "podsequence-controller-podgroup/gang", s.owner)
}

func TestAFailureDoesNotKeepTheOthersFromTheirLabel(t *testing.T) {
	s := newStage(t, []client.Object{pod("a"), pod("b"), pod("c")})
	s.refused["b"] = errors.New("the server is down")
	require.NoError(t, s.reconcile())
	assert.True(t, s.isLabelled("a"))
	assert.True(t, s.isLabelled("c"))
	assert.Equal(t, 1, s.labels.queue.NumRequeues(types.NamespacedName{Namespace: "train", Name: "b"}), "it will be tried again")

	s.patches, s.refused = 0, nil
	s.labels.queue.Add(types.NamespacedName{Namespace: "train", Name: "b"}) // as it is when the time has come
	s.write()
	assert.True(t, s.isLabelled("b"))
	assert.Equal(t, 1, s.patches)
	assert.Empty(t, s.labels.wanted)
}

func TestAPodThatChangesBeforeItIsWrittenTo(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	for name, tc := range map[string]struct {
		now     *corev1.Pod // what the cache has when its turn comes; nil if it is gone
		answer  error       // of the API server
		patches int
		again   bool
	}{
		"it is gone":                               {},
		"it is gone, and the cache is behind":      {now: pod("a"), answer: apierrors.NewNotFound(resource, "a"), patches: 1},
		"it is another":                            {now: pod("a", func(p *corev1.Pod) { p.UID = "other" })},
		"it is another, and the cache is behind":   {now: pod("a"), answer: apierrors.NewConflict(resource, "a", errors.New("another UID")), patches: 1, again: true},
		"it is in another group":                   {now: pod("a", func(p *corev1.Pod) { p.Labels[DefaultNameLabel] = "other" })},
		"somebody else has labelled it":            {now: pod("a", labelled)},
		"it has failed, and did run with the rest": {now: pod("a", phase(corev1.PodFailed)), patches: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil)
			s.create(pod("a"))
			s.labels.want([]*corev1.Pod{pod("a")})
			require.NoError(t, s.cache.Delete(t.Context(), pod("a")))
			if tc.now != nil {
				now := tc.now.DeepCopy()
				now.ResourceVersion = ""
				require.NoError(t, s.cache.Create(t.Context(), now))
			}
			s.refused["a"] = tc.answer
			s.write()
			assert.Equal(t, tc.patches, s.patches)
			requeues := s.labels.queue.NumRequeues(types.NamespacedName{Namespace: "train", Name: "a"})
			assert.Equal(t, tc.again, requeues > 0)
			assert.Equal(t, tc.again, len(s.labels.wanted) > 0)
		})
	}
}

func TestAPodThatLeavesItsGroup(t *testing.T) {
	unnamed := func(p *corev1.Pod) { delete(p.Labels, DefaultNameLabel) }
	empty := func(p *corev1.Pod) { p.Labels[DefaultNameLabel] = "" }
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"without a group, labelled by us":        {pod: pod("a", labelledFor("gang"), unnamed), want: true},
		"with an empty group, labelled by us":    {pod: pod("a", labelledFor("gang"), empty), want: true},
		"without a group, labelled by others":    {pod: pod("a", labelled, unnamed)},
		"without a group and without the label":  {pod: pod("a", unnamed)},
		"with a group, which is looked at later": {pod: pod("a", labelledFor("gang"))},
	} {
		for kind, get := range map[string]func(*reconciler) handler.EventHandler{
			"of a group": (*reconciler).podHandler, "of none": (*reconciler).leaverHandler,
		} {
			t.Run(name+", seen as "+kind, func(t *testing.T) {
				s := newStage(t, nil)
				q := &requested{groups: sets.New[string]()}
				get(s.reconciler).Create(t.Context(), event.CreateEvent{Object: tc.pod}, q)
				assert.Equal(t, tc.want, s.labels.queue.Len() == 1)
				get(s.reconciler).Update(t.Context(), event.UpdateEvent{ObjectOld: pod("a", labelledFor("gang")), ObjectNew: tc.pod}, q)
				assert.Equal(t, tc.want, s.labels.queue.Len() == 1)
			})
		}
	}
}

func TestALargeGroupDoesNotDelayOthers(t *testing.T) {
	s := newStage(t, nil)
	var many []*corev1.Pod
	for i := range 1000 {
		many = append(many, pod(fmt.Sprint("p-", i)))
	}
	s.labels.want(many)
	s.labels.want([]*corev1.Pod{pod("quiet", func(p *corev1.Pod) { p.Namespace = "quiet" })})
	before := 0
	for key, _ := s.labels.queue.Get(); key.Namespace != "quiet"; key, _ = s.labels.queue.Get() {
		s.labels.queue.Done(key)
		before++
	}
	assert.Equal(t, 1, before)
}
