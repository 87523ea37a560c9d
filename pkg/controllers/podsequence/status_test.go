package podsequence

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/objectwatch"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/statusbudget"
	psttesting "example.com/podsequence/test/harness/builders"
)

// statusFixture is a reconciler with an engine that the test feeds.
type statusFixture struct {
	*statusReconciler
	engine   *sequence.Engine
	clock    *clocktesting.FakePassiveClock
	recorder *events.FakeRecorder
	// err is what the next writes get; written are those that got none.
	err     error
	written []*v1alpha1.PodSequence
	// clusters are the ClusterPodSequences among them.
	clusters []*v1alpha1.ClusterPodSequence
	// finalizers are those of the objects that finalizers were removed from.
	finalizers [][]string
	// listing is what cannot be listed.
	listing string
	objects *observations
	// again are the sequences that are to be looked at again.
	again []types.NamespacedName
}

func newStatusFixture() *statusFixture {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC))
	f := &statusFixture{
		engine: sequence.NewEngine(sequence.Config{
			SchedulerNames: []string{"podsequence-scheduler"}, GatePrefixes: []string{"podsequence.example.com/"},
		}),
		clock:    clock,
		recorder: events.NewFakeRecorder(100),
		objects:  &observations{seen: map[v1alpha1.ObjectReference]objectwatch.Observation{}},
	}
	f.statusReconciler = &statusReconciler{
		engine: f.engine, statuses: f, recorder: f.recorder, clock: clock, pacer: newPacer(clock, (*statusbudget.Budget)(nil).For(nil)),
		whyUnconfirmed: func(string) string { return f.listing }, former: newFormerFinalizers(f), objects: f.objects,
		circles: newCircles(func(key types.NamespacedName) { f.again = append(f.again, key) }),
	}
	return f
}

// Update is the API server.
func (f *statusFixture) Update(_ context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	if f.err != nil {
		return f.err
	}
	if cluster, ok := object.(*v1alpha1.ClusterPodSequence); ok {
		f.clusters = append(f.clusters, cluster)
		return nil
	}
	f.written = append(f.written, object.(*v1alpha1.PodSequence))
	return nil
}

// Patch is the API server, too.
func (f *statusFixture) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	if f.err == nil {
		f.finalizers = append(f.finalizers, object.GetFinalizers())
	}
	return f.err
}

// watchBrings passes what was last written to the engine.
func (f *statusFixture) watchBrings() {
	f.engine.ApplySequence(f.written[len(f.written)-1].DeepCopy())
}

// answer answers the engine's questions: nothing is missing here.
func (f *statusFixture) answer(changes sequence.Changes) {
	for subject, question := range changes.Questions {
		f.answer(f.engine.Confirm(subject, question.Moment))
	}
}

func (f *statusFixture) reconcile(t *testing.T) time.Duration {
	t.Helper()
	result, err := f.Reconcile(t.Context(), reconcile.Request{NamespacedName: shop})
	require.NoError(t, err)
	return result.RequeueAfter
}

func (f *statusFixture) events() []string {
	var all []string
	for len(f.recorder.Events) > 0 {
		all = append(all, <-f.recorder.Events)
	}
	return all
}

var shop = types.NamespacedName{Namespace: "shop", Name: "backend"}

func tiers() *psttesting.SequenceWrapper {
	return psttesting.MakeSequence("shop", "backend").UID("u1").Pods("Database", "db").Pods("Frontend", "web")
}

func readyPod(name string) *corev1.Pod {
	return st.MakePod().Namespace("shop").Name(name).UID(name).ResourceVersion("7").
		Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj()
}

// The request of a ClusterPodSequence has no namespace, and its own kind is what is written, spec and all.
func TestTheStatusOfAClusterPodSequenceIsWritten(t *testing.T) {
	f := newStatusFixture()
	cluster := &v1alpha1.ClusterPodSequence{ObjectMeta: metav1.ObjectMeta{Name: "csi", UID: "csi", Generation: 1, ResourceVersion: "5"}}
	for _, name := range []string{"driver", "app"} {
		cluster.Spec.PodGroups = append(cluster.Spec.PodGroups, v1alpha1.ClusterPodGroup{
			PodGroup: v1alpha1.PodGroup{Name: name, Pods: []string{name}}, Namespaces: []string{"shop"},
		})
	}
	f.answer(f.engine.ApplyClusterSequence(cluster))
	f.answer(f.engine.ApplyPod(readyPod("driver")))
	_, err := f.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "csi"}})
	require.NoError(t, err)
	assert.Empty(t, f.written)
	require.Len(t, f.clusters, 1)
	written := f.clusters[0]
	assert.Equal(t, cluster.Spec, written.Spec)
	assert.Equal(t, "5", written.ResourceVersion, "what has changed since is not written over")
	assert.Equal(t, "2/2 app", written.Status.CurrentGroup)
	assert.Equal(t, []string{"shop/driver"}, written.Status.ProcessedPods)
	assert.Contains(t, f.events(), `Normal GroupReady group 1/2 "driver" is ready: 1 of 1 pods`)
}

