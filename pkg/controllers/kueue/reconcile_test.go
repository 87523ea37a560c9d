package kueue

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/pkg/sequence"
)

// fixed answers as its fields say.
type fixed struct {
	hold     sequence.Hold
	unknown  bool
	caughtUp func() error // is called when somebody wants all PodSequences to be known
	asked    []*corev1.Pod
}

func (f *fixed) WouldHold(pods ...*corev1.Pod) (sequence.Hold, bool) {
	f.asked = pods
	return f.hold, !f.unknown
}
func (f *fixed) Places(*corev1.Pod) []sequence.Place { return nil }
func (f *fixed) CatchUp(context.Context, *corev1.Pod) error {
	if f.caughtUp == nil {
		return nil
	}
	return f.caughtUp()
}

const stored = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {namespace: shop, name: api, generation: 1}
spec:
  queueName: queue
  podSets:
  - {name: main, count: 2, template: {metadata: {labels: {app: api}}, spec: {schedulerName: podsequence-scheduler, containers: [{name: main, image: x}]}}}
  - {name: none, count: 0, template: {spec: {containers: [{name: main, image: x}]}}}
status:
  requeueState: {count: 3}
  conditions: [{type: QuotaReserved, status: "False", reason: Pending, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]
  admissionChecks:
  - {name: other, state: Pending, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {name: sequence, state: Pending, message: "", lastTransitionTime: "2026-01-01T00:00:00Z", retryCount: 7}
`

const storedCheck = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: sequence}
spec: {controllerName: podsequence.example.com/sequence}
`

func newReconciler(t *testing.T, sequences Sequences, objects ...string) (*reconciler, client.Client) {
	t.Helper()
	builder := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithStatusSubresource(newObject(WorkloadKind), newObject(AdmissionCheckKind))
	for _, text := range objects {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(text), &object.Object))
		builder.WithObjects(object)
	}
	api := builder.Build()
	return &reconciler{
		workloads: api, checks: api, writer: api, recorder: events.NewFakeRecorder(10),
		clock: clocktesting.NewFakePassiveClock(time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC)), sequences: sequences,
	}, api
}

func (r *reconciler) ask(t *testing.T, namespace, name string) error {
	t.Helper()
	_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}})
	return err
}

func status(t *testing.T, api client.Client) map[string]any {
	t.Helper()
	object := newObject(WorkloadKind)
	require.NoError(t, api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "api"}, object))
	found, _, err := unstructured.NestedMap(object.Object, "status")
	require.NoError(t, err)
	return found
}

func TestAHeldWorkloadIsTakenOutOfItsQueueAndPutBack(t *testing.T) {
	answers := &fixed{hold: isHeld}
	r, api := newReconciler(t, answers, stored, storedCheck)
	require.NoError(t, r.ask(t, "shop", ""))
	require.Len(t, answers.asked, 1, "pods of templates with a count")
	assert.Equal(t, map[string]string{"app": "api"}, answers.asked[0].Labels)

	found := status(t, api)
	assert.Equal(t, map[string]any{"count": int64(3)}, found["requeueState"])
	checks := found["admissionChecks"].([]any)
	assert.Equal(t, "Pending", checks[0].(map[string]any)["state"], "the check of somebody else")
	assert.Equal(t, map[string]any{
		"name": "sequence", "state": "Retry", "message": heldMessage, "lastTransitionTime": "2026-02-03T04:05:06Z", "retryCount": int64(7),
	}, checks[1])
	w, err := readWorkload(&unstructured.Unstructured{Object: map[string]any{"status": found}})
	require.NoError(t, err)
	assert.Equal(t, ReasonWaits, w.condition("Requeued").Reason)
	assert.Equal(t, "Pending", w.condition("QuotaReserved").Reason)

	answers.hold = isTurn
	require.NoError(t, r.ask(t, "shop", ""))
	w, err = readWorkload(&unstructured.Unstructured{Object: map[string]any{"status": status(t, api)}})
	require.NoError(t, err)
	assert.Equal(t, checkState{"sequence", "Ready", messageReady}, w.Status.AdmissionChecks[1])
	assert.True(t, w.is("Requeued"))
}

func TestNothingIsOpenedBeforeAllSequencesAreKnown(t *testing.T) {
	answers := &fixed{unknown: true}
	r, api := newReconciler(t, answers, stored, storedCheck)
	before := status(t, api)
	require.ErrorIs(t, r.ask(t, "shop", ""), errUnknown)
	assert.Equal(t, before, status(t, api))

	answers.unknown = false
	answers.caughtUp = func() error { return errors.New("no answer") }
	require.ErrorContains(t, r.ask(t, "shop", ""), "no answer")
	assert.Equal(t, before, status(t, api))

	answers.caughtUp = func() error { answers.hold = isHeld; return nil } // a sequence that was on its way
	require.NoError(t, r.ask(t, "shop", ""))
	assert.Equal(t, "Retry", status(t, api)["admissionChecks"].([]any)[1].(map[string]any)["state"])
}

func TestChecksOfOthersAreLeftAlone(t *testing.T) {
	const other = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: sequence}
spec: {controllerName: kueue.x-k8s.io/provisioning-request}
`
	r, api := newReconciler(t, &fixed{hold: isHeld}, stored, other)
	before := status(t, api)
	require.NoError(t, r.ask(t, "shop", ""))
	require.NoError(t, r.ask(t, "", "sequence"))
	assert.Equal(t, before, status(t, api))
	check := newObject(AdmissionCheckKind)
	require.NoError(t, api.Get(t.Context(), client.ObjectKey{Name: "sequence"}, check))
	assert.NotContains(t, check.Object, "status")
}

func TestACheckIsActiveOnceSomebodyAnswersForIt(t *testing.T) {
	r, api := newReconciler(t, &fixed{}, storedCheck)
	require.NoError(t, r.ask(t, "", "sequence"))
	check := newObject(AdmissionCheckKind)
	require.NoError(t, api.Get(t.Context(), client.ObjectKey{Name: "sequence"}, check))
	conditions, err := conditionsOf(check)
	require.NoError(t, err)
	require.Len(t, conditions, 1)
	assert.Equal(t, "Active", conditions[0].Type)
	version := check.GetResourceVersion()
	require.NoError(t, r.ask(t, "", "sequence"))
	require.NoError(t, api.Get(t.Context(), client.ObjectKey{Name: "sequence"}, check))
	assert.Equal(t, version, check.GetResourceVersion(), "nothing new is written")
	require.NoError(t, r.ask(t, "", "gone"))
}

func TestALongNoteIsCutForTheEvent(t *testing.T) {
	r, api := newReconciler(t, &fixed{}, stored, storedCheck)
	object := newObject(WorkloadKind)
	require.NoError(t, api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "api"}, object))
	d := decision{checks: []checkState{{"sequence", stateRetry, strings.Repeat("x", 2000)}}}
	require.NoError(t, r.write(t.Context(), object, d, "note"))
	assert.Len(t, <-r.recorder.(*events.FakeRecorder).Events, 1024+len("Warning WorkloadsWaitForEachOther "))
}
