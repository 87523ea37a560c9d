package objectwatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// versioned is a store whose watch waits for the condition Ready of a Certificate.
func versioned(t *testing.T) (s *store, state func() v1alpha1.ObjectState) {
	watcher := newWatcher(nil, nil, clock.RealClock{}, func(types.NamespacedName) {})
	watcher.Want(shop, []v1alpha1.ObjectReference{certificate("tls", "Ready")})
	of := watcher.watches[place{certificates.GroupVersion().WithKind("Certificate"), "shop"}]
	of.isWatched = true
	t.Cleanup(func() { watcher.Forget(shop) })
	return &store{watch: of}, func() v1alpha1.ObjectState {
		o, _ := watcher.Observe(shop, new(certificate("tls", "Ready")))
		return o.State
	}
}

// versionOf is a version of the certificate.
func versionOf(version, ready string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "Certificate",
		"metadata": map[string]any{"namespace": "shop", "name": "tls", "uid": "a", "resourceVersion": version},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}},
	}}
}

func TestWhatTheWatchBringsIsJudged(t *testing.T) {
	s, state := versioned(t)
	require.NoError(t, s.Replace([]any{versionOf("7", "True")}, "500"))
	assert.Equal(t, v1alpha1.ObjectSatisfied, state())
	require.NoError(t, s.Update(versionOf("8", "False")))
	assert.Equal(t, v1alpha1.ObjectWaiting, state())
	require.NoError(t, s.Update(versionOf("9", "True")))
	require.NoError(t, s.Delete(versionOf("9", "True")))
	assert.Equal(t, v1alpha1.ObjectNotFound, state())
	require.NoError(t, s.Add(versionOf("10", "True")))
	assert.Equal(t, v1alpha1.ObjectSatisfied, state())
	require.NoError(t, s.Replace(nil, "501"))
	assert.Equal(t, v1alpha1.ObjectNotFound, state())
	assert.Error(t, s.Add(&metav1.Status{}))
}

// A Secret that somebody lets the controller read must not stay in its memory.
func TestNothingIsKeptThatNobodyJudges(t *testing.T) {
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"password": "c2VjcmV0"},
		"metadata": map[string]any{"name": "a", "uid": "b", "annotations": map[string]any{"note": "secret"}, "managedFields": []any{}},
	}}
	kept, err := trim(secret)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a", "uid": "b"}}, kept.Object)

	deployment := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"replicas": int64(3), "template": map[string]any{"spec": "large"}},
		"status": map[string]any{"replicas": int64(3)},
	}}
	kept, err = trim(deployment)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"replicas": int64(3)}, "status": map[string]any{"replicas": int64(3)},
	}, kept.Object)
}

// A wait counts from when an object became ready. A condition may keep the time of an earlier transition.
func TestAConditionIsNotTrueSinceBeforeItWasSeenOtherwise(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 300_000_000, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	second := func(seconds int) time.Time { return at(seconds).Truncate(time.Second) }
	satisfied := Observation{State: v1alpha1.ObjectSatisfied, UID: "a"}
	for name, tc := range map[string]struct {
		seenOtherwise bool
		claims, want  time.Time
	}{
		"it was never seen otherwise":           {claims: second(-60), want: second(-60)},
		"it turned since":                       {seenOtherwise: true, claims: second(4), want: second(4)},
		"it turned in the same second":          {seenOtherwise: true, claims: second(0), want: second(0)},
		"it claims to have been so at the time": {seenOtherwise: true, claims: second(-60)},
	} {
		t.Run(name, func(t *testing.T) {
			j := &judgement{}
			if tc.seenOtherwise {
				j.become(Observation{State: v1alpha1.ObjectWaiting, UID: "a"}, at(0))
			}
			for range 2 { // it stays like this
				observed := satisfied
				observed.Since = tc.claims
				j.become(observed, at(5))
				assert.Equal(t, tc.want, j.Since)
				assert.Equal(t, at(5), j.Seen)
				assert.Equal(t, tc.seenOtherwise, j.Turned)
			}
		})
	}
}
