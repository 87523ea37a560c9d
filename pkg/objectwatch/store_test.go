package objectwatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// versioned is a store whose watch waits for the condition Ready of a Certificate. What is asked for by itself comes in a list of a version.
func versioned(t *testing.T, version string, asked ...unstructured.Unstructured) (s *store, state func() v1alpha1.ObjectState) {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{certificates: "CertificateList"})
	client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		list := &unstructured.UnstructuredList{Items: asked}
		list.SetAPIVersion("cert-manager.io/v1")
		list.SetKind("CertificateList")
		list.SetResourceVersion(version)
		return true, list, nil
	})
	watcher := newWatcher(client, nil, nil, clock.RealClock{}, func(types.NamespacedName) {})
	watcher.Want(shop, []v1alpha1.ObjectReference{certificate("tls", "Ready")})
	of := watcher.watches[place{certificates.GroupVersion().WithKind("Certificate"), "shop"}]
	of.isWatched = true
	t.Cleanup(func() { watcher.Forget(shop) })
	s = &store{watch: of, client: client.Resource(certificates).Namespace("shop")}
	return s, func() v1alpha1.ObjectState {
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

// The version of a list and those of objects may be of different kinds, as aggregated API servers have them.
func TestWhatTheWatchBringsAfterTheListIsNewer(t *testing.T) {
	s, state := versioned(t, "")
	require.NoError(t, s.Replace([]any{versionOf("7", "True")}, "500"))
	assert.Equal(t, v1alpha1.ObjectSatisfied, state())
	require.NoError(t, s.Update(versionOf("8", "False")))
	assert.Equal(t, v1alpha1.ObjectWaiting, state())
	require.NoError(t, s.Update(versionOf("9", "True")))
	require.NoError(t, s.Delete(versionOf("9", "True")))
	assert.Equal(t, v1alpha1.ObjectNotFound, state())
}

func TestTheWatchMayBeBehindWhatWasAskedFor(t *testing.T) {
	s, state := versioned(t, "20", *versionOf("12", "False"))
	require.NoError(t, s.Replace(nil, "10"))
	isJudged, err := s.ask(t.Context(), "tls")
	require.NoError(t, err)
	assert.True(t, isJudged)
	require.NoError(t, s.Update(versionOf("11", "True")))
	assert.Equal(t, v1alpha1.ObjectWaiting, state())
	require.NoError(t, s.Update(versionOf("21", "True")))
	assert.Equal(t, v1alpha1.ObjectSatisfied, state())

	isJudged, err = s.ask(t.Context(), "tls")
	require.NoError(t, err)
	assert.True(t, isJudged, "the watch was faster")
	assert.Equal(t, v1alpha1.ObjectSatisfied, state())
}

// An object was deleted and made again before it was asked for by itself: the watch still brings the deletion of the former one.
func TestALateDeletionOfTheFormerObjectIsOld(t *testing.T) {
	s, state := versioned(t, "13", *versionOf("12", "True"))
	require.NoError(t, s.Replace(nil, "9"))
	isJudged, err := s.ask(t.Context(), "tls")
	require.NoError(t, err)
	require.True(t, isJudged)
	former := versionOf("10", "True")
	former.SetUID("former")
	require.NoError(t, s.Delete(former))
	assert.Equal(t, v1alpha1.ObjectSatisfied, state())
	require.NoError(t, s.Delete(versionOf("12", "True")), "some API servers give a deletion the version of the object")
	assert.Equal(t, v1alpha1.ObjectNotFound, state())
}

// A sequence that asks later for something else of an object must not wait until the object changes.
func TestObjectsWithoutComparableVersionsAreListedAgain(t *testing.T) {
	s, _ := versioned(t, "beta", *versionOf("gamma", "True"))
	require.NoError(t, s.Replace([]any{versionOf("alpha", "True")}, "alpha"))
	isJudged, err := s.ask(t.Context(), "tls")
	require.NoError(t, err)
	assert.True(t, isJudged, "all that is asked of it is known")

	s.watch.watcher.Want(types.NamespacedName{Namespace: "shop", Name: "other"}, []v1alpha1.ObjectReference{certificate("tls", "Exists")})
	isJudged, err = s.ask(t.Context(), "tls")
	require.NoError(t, err)
	assert.False(t, isJudged)
}

// People may name kinds of as many versions as they like.
func TestNothingIsKeptOfVersionsThatAreNotServed(t *testing.T) {
	k := newKinds(&served{lists: map[string]*metav1.APIResourceList{}})
	for _, group := range []string{"a", "b", "c"} {
		found, err := k.get(t.Context(), schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"})
		require.NoError(t, err)
		assert.Nil(t, found)
	}
	assert.Empty(t, k.versions)
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
