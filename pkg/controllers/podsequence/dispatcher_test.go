package podsequence

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/pkg/record"
	"example.com/podsequence/pkg/sequence"
)

// requests remembers what was asked of it.
type requests struct {
	lifts, explanations, explainAlls []types.NamespacedName
}

func (r *requests) Lift(pod types.NamespacedName)       { r.lifts = append(r.lifts, pod) }
func (r *requests) Explain(pod types.NamespacedName)    { r.explanations = append(r.explanations, pod) }
func (r *requests) ExplainAll(key types.NamespacedName) { r.explainAlls = append(r.explainAlls, key) }

// feedFunc is a feed, or a recorder that runs.
type feedFunc func(ctx context.Context)

func (f feedFunc) Run(ctx context.Context) { f(ctx) }

// records is a recorder that notes what is to be recorded.
type records struct {
	feedFunc
	asked []types.NamespacedName
}

func (r *records) Record(key types.NamespacedName) { r.asked = append(r.asked, key) }

func newQueue() workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return newStatusQueue("", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
}

func TestDispatch(t *testing.T) {
	const gate = "podsequence.example.com/sequence-gate"
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	released := func(scheduler string, gates ...string) sequence.Changes {
		return sequence.Changes{Released: []sequence.Release{
			{Namespace: "shop", Name: "web", UID: "u", SchedulerName: scheduler, Gates: gates},
		}}
	}
	for name, tc := range map[string]struct {
		changes  sequence.Changes
		want     requests
		queued   int
		recorded []types.NamespacedName
	}{
		"a released pod of another scheduler has its gate lifted": {
			changes: released("default-scheduler", gate), want: requests{lifts: []types.NamespacedName{web}},
		},
		"a released pod of our scheduler is left to it": {
			changes: released("podsequence-scheduler", gate),
		},
		"a released pod without a gate needs nothing": {
			changes: released("default-scheduler"),
		},
		"a pod that must wait says so": {
			changes: sequence.Changes{Held: []types.NamespacedName{web}},
			want:    requests{explanations: []types.NamespacedName{web}},
		},
		"all pods of a sequence that came forward say what they wait for now": {
			changes: sequence.Changes{Advanced: []types.NamespacedName{shop}},
			want:    requests{explainAlls: []types.NamespacedName{shop}},
		},
		"the status of a sequence that changed is looked at": {
			changes: sequence.Changes{Sequences: sets.New(shop)}, queued: 1,
		},
		"a pass that a sequence has come to is recorded": {
			changes: sequence.Changes{Ripe: []types.NamespacedName{shop}}, recorded: []types.NamespacedName{shop},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, recorder := &requests{}, &records{}
			d := &dispatcher{ours: sets.New("podsequence-scheduler"), writer: got, recorder: recorder, queue: newQueue()}
			d.dispatch(tc.changes)
			assert.Equal(t, &tc.want, got)
			assert.Equal(t, tc.queued, d.queue.Len())
			assert.Equal(t, tc.recorded, recorder.asked)

			recorder = &records{}
			d = &dispatcher{ours: sets.New("podsequence-scheduler"), recorder: recorder, queue: newQueue()}
			d.dispatch(tc.changes)
			assert.Equal(t, tc.queued, d.queue.Len(), "without gate release status is written all the same")
			assert.Equal(t, tc.recorded, recorder.asked, "and passes are recorded")
		})
	}
}

func TestManySequencesOfOneNamespaceDoNotDelayThoseOfAnother(t *testing.T) {
	d := &dispatcher{queue: newQueue()}
	for i := range 1000 {
		d.dispatch(sequence.Changes{Sequences: sets.New(types.NamespacedName{Namespace: "hostile", Name: fmt.Sprint(i)})})
	}
	d.dispatch(sequence.Changes{Sequences: sets.New(shop)})
	before := 0
	for {
		request, _ := d.queue.Get()
		if request.NamespacedName == shop {
			break
		}
		before++
	}
	assert.Equal(t, 1, before, "statuses that are looked at before that of the other namespace")
}

func TestWhatTheDispatcherStartsRunsAsLongAsTheReconciler(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started, ended := make(chan struct{}), make(chan struct{})
	run := feedFunc(func(ctx context.Context) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
	})
	d := &dispatcher{feed: run, recorder: &records{feedFunc: run}, objects: run}
	assert.NoError(t, d.Start(ctx, newQueue()), "returns while they run")
	for range 3 {
		<-started
	}
	cancel()
	for range 3 {
		<-ended
	}
}

