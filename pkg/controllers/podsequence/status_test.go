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
	"example.com/podsequence/internal/takeover"
	"example.com/podsequence/pkg/controllers/podsequence/objectwatch"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/order"
	psttesting "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/passes"
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
	// unrecorded is why passes cannot be recorded.
	unrecorded string
	objects    *observations
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
		engine: f.engine, statuses: f, recorder: f.recorder, clock: clock, pacer: newPacer(clock, unbounded{}),
		whyUnrecorded: func(types.NamespacedName) string { return f.unrecorded }, former: takeover.NewFinalizers(v1alpha1.FormerFinalizer), patcher: f, objects: f.objects,
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
func (f *statusFixture) watchBrings() sequence.Changes {
	object := f.written[len(f.written)-1].DeepCopy()
	object.ResourceVersion = passes.Next(object.ResourceVersion)
	return f.engine.ApplySequence(object)
}

// record records what an event made ripe.
func (f *statusFixture) record(changes sequence.Changes) { passes.RecordAll(f.engine, changes) }

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
	f.record(f.engine.ApplyClusterSequence(cluster))
	f.record(f.engine.ApplyPod(readyPod("driver")))
	_, err := f.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "csi"}})
	require.NoError(t, err)
	assert.Empty(t, f.written)
	require.Len(t, f.clusters, 1)
	written := f.clusters[0]
	assert.Equal(t, cluster.Spec, written.Spec)
	assert.Equal(t, "6", written.ResourceVersion, "that of the record: what has changed since is not written over")
	assert.Len(t, written.Status.Passes, 1)
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

	f.record(f.engine.ApplyPod(readyPod("db")))
	assert.Equal(t, writeInterval, f.reconcile(t), "the second write waits for its turn")
	f.record(f.engine.ApplyPod(readyPod("web")))
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

// The pods that wait for a group go by the record of its pass, which is not for this reconciler to make.
func TestThatAGroupIsPassedWaitsForItsTurnToBeTold(t *testing.T) {
	f := newStatusFixture()
	turns := &oneByOne{}
	f.pacer = newPacer(f.clock, turns)
	f.engine.ApplySequence(tiers().Obj())
	f.record(f.engine.ApplyPod(readyPod("db")))
	assert.Zero(t, f.reconcile(t), "its turn leads back here")
	assert.Empty(t, f.written)
	turns.granted = 1
	assert.Zero(t, f.reconcile(t))
	require.Len(t, f.written, 1)
	assert.NotNil(t, f.written[0].Status.Groups[0].PassedAt)
}