func TestStatusIsWrittenOnceForEachChange(t *testing.T) {
	f := newStatusFixture()
	f.engine.ApplySequence(tiers().Obj())

	assert.Zero(t, f.reconcile(t))
	require.Len(t, f.written, 1)
	assert.Equal(t, v1alpha1.PhasePending, f.written[0].Status.Phase)
	assert.Zero(t, f.written[0].Status.Conditions[0].LastTransitionTime.Nanosecond(), "the API server keeps whole seconds")
	assert.Equal(t, []string{`Normal GroupReleased group 1/2 "Database" is released: its pods may be scheduled`}, f.events())

	f.watchBrings()
	f.clock.SetTime(f.clock.Now().Add(time.Hour))
	assert.Zero(t, f.reconcile(t))
	assert.Len(t, f.written, 1, "nothing has changed")
	assert.Empty(t, f.events())
}

func TestStatusOfAFastSequenceEndsRight(t *testing.T) {
	f := newStatusFixture()
	f.engine.ApplySequence(tiers().Obj())
	f.reconcile(t)
	f.watchBrings()

	f.answer(f.engine.ApplyPod(readyPod("db")))
	assert.Equal(t, writeInterval, f.reconcile(t), "the second write waits for its turn")
	f.answer(f.engine.ApplyPod(readyPod("web")))
	f.clock.SetTime(f.clock.Now().Add(writeInterval))
	assert.Zero(t, f.reconcile(t))

	require.Len(t, f.written, 2, "both changes go in one write")
	assert.Equal(t, v1alpha1.PhaseCompleted, f.written[1].Status.Phase)
	assert.Equal(t, []string{
		`Normal GroupReleased group 1/2 "Database" is released: its pods may be scheduled`,
		`Normal GroupReady group 1/2 "Database" is ready: 1 of 1 pods`,
		`Normal GroupReleased group 2/2 "Frontend" is released: its pods may be scheduled`,
		`Normal GroupReady group 2/2 "Frontend" is ready: 1 of 1 pods`,
		`Normal SequenceCompleted all 2 groups are passed`,
	}, f.events())
}

// oneByOne are turns that others have, until one is granted.
type oneByOne struct{ granted, forgotten int }

func (o *oneByOne) Turn(types.NamespacedName, int) bool {
	o.granted--
	return o.granted >= 0
}

func (o *oneByOne) Forget(types.NamespacedName) { o.forgotten++ }

func TestAStatusThatOnlyInformsWaitsForItsTurn(t *testing.T) {
	f := newStatusFixture()
	turns := &oneByOne{}
	f.pacer = newPacer(f.clock, turns)
	f.engine.ApplySequence(tiers().Obj())
	assert.Zero(t, f.reconcile(t), "its turn leads back here")
	assert.Empty(t, f.written)

	turns.granted = 1
	assert.Zero(t, f.reconcile(t))
	require.Len(t, f.written, 1)
	f.clock.SetTime(f.clock.Now().Add(writeInterval))
	f.engine.ApplySequence(f.written[0])
	f.reconcile(t)
	assert.Equal(t, 1, turns.forgotten, "there is nothing to write")
}

func TestAPassIsRecordedWhileOtherNamespacesHaveMuchToWrite(t *testing.T) {
	f := newStatusFixture()
	turns := &oneByOne{}
	f.pacer = newPacer(f.clock, turns)
	f.engine.ApplySequence(tiers().Obj())
	f.reconcile(t)
	assert.Empty(t, f.written, "it records no pass")

	f.answer(f.engine.ApplyPod(readyPod("db")))
	assert.Zero(t, f.reconcile(t))
	require.Len(t, f.written, 1)
	assert.NotNil(t, f.written[0].Status.Groups[0].PassedAt)
	assert.Equal(t, 1, turns.forgotten)
}