func TestReadiness(t *testing.T) {
	leading, standby := make(chan struct{}), make(chan struct{})
	close(leading)
	why := func(why string) func() string { return func() string { return why } }

	assert.NoError(t, readyz(standby, why("has not begun to watch"))(nil), "a standby is ready to take over")
	assert.Equal(t, errors.New("the list of pods is not complete"), readyz(leading, why("the list of pods is not complete"))(nil))
	assert.NoError(t, readyz(leading, why(""))(nil))
}

func TestOnlyUnboundPodsOfOtherSchedulersAreWatched(t *testing.T) {
	selector := waitingPodsSelector([]string{"podsequence-scheduler", "second"})
	for name, tc := range map[string]struct {
		pod  fields.Set
		want bool
	}{
		"an unbound pod of another scheduler": {fields.Set{"spec.nodeName": "", "spec.schedulerName": "default-scheduler"}, true},
		"a bound pod":                         {fields.Set{"spec.nodeName": "n", "spec.schedulerName": "default-scheduler"}, false},
		"a pod of our scheduler":              {fields.Set{"spec.nodeName": "", "spec.schedulerName": "podsequence-scheduler"}, false},
		"a pod of our scheduler's second profile": {
			fields.Set{"spec.nodeName": "", "spec.schedulerName": "second"}, false,
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, selector.Matches(tc.pod)) })
	}
}

func TestOnlyPodsWithAnAllowedGateAreExplained(t *testing.T) {
	pods := &waitingPods{prefixes: []string{"podsequence.example.com/"}}
	for name, tc := range map[string]struct {
		gates []string
		want  bool
	}{
		"our gate":                    {[]string{"podsequence.example.com/sequence-gate"}, true},
		"our gate after another's":    {[]string{"example.org/quota", "podsequence.example.com/own"}, true},
		"only another system's gate":  {[]string{"example.org/quota"}, false},
		"a pod that nothing can hold": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, pods.isOurs(st.MakePod().SchedulingGates(tc.gates).Obj()))
		})
	}
	t.Run("only another system's gate, but we say what it waits for", func(t *testing.T) {
		pod := st.MakePod().SchedulingGates([]string{"example.org/quota"}).Obj()
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message: `waiting for group 1/2 "Database" of PodSequence shop/backend: 0 of 1 pods ready`,
		}}
		assert.True(t, pods.isOurs(pod))
	})
}

func TestAPodIsToldWhyAPassCannotBeRecorded(t *testing.T) {
	f := newStatusFixture()
	f.engine.ApplySequence(tiers().Obj())
	web := st.MakePod().Namespace("shop").Name("web").UID("web").ResourceVersion("6").
		SchedulingGates([]string{"podsequence.example.com/sequence-gate"}).Obj()
	f.engine.ApplyPod(web)
	said := func(pod *corev1.Pod) string { return record.Explain(f.engine.Decide(pod), f.whyUnrecorded) }
	assert.Empty(t, said(web), "the engine knows what it waits for")

	changes := f.engine.ApplyPod(readyPod("db"))
	const recording = `waiting for group 1/2 "Database" of PodSequence shop/backend: ready, its pass is being recorded`
	assert.Equal(t, recording, said(web))
	f.unrecorded = "its pass cannot be recorded: the server is down"
	assert.Equal(t, recording+": its pass cannot be recorded: the server is down", said(web))
	f.record(changes)
	assert.Empty(t, said(web))
}

func TestTrimKeepsWhatAnExplanationIsMadeFrom(t *testing.T) {
	pod := st.MakePod().Namespace("shop").Name("web").UID("u").ResourceVersion("7").Label("tier", "web").
		SchedulerName("default-scheduler").SchedulingGates([]string{"podsequence.example.com/sequence-gate"}).
		Condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonSchedulingGated).Obj()
	large := pod.DeepCopy()
	large.Annotations = map[string]string{"large": "value"}
	large.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}

	got, err := trim(large)
	assert.NoError(t, err)
	assert.Equal(t, pod.ObjectMeta, got.(*corev1.Pod).ObjectMeta)
	assert.Equal(t, pod.Status.Conditions, got.(*corev1.Pod).Status.Conditions)
	assert.Equal(t, pod.Spec.SchedulingGates, got.(*corev1.Pod).Spec.SchedulingGates)
	assert.Empty(t, got.(*corev1.Pod).Spec.Containers)
}
