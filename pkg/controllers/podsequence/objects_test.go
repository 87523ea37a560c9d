package podsequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/controllers/podsequence/objectwatch"
	"example.com/podsequence/pkg/record"
	"example.com/podsequence/pkg/sequence/order"
	psttesting "example.com/podsequence/test/harness/builders"
)

// observations are a watcher of objects that sees what the test says.
type observations struct {
	seen   map[v1alpha1.ObjectReference]objectwatch.Observation
	wanted []v1alpha1.ObjectReference
	unseen string // what keeps the others from being seen
}

func (o *observations) Want(_ types.NamespacedName, references []v1alpha1.ObjectReference) {
	o.wanted = references
}

func (o *observations) Forget(types.NamespacedName) { o.wanted = nil }

func (o *observations) Observe(_ types.NamespacedName, reference *v1alpha1.ObjectReference) (objectwatch.Observation, bool) {
	if seen, known := o.seen[*reference]; known {
		return seen, true
	}
	return objectwatch.Observation{State: v1alpha1.ObjectWaiting, Message: o.unseen}, false
}

var tls = v1alpha1.ObjectReference{APIVersion: "cert-manager.io/v1", Kind: "Certificate", Name: "tls", Until: "Ready"}

func certified() *psttesting.SequenceWrapper {
	return psttesting.MakeSequence("shop", "backend").UID("u1").Objects("Certificate", tls).Pods("Frontend", "web")
}

// lastObject is what was last written of the certificate.
func (f *statusFixture) lastObject() v1alpha1.ObjectStatus {
	return f.written[len(f.written)-1].Status.Groups[0].Objects[0]
}

func TestWhatIsSeenOfObjectsIsRecorded(t *testing.T) {
	f := newStatusFixture()
	f.engine.ApplySequence(certified().Obj())
	assert.Equal(t, settleGrace, f.reconcile(t), "the object is about to be seen")
	assert.Equal(t, []v1alpha1.ObjectReference{tls}, f.objects.wanted)
	assert.Empty(t, f.written)

	f.objects.seen[tls] = objectwatch.Observation{State: v1alpha1.ObjectWaiting, UID: "a", Generation: 2, Message: "Ready is False"}
	f.reconcile(t)
	waiting := v1alpha1.ObjectStatus{
		APIVersion: tls.APIVersion, Kind: tls.Kind, Name: tls.Name, Until: "Ready", UID: "a", Generation: 2,
		State: v1alpha1.ObjectWaiting, Message: "Ready is False",
	}
	require.Len(t, f.written, 1)
	assert.Equal(t, waiting, f.lastObject())

	f.watchBrings()
	f.clock.SetTime(f.clock.Now().Add(writeInterval))
	seen := f.clock.Now()
	f.objects.seen[tls] = objectwatch.Observation{State: v1alpha1.ObjectSatisfied, UID: "a", Generation: 3, Seen: seen, Turned: true}
	f.reconcile(t)
	assert.Equal(t, v1alpha1.ObjectSatisfied, f.lastObject().State)
	assert.Equal(t, seen.Truncate(time.Second), f.lastObject().Since.Time)
	f.record(f.watchBrings())
	f.clock.SetTime(f.clock.Now().Add(writeInterval))
	f.reconcile(t)
	assert.Equal(t, v1alpha1.GroupPassed, f.written[len(f.written)-1].Status.Groups[0].Phase, "the engine decides by the record")
}

// What a restarted controller has not seen yet stays as it is recorded.
func TestRecordsStayUntilObjectsAreSeen(t *testing.T) {
	f := newStatusFixture()
	before := f.clock.Now().Add(-time.Hour).Truncate(time.Second)
	ps := certified().Obj()
	ps.Status.ObservedUID = ps.UID
	ps.Status.Groups = []v1alpha1.GroupStatus{{Name: "Certificate", Objects: []v1alpha1.ObjectStatus{{
		APIVersion: tls.APIVersion, Kind: tls.Kind, Name: tls.Name, Until: "Ready", UID: "a", State: v1alpha1.ObjectSatisfied,
		Since: new(metav1.NewTime(before)),
	}}}}
	f.engine.ApplySequence(ps)
	assert.Positive(t, f.reconcile(t))
	f.clock.SetTime(f.clock.Now().Add(settleGrace))
	f.reconcile(t)
	assert.Equal(t, v1alpha1.ObjectSatisfied, f.lastObject().State)

	now := f.clock.Now()
	for name, tc := range map[string]struct {
		seen objectwatch.Observation
		want time.Time
	}{
		"it has been so":           {objectwatch.Observation{UID: "a", Seen: now}, before},
		"it was not so in between": {objectwatch.Observation{UID: "a", Seen: now, Turned: true}, now.Truncate(time.Second)},
		"it is another":            {objectwatch.Observation{UID: "b", Seen: now}, now.Truncate(time.Second)},
		"its condition says when":  {objectwatch.Observation{UID: "a", Seen: now, Since: before.Add(time.Minute)}, before.Add(time.Minute)},
		"its condition says a time before the record, so it was not so in between": {
			objectwatch.Observation{UID: "a", Seen: now, Since: before.Add(-time.Minute)}, before},
	} {
		t.Run(name, func(t *testing.T) {
			tc.seen.State = v1alpha1.ObjectSatisfied
			assert.Equal(t, tc.want, recordOf(&tls, tc.seen, &ps.Status.Groups[0].Objects[0], time.Time{}).Since.Time)
		})
	}
	f.objects.seen[tls] = objectwatch.Observation{State: v1alpha1.ObjectNotFound}
	f.watchBrings()
	f.clock.SetTime(f.clock.Now().Add(writeInterval))
	f.reconcile(t)
	assert.Equal(t, v1alpha1.ObjectNotFound, f.lastObject().State, "it was deleted meanwhile")
	assert.Nil(t, f.lastObject().Since)
}

