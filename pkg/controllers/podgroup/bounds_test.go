package podgroup

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/internal/podgroups"
	"example.com/podsequence/test/harness/slow"
)

// remembered is how many bytes of text are remembered of problems.
func (s *stage) remembered() (bytes int) {
	for kind, subject := range s.memories[gang].published {
		bytes += len(kind) + len(subject)
	}
	return bytes
}

func TestWhatIsRememberedOfProblemsIsBounded(t *testing.T) {
	slow.Test(t)
	var pods []client.Object
	for i := range 200 {
		pods = append(pods, pod(fmt.Sprintf("p-%03d", i), sized(fmt.Sprint(i, strings.Repeat("x", 100_000)))))
	}
	s := newStage(t, pods)
	require.NoError(t, s.reconcile())
	assert.Len(t, s.events.Events, 1, "one note of each kind")
	assert.Less(t, len(<-s.events.Events), 400)
	assert.Less(t, s.remembered(), 400)

	for i := range 100 { // the same pod, with another annotation each time
		s.publish(t.Context(), s.memories[gang], decide(worldOf(pod("a", sized(fmt.Sprint(i, strings.Repeat("y", 100_000)))))).problems)
	}
	assert.Less(t, s.remembered(), 400)
}

func TestALongAnnotationIsNotKept(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a size":                         {"12", "12"},
		"no size":                        {"twelve", "twelve"},
		"a long text":                    {strings.Repeat("x", 100_000), strings.Repeat("x", 61) + "..."},
		"a long text of several bytes":   {strings.Repeat("é", 50_000), strings.Repeat("é", 30) + "..."},
		"a size with many zeros before":  {strings.Repeat("0", 100_000) + "7", "7"},
		"a number that is no size":       {strings.Repeat("9", 100_000), strings.Repeat("9", 61) + "..."},
		"a long text that begins as one": {"8" + strings.Repeat(" ", 100_000), "8" + strings.Repeat(" ", 60) + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			before := pod("a", sized(tc.text))
			stripped, err := options.strip(before)
			require.NoError(t, err)
			kept := stripped.(*corev1.Pod).Annotations[SizeAnnotation]
			assert.Equal(t, tc.want, kept)
			assert.Equal(t, sizeOf(tc.text), sizeOf(kept))
			assert.Equal(t, tc.text, before.Annotations[SizeAnnotation], "what is not ours to change")
		})
	}
}

// none knows of no PodGroup, and counts how often it is asked.
type none struct{ asked *int }

func (none) Minimum(podgroups.Reference) (int32, bool) { return 0, false }

func (n none) Ask(context.Context, podgroups.Reference) (int32, bool, error) {
	*n.asked++
	return 0, false, nil
}

func TestWhatPodsReferToIsAskedForInTurns(t *testing.T) {
	var pods, owners []client.Object
	for i := range 120 {
		owners = append(owners, job(types.UID(fmt.Sprint("o-", i)), 1))
		pods = append(pods, pod(fmt.Sprintf("p-%03d", i), inNative(fmt.Sprint("g-", i)), ownedBy(types.UID(fmt.Sprint("o-", i)))))
	}
	s := newStage(t, pods, owners...)
	asked := 0
	s.podGroups = none{&asked}
	_, err := s.Reconcile(t.Context(), reconcile.Request{NamespacedName: gang})
	require.NoError(t, err)
	assert.Equal(t, questionsInATurn, asked)
	assert.Zero(t, s.patches, "no label before all is asked")
	require.NoError(t, s.reconcile())
	assert.Equal(t, 120, asked, "each is asked for once")
	assert.Equal(t, 5, s.turns+1)
	assert.Equal(t, 120, s.patches)
	assert.Nil(t, s.memories[gang].asked.minimums, "the answers are not kept")
}

// delays is a queue that notes how long things wait.
type delays struct {
	queue
	waits []time.Duration
}

func (d *delays) AddAfter(_ reconcile.Request, wait time.Duration) { d.waits = append(d.waits, wait) }

func TestAGroupCostsNoMoreForBeingLarge(t *testing.T) {
	s := newStage(t, nil)
	q := &delays{}
	s.enqueue(q, gang)
	s.remember(gang, 10_000)
	s.enqueue(q, gang)
	assert.Equal(t, []time.Duration{batchPeriod, 220 * time.Millisecond}, q.waits)
}

func TestManyGroupsOfOneNamespaceDoNotDelayThoseOfAnother(t *testing.T) {
	q := newQueue("", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	for i := range 1000 {
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "hostile", Name: fmt.Sprint(i)}})
	}
	q.Add(reconcile.Request{NamespacedName: gang})
	before := 0
	for request, _ := q.Get(); request.NamespacedName != gang; request, _ = q.Get() {
		before++
	}
	assert.Equal(t, 1, before)
}