// The scheduler decides by what is recorded of objects.
func TestTheStateOfAnObjectIsRecordedWhileOtherNamespacesHaveMuchToWrite(t *testing.T) {
	f := newStatusFixture()
	turns := &oneByOne{}
	f.pacer = newPacer(f.clock, turns)
	f.engine.ApplySequence(certified().Obj())
	f.objects.seen[tls] = objectwatch.Observation{State: v1alpha1.ObjectSatisfied, UID: "a", Seen: f.clock.Now()}
	assert.Zero(t, f.reconcile(t))
	require.Len(t, f.written, 1)
	assert.Equal(t, v1alpha1.ObjectSatisfied, f.lastObject().State)
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
	f.engine.ApplySequence(tiers().Obj(), order.Unreadable{Message: "spec.podGroups: must be a list"})
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

func TestStatusWhileAPassIsRecorded(t *testing.T) {
	f := newStatusFixture()
	f.engine.ApplySequence(tiers().Obj())
	f.reconcile(t)
	f.watchBrings()
	f.clock.SetTime(f.clock.Now().Add(writeInterval))
	db := readyPod("db")
	db.Status.Conditions[0].LastTransitionTime = metav1.NewTime(f.clock.Now())
	changes := f.engine.ApplyPod(db)
	require.Equal(t, []types.NamespacedName{shop}, changes.Ripe)

	t.Run("is put off, since it takes milliseconds", func(t *testing.T) {
		assert.Equal(t, settleGrace, f.reconcile(t))
		assert.Len(t, f.written, 1)
	})
	t.Run("but not for long: then it says so", func(t *testing.T) {
		f.clock.SetTime(f.clock.Now().Add(settleGrace))
		assert.Equal(t, recordingAgain, f.reconcile(t))
		require.Len(t, f.written, 2)
		progressing := meta.FindStatusCondition(f.written[1].Status.Conditions, v1alpha1.ConditionProgressing)
		assert.Equal(t, v1alpha1.ReasonRecording, progressing.Reason)
		assert.Equal(t, `waiting for group 1/2 "Database": 1 of 1 pods ready, its pass is being recorded`, progressing.Message)
		f.watchBrings()
	})
	t.Run("and why, if it takes long", func(t *testing.T) {
		f.unrecorded = "its pass cannot be recorded: look at what its groups count: list jobs: forbidden"
		f.clock.SetTime(f.clock.Now().Add(writeInterval))
		assert.Equal(t, recordingAgain, f.reconcile(t))
		require.Len(t, f.written, 3)
		assert.Contains(t, f.written[2].Status.Message, f.unrecorded)
		f.watchBrings()
	})
	t.Run("and is looked at again, but not written, while nothing changes", func(t *testing.T) {
		f.clock.SetTime(f.clock.Now().Add(recordingAgain))
		assert.Equal(t, recordingAgain, f.reconcile(t))
		assert.Len(t, f.written, 3)
	})
	t.Run("and is written as ever once it is", func(t *testing.T) {
		f.record(changes)
		f.clock.SetTime(f.clock.Now().Add(writeInterval))
		assert.Zero(t, f.reconcile(t))
		require.Len(t, f.written, 4)
		assert.Equal(t, v1alpha1.GroupPassed, f.written[3].Status.Groups[0].Phase)
		assert.NotContains(t, f.written[3].Status.Message, "recorded")
	})
}

// What is written of a status replaces all of it, so what the recorder has written must be in it.
func TestWhichPassesStatusKeeps(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	pass := v1alpha1.GroupPass{UID: "u1", At: at}
	dry := func() *psttesting.SequenceWrapper {
		w := tiers()
		w.Spec.DryRun = true
		return w
	}
	recording := func(pass v1alpha1.GroupPass) func(*v1alpha1.PodSequenceStatus, string) {
		return func(status *v1alpha1.PodSequenceStatus, hash string) {
			status.Passes = map[string]v1alpha1.GroupPass{hash: pass}
		}
	}
	passedAt := func(status *v1alpha1.PodSequenceStatus, hash string) {
		status.Groups = []v1alpha1.GroupStatus{{Name: "Database", Hash: hash, PassedAt: &at, FirstSatisfiedAt: &at}, {Name: "Frontend"}}
	}
	for name, tc := range map[string]struct {
		sequence *psttesting.SequenceWrapper // tiers if nil
		// recorded puts what is recorded of the first group into the status.
		recorded func(status *v1alpha1.PodSequenceStatus, hash string)
		// want is what is kept of it.
		want *v1alpha1.GroupPass
	}{
		"that of a group which is defined now": {
			recorded: recording(pass), want: &pass,
		},
		"that of a group which was passed because its time was over": {
			recorded: recording(v1alpha1.GroupPass{UID: "u1", At: at, TimedOut: true}),
			want:     &v1alpha1.GroupPass{UID: "u1", At: at, TimedOut: true},
		},
		"not those of groups which were defined before": {
			recorded: func(status *v1alpha1.PodSequenceStatus, hash string) {
				status.Passes = map[string]v1alpha1.GroupPass{hash: pass, "former": pass}
			},
			want: &pass,
		},
		"not that of another sequence, which a backup tool restored": {
			recorded: recording(v1alpha1.GroupPass{UID: "another", At: at}),
		},
		"not that of a sequence whose passes may be lost by now": {
			sequence: tiers().Mode(v1alpha1.Continuous),
			recorded: recording(pass),
		},
		"not that of a sequence whose nodes go on each by itself by now": {
			sequence: tiers().NodeScope(),
			recorded: recording(pass),
		},
		"that of a sequence which holds nothing for a while": {
			sequence: dry(),
			recorded: recording(pass), want: &pass,
		},
		"that of a sequence which is suspended": {
			sequence: tiers().Suspend(),
			recorded: recording(pass), want: &pass,
		},
		"what an earlier release recorded": {
			recorded: passedAt, want: &pass,
		},
		"what an earlier release recorded of a group whose time was over": {
			sequence: psttesting.MakeSequence("shop", "backend").UID("u1").
				Pods("Database", "db").Timeout("1m", v1alpha1.TimeoutContinue).Pods("Frontend", "web"),
			recorded: func(status *v1alpha1.PodSequenceStatus, hash string) {
				passedAt(status, hash)
				status.Groups[0].FirstSatisfiedAt = nil
			},
			want: &v1alpha1.GroupPass{UID: "u1", At: at, TimedOut: true},
		},
		"not what an earlier release recorded of a group that was defined otherwise": {
			recorded: func(status *v1alpha1.PodSequenceStatus, _ string) { passedAt(status, "former") },
		},
		"not what an earlier release recorded while passes could be lost": {
			recorded: func(status *v1alpha1.PodSequenceStatus, hash string) {
				passedAt(status, hash)
				status.EnforcementMode = v1alpha1.Continuous
			},
		},
		"not what an earlier release recorded while nothing was held": {
			recorded: func(status *v1alpha1.PodSequenceStatus, hash string) {
				passedAt(status, hash)
				status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDryRun, Status: metav1.ConditionTrue, Reason: v1alpha1.ConditionDryRun}}
			},
		},
		"none if none is recorded": {
			recorded: func(*v1alpha1.PodSequenceStatus, string) {},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newStatusFixture()
			if tc.sequence == nil {
				tc.sequence = tiers()
			}
			object := tc.sequence.Obj()
			f.engine.ApplySequence(object.DeepCopy())
			report, _ := f.engine.Report(shop)
			hash := report.Groups[0].Hash
			f.engine.RemoveSequence(shop, "")
			object.Status.ObservedUID = object.UID
			tc.recorded(&object.Status, hash)
			f.engine.ApplySequence(object)
			f.reconcile(t)

			require.Len(t, f.written, 1)
			var want map[string]v1alpha1.GroupPass
			if tc.want != nil {
				want = map[string]v1alpha1.GroupPass{hash: *tc.want}
			}
			assert.Equal(t, want, f.written[0].Status.Passes)
		})
	}
}