func TestStatusWriteIsGuarded(t *testing.T) {
	f := newStatusFixture()
	object := tiers().Obj()
	object.ResourceVersion = "42"
	f.engine.ApplySequence(object)
	f.reconcile(t)

	require.Len(t, f.written, 1)
	assert.Equal(t, "42", f.written[0].ResourceVersion)
	assert.Equal(t, types.UID("u1"), f.written[0].UID)
	assert.Empty(t, object.Status, "the engine's copy is not touched")
}

func TestRefusedStatusWrites(t *testing.T) {
	resource := v1alpha1.PodSequenceResource.GroupResource()
	for name, tc := range map[string]struct {
		err     error
		wantErr bool
	}{
		"an object that changed meanwhile is left to the event of that change": {
			err: apierrors.NewConflict(resource, "backend", errors.New("modified")),
		},
		"an object that is gone is no failure": {
			err: apierrors.NewNotFound(resource, "backend"),
		},
		"anything else is tried again": {
			err: apierrors.NewForbidden(resource, "backend", errors.New("no rule")), wantErr: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newStatusFixture()
			f.engine.ApplySequence(tiers().Obj())
			f.err = tc.err

			_, err := f.Reconcile(t.Context(), reconcile.Request{NamespacedName: shop})
			assert.Equal(t, tc.wantErr, err != nil)
			assert.Empty(t, f.events(), "what is not in status is not reported")

			f.err = nil
			f.clock.SetTime(f.clock.Now().Add(writeInterval))
			f.reconcile(t)
			assert.Len(t, f.written, 1)
			assert.Len(t, f.events(), 1, "it is reported when it is")
		})
	}
}

func TestASequenceWhoseStatusIsRefusedForItsSpecIsReportedByAnEvent(t *testing.T) {
	f := newStatusFixture()
	f.engine.ApplySequence(tiers().Obj(), sequence.Unreadable{Message: "spec.podGroups: must be a list"})
	f.err = apierrors.NewInvalid(schema.GroupKind{Group: "scheduling.example.com", Kind: "PodSequence"}, "backend", nil)

	_, err := f.Reconcile(t.Context(), reconcile.Request{NamespacedName: shop})
	assert.Error(t, err, "it is tried again, for the definition may change")
	assert.Equal(t, []string{"Warning InvalidSpec spec.podGroups: must be a list"}, f.events())
}

func TestDeletedSequenceIsForgotten(t *testing.T) {
	f := newStatusFixture()
	f.engine.ApplySequence(tiers().Obj())
	f.reconcile(t)
	f.engine.RemoveSequence(shop, "")
	f.clock.SetTime(f.clock.Now().Add(writeInterval))
	f.reconcile(t)

	assert.Len(t, f.written, 1)
	assert.Empty(t, f.pacer.last)
}

func TestStatusWhileAGroupIsConfirmed(t *testing.T) {
	f := newStatusFixture()
	f.engine.ApplySequence(tiers().Obj())
	f.reconcile(t)
	f.watchBrings()
	f.clock.SetTime(f.clock.Now().Add(writeInterval))
	changes := f.engine.ApplyPod(readyPod("db"))

	t.Run("is put off, since it takes milliseconds", func(t *testing.T) {
		assert.Equal(t, confirmGrace, f.reconcile(t))
		assert.Len(t, f.written, 1)
	})
	t.Run("but not for long: then it says so", func(t *testing.T) {
		f.clock.SetTime(f.clock.Now().Add(confirmGrace))
		assert.Equal(t, confirmAgain, f.reconcile(t))
		require.Len(t, f.written, 2)
		progressing := meta.FindStatusCondition(f.written[1].Status.Conditions, v1alpha1.ConditionProgressing)
		assert.Equal(t, v1alpha1.ReasonConfirming, progressing.Reason)
		f.watchBrings()
	})
	t.Run("and why, if it takes long", func(t *testing.T) {
		f.listing = "list jobs: forbidden"
		f.clock.SetTime(f.clock.Now().Add(writeInterval))
		assert.Equal(t, confirmAgain, f.reconcile(t))
		require.Len(t, f.written, 3)
		assert.Contains(t, f.written[2].Status.Message, "checking that no change was missed: list jobs: forbidden")
		f.watchBrings()
	})
	t.Run("and is written as ever once it is", func(t *testing.T) {
		f.answer(changes)
		f.clock.SetTime(f.clock.Now().Add(writeInterval))
		assert.Zero(t, f.reconcile(t))
		require.Len(t, f.written, 4)
		assert.Equal(t, v1alpha1.GroupPassed, f.written[3].Status.Groups[0].Phase)
	})
}
