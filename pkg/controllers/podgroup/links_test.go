package podgroup

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/internal/podgroups"
)

// requested is a queue that notes which groups are asked for.
type requested struct {
	queue
	groups sets.Set[string]
}

func (r *requested) AddAfter(request reconcile.Request, _ time.Duration) {
	r.groups.Insert(request.Name)
}

// TestWhichGroupsAnEventConcerns creates, changes and deletes pods, and then sends events of a Job and a PodGroup.
func TestWhichGroupsAnEventConcerns(t *testing.T) {
	in := func(group string) podEdit { return func(p *corev1.Pod) { p.Labels[DefaultNameLabel] = group } }
	type handlers struct {
		handler.EventHandler
		q *requested
	}
	create := func(h handlers, p *corev1.Pod) { h.Create(t.Context(), event.CreateEvent{Object: p}, h.q) }
	update := func(h handlers, before, after *corev1.Pod) {
		h.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, h.q)
	}
	remove := func(h handlers, p *corev1.Pod) { h.Delete(t.Context(), event.DeleteEvent{Object: p}, h.q) }
	for name, tc := range map[string]struct {
		pods         func(h handlers)
		wantJob      []string
		wantPodGroup []string
	}{
		"nobody refers to them": {
			pods: func(h handlers) { create(h, pod("a", ownedBy("other"), inNative("other"))) },
		},
		"pods refer to them": {
			pods: func(h handlers) {
				create(h, pod("a", ownedBy("1"), inNative("g")))
				create(h, pod("b", ownedBy("1"), in("second")))
			},
			wantJob: []string{"gang", "second"}, wantPodGroup: []string{"gang"},
		},
		"a pod changes its group": {
			pods: func(h handlers) {
				create(h, pod("a", ownedBy("1"), inNative("g")))
				update(h, pod("a", ownedBy("1"), inNative("g")), pod("a", ownedBy("1"), inNative("g"), in("second")))
			},
			wantJob: []string{"second"}, wantPodGroup: []string{"second"},
		},
		"a pod is adopted and orphaned": {
			pods: func(h handlers) {
				create(h, pod("a"))
				update(h, pod("a"), pod("a", ownedBy("1")))
				create(h, pod("b", ownedBy("1"), in("second")))
				update(h, pod("b", ownedBy("1"), in("second")), pod("b", in("second")))
			},
			wantJob: []string{"gang"},
		},
		"a pod gets its label and runs": {
			pods: func(h handlers) {
				create(h, pod("a", ownedBy("1"), phase(corev1.PodPending)))
				update(h, pod("a", ownedBy("1"), phase(corev1.PodPending)), pod("a", ownedBy("1")))
				update(h, pod("a", ownedBy("1")), pod("a", ownedBy("1"), labelledFor("gang")))
			},
			wantJob: []string{"gang"},
		},
		"one of two pods goes": {
			pods: func(h handlers) {
				create(h, pod("a", ownedBy("1")))
				create(h, pod("b", ownedBy("1")))
				remove(h, pod("a", ownedBy("1")))
			},
			wantJob: []string{"gang"},
		},
		"both go": {
			pods: func(h handlers) {
				create(h, pod("a", ownedBy("1")))
				create(h, pod("b", ownedBy("1")))
				remove(h, pod("a", ownedBy("1")))
				remove(h, pod("b", ownedBy("1")))
			},
		},
		"a pod is in no group": {
			pods: func(h handlers) { create(h, pod("a", ownedBy("1"), in(""))) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reconciler{options: options, labels: newLabeller(options, nil), memories: map[types.NamespacedName]*memory{}}
			tc.pods(handlers{r.podHandler(), &requested{groups: sets.New[string]()}})
			q := &requested{groups: sets.New[string]()}
			r.workloadHandler().Create(t.Context(), event.CreateEvent{Object: job("1", 2)}, q)
			assert.ElementsMatch(t, tc.wantJob, sets.List(q.groups))
			q.groups.Clear()
			r.podGroupHandler(q)(podgroups.Reference{Kind: podgroups.Native, NamespacedName: types.NamespacedName{Namespace: "train", Name: "g"}})
			assert.ElementsMatch(t, tc.wantPodGroup, sets.List(q.groups))
		})
	}
}

// A Job that comes or goes changes how many its JobSet has yet to create, for all groups of that.
func TestAJobConcernsTheGroupsOfItsJobSet(t *testing.T) {
	r := &reconciler{options: options, labels: newLabeller(options, nil), memories: map[types.NamespacedName]*memory{}}
	q := &requested{groups: sets.New[string]()}
	driver, worker, silent := jobOfSet("driver", 1), jobOfSet("w-0", 1), jobOfSet("silent", 1)
	driver.Spec.Template.Labels[DefaultNameLabel] = "drivers"
	delete(silent.Spec.Template.Labels, DefaultNameLabel)
	for _, step := range []struct {
		do   func(handler.EventHandler)
		want []string
	}{
		{func(h handler.EventHandler) { h.Create(t.Context(), event.CreateEvent{Object: driver}, q) }, []string{"drivers"}},
		{func(h handler.EventHandler) { h.Create(t.Context(), event.CreateEvent{Object: worker}, q) }, []string{"drivers", "gang"}},
		{func(h handler.EventHandler) { h.Create(t.Context(), event.CreateEvent{Object: silent}, q) }, []string{"drivers", "gang"}},
		{func(h handler.EventHandler) { h.Delete(t.Context(), event.DeleteEvent{Object: worker}, q) }, []string{"drivers", "gang"}},
		{func(h handler.EventHandler) { h.Delete(t.Context(), event.DeleteEvent{Object: silent}, q) }, []string{"drivers"}},
		{func(h handler.EventHandler) { h.Delete(t.Context(), event.DeleteEvent{Object: driver}, q) }, []string{"drivers"}},
	} {
		q.groups.Clear()
		step.do(r.workloadHandler())
		assert.ElementsMatch(t, step.want, sets.List(q.groups))
	}
	assert.Empty(t, r.links.pods)
}

// A Job has many events while its pods come and go, and each would otherwise go through all of them.
func TestAnEventOfAWorkloadDoesNotGoThroughItsPods(t *testing.T) {
	r := &reconciler{options: options, labels: newLabeller(options, nil), memories: map[types.NamespacedName]*memory{}}
	q := &requested{groups: sets.New[string]()}
	for i := range 1000 {
		r.podHandler().Create(t.Context(), event.CreateEvent{Object: pod(fmt.Sprint("p-", i), ownedBy("1"))}, q)
	}
	few := testing.AllocsPerRun(10, func() { r.groupsOf(job("1", 2)) })
	for i := range 9000 {
		r.podHandler().Create(t.Context(), event.CreateEvent{Object: pod(fmt.Sprint("q-", i), ownedBy("1"))}, q)
	}
	assert.LessOrEqual(t, testing.AllocsPerRun(10, func() { r.groupsOf(job("1", 2)) }), few)
}