// A controller that has just begun to lead has not seen that the object was not ready, but status has.
func TestAnObjectThatStatusHasAsNotReadyHasNotBeenReadySinceBefore(t *testing.T) {
	written := time.Unix(1_700_000_000, 0)
	ps := certified().Obj()
	ps.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "podsequence-controller", Subresource: "status", Time: new(metav1.NewTime(written))},
		{Manager: record.FieldManager, Subresource: "status", Time: new(metav1.NewTime(written.Add(time.Hour)))}, // says nothing of objects
		{Manager: "kubectl", Time: new(metav1.NewTime(written.Add(time.Hour)))},
	}
	for name, tc := range map[string]struct {
		before      v1alpha1.ObjectStatus
		since, want time.Duration // after status was written
	}{
		"it does not say since when it is ready again": {v1alpha1.ObjectStatus{State: v1alpha1.ObjectWaiting, UID: "a"}, -time.Hour, 5 * time.Second},
		"it says so":                 {v1alpha1.ObjectStatus{State: v1alpha1.ObjectWaiting, UID: "a"}, 2 * time.Second, 2 * time.Second},
		"it is another object":       {v1alpha1.ObjectStatus{State: v1alpha1.ObjectWaiting, UID: "b"}, -time.Hour, -time.Hour},
		"nothing is known of before": {v1alpha1.ObjectStatus{State: v1alpha1.ObjectNotReadable}, -time.Hour, -time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			seen := objectwatch.Observation{State: v1alpha1.ObjectSatisfied, UID: "a", Seen: written.Add(5 * time.Second), Since: written.Add(tc.since)}
			assert.Equal(t, written.Add(tc.want), recordOf(&tls, seen, &tc.before, order.WrittenAt(ps, record.FieldManager)).Since.Time)
		})
	}
}

// Who waits reads in status why an object cannot be read. What was seen before still counts.
func TestWhatKeepsAnObjectFromBeingSeenIsRecorded(t *testing.T) {
	recorded := func(state v1alpha1.ObjectState) []v1alpha1.ObjectStatus {
		return []v1alpha1.ObjectStatus{{
			APIVersion: tls.APIVersion, Kind: tls.Kind, Name: tls.Name, Until: tls.Until, UID: "a", State: state, Message: "as recorded",
		}}
	}
	for name, tc := range map[string]struct {
		recorded []v1alpha1.ObjectStatus
		state    v1alpha1.ObjectState
		message  string
	}{
		"nothing is recorded": {nil, v1alpha1.ObjectWaiting, "the webhook is down"},
		"it was not readable": {recorded(v1alpha1.ObjectNotReadable), v1alpha1.ObjectWaiting, "the webhook is down"},
		"it was ready":        {recorded(v1alpha1.ObjectSatisfied), v1alpha1.ObjectSatisfied, "as recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newStatusFixture()
			f.objects.unseen = "the webhook is down"
			ps := certified().Obj()
			ps.Status.ObservedUID = ps.UID
			ps.Status.Groups = []v1alpha1.GroupStatus{{Name: "Certificate", Objects: tc.recorded}}
			f.engine.ApplySequence(ps)
			f.reconcile(t)
			f.clock.SetTime(f.clock.Now().Add(settleGrace))
			f.reconcile(t)
			require.NotEmpty(t, f.written)
			assert.Equal(t, tc.state, f.lastObject().State)
			assert.Equal(t, tc.message, f.lastObject().Message)
		})
	}
}

// A status that a backup tool restored is of another object.
func TestRecordsOfAnotherSequenceAreDropped(t *testing.T) {
	f := newStatusFixture()
	ps := certified().Obj()
	ps.Status.ObservedUID = "another"
	ps.Status.Groups = []v1alpha1.GroupStatus{{Name: "Certificate", Objects: []v1alpha1.ObjectStatus{{
		APIVersion: tls.APIVersion, Kind: tls.Kind, Name: tls.Name, Until: "Ready", UID: "a", State: v1alpha1.ObjectSatisfied,
	}}}}
	f.engine.ApplySequence(ps)
	f.reconcile(t)
	f.clock.SetTime(f.clock.Now().Add(settleGrace))
	f.reconcile(t)
	require.NotEmpty(t, f.written)
	assert.Empty(t, f.written[0].Status.Groups[0].Objects)
}
