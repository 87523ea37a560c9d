package objectwatch

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

var certificates = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}

// served is what the API server serves.
type served struct {
	mu    sync.Mutex
	lists map[string]*metav1.APIResourceList
}

func (s *served) ServerResourcesForGroupVersionWithContext(_ context.Context, version string) (*metav1.APIResourceList, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if list := s.lists[version]; list != nil {
		return list, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, version)
}

func (s *served) set(version string, resources ...metav1.APIResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists[version] = &metav1.APIResourceList{GroupVersion: version, APIResources: resources}
}

// fixture is a watcher of a world that the test makes.
type fixture struct {
	*Watcher
	testing.TB
	served  *served
	objects *dynamicfake.FakeDynamicClient
	told    chan types.NamespacedName
	// endWatch ends the watch of certificates that began last, as the API server does when their definition changes.
	endWatch func()
}

func newFixture(t *testing.T) *fixture {
	scheme := runtime.NewScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	f := &fixture{TB: t, served: &served{lists: map[string]*metav1.APIResourceList{}}, told: make(chan types.NamespacedName, 1000)}
	f.served.set("cert-manager.io/v1", metav1.APIResource{Name: "certificates", Kind: "Certificate", Namespaced: true},
		metav1.APIResource{Name: "certificates/status", Kind: "Certificate", Namespaced: true},
		metav1.APIResource{Name: "clusterissuers", Kind: "ClusterIssuer"})
	f.objects = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(scheme, map[schema.GroupVersionResource]string{
		certificates: "CertificateList", certificates.GroupVersion().WithResource("clusterissuers"): "ClusterIssuerList",
	})
	var mu sync.Mutex
	var last apiwatch.Interface
	f.objects.PrependWatchReactor("certificates", func(action clienttesting.Action) (bool, apiwatch.Interface, error) {
		mu.Lock()
		defer mu.Unlock()
		var err error
		last, err = f.objects.Tracker().Watch(action.GetResource(), action.GetNamespace())
		return true, last, err
	})
	f.endWatch = func() { mu.Lock(); defer mu.Unlock(); last.Stop() }
	f.Watcher = newWatcher(f.objects, f.served, clock.RealClock{}, func(key types.NamespacedName) { f.told <- key })
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); f.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return f
}

var shop = types.NamespacedName{Namespace: "shop", Name: "order"}

func certificate(name, until string) v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{APIVersion: "cert-manager.io/v1", Kind: "Certificate", Name: name, Until: until}
}

// put makes the certificate what it is to be.
func (f *fixture) put(name, uid, ready string) {
	f.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "spec": map[string]any{},
		"metadata": map[string]any{"namespace": "shop", "name": name, "uid": uid, "generation": int64(3)},
	}}
	if ready != "" {
		object.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready, "reason": "Issuing"}}}
	}
	_, err := f.objects.Resource(certificates).Namespace("shop").Update(f.Context(), object, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = f.objects.Resource(certificates).Namespace("shop").Create(f.Context(), object, metav1.CreateOptions{})
	}
	require.NoError(f, err)
}

// await waits until the object is as it should be, and returns how it is then.
func (f *fixture) await(sequence types.NamespacedName, reference v1alpha1.ObjectReference, state v1alpha1.ObjectState, uid types.UID) Observation {
	f.Helper()
	deadline := time.After(30 * time.Second)
	for {
		o, known := f.Observe(sequence, &reference)
		if known && o.State == state && o.UID == uid {
			return o
		}
		select {
		case <-f.told:
		case <-deadline:
			require.Failf(f, "an object is not as expected", "want %s %q, got %+v, known: %t", state, uid, o, known)
		}
	}
}

func TestObjectsAreSeenAsTheyChange(t *testing.T) {
	f := newFixture(t)
	f.put("tls", "a", "True")
	ready, exists := certificate("tls", "Ready"), certificate("tls", "Exists")
	f.Want(shop, []v1alpha1.ObjectReference{ready, exists})

	first := f.await(shop, ready, v1alpha1.ObjectSatisfied, "a")
	assert.False(t, first.Turned, "it was so when it was first seen")
	assert.EqualValues(t, 3, first.Generation)
	f.put("tls", "a", "False")
	assert.Equal(t, "Ready is False: Issuing", f.await(shop, ready, v1alpha1.ObjectWaiting, "a").Message)
	assert.Equal(t, first.Seen, f.await(shop, exists, v1alpha1.ObjectSatisfied, "a").Seen, "it has existed all the time")
	f.put("tls", "a", "True")
	again := f.await(shop, ready, v1alpha1.ObjectSatisfied, "a")
	assert.True(t, again.Turned)
	assert.True(t, again.Seen.After(first.Seen))

	f.put("tls", "b", "True")
	assert.True(t, f.await(shop, ready, v1alpha1.ObjectSatisfied, "b").Seen.After(again.Seen), "a successor is judged anew")
	require.NoError(t, f.objects.Resource(certificates).Namespace("shop").Delete(t.Context(), "tls", metav1.DeleteOptions{}))
	f.await(shop, ready, v1alpha1.ObjectNotFound, "")
	f.put("tls", "c", "")
	f.await(shop, exists, v1alpha1.ObjectSatisfied, "c")
}

func TestObjectsThatAreNamedLaterAreKnown(t *testing.T) {
	f := newFixture(t)
	f.put("old", "a", "True")
	f.put("tls", "b", "False")
	f.Want(shop, []v1alpha1.ObjectReference{certificate("old", "Ready")})
	f.await(shop, certificate("old", "Ready"), v1alpha1.ObjectSatisfied, "a")
	other := types.NamespacedName{Namespace: "shop", Name: "other"}
	f.Want(other, []v1alpha1.ObjectReference{certificate("tls", ""), certificate("none", "Ready"), certificate("old", "Exists")})
	for name, want := range map[string]Observation{
		"tls":  {State: v1alpha1.ObjectWaiting, UID: "b", Generation: 3, Message: "InProgress: Issuing"},
		"none": {State: v1alpha1.ObjectNotFound},
		"old":  {State: v1alpha1.ObjectSatisfied, UID: "a", Generation: 3},
	} {
		got, known := f.Observe(other, new(certificate(name, map[string]string{"none": "Ready", "old": "Exists"}[name])))
		assert.True(t, known, name)
		got.Seen = time.Time{}
		assert.Equal(t, want, got, name)
	}
	f.put("tls", "b", "True")
	f.await(other, certificate("tls", ""), v1alpha1.ObjectSatisfied, "b")
	lists := 0
	for _, action := range f.objects.Actions() {
		if action.GetVerb() == "list" {
			lists++
		}
	}
	assert.Equal(t, 1, lists)
}

func TestKindsMayComeAndGo(t *testing.T) {
	f := newFixture(t)
	none := f.served.lists["cert-manager.io/v1"]
	f.served.set("cert-manager.io/v1")
	f.put("tls", "a", "True")
	f.Want(shop, []v1alpha1.ObjectReference{certificate("tls", "Ready")})
	missing := f.await(shop, certificate("tls", "Ready"), v1alpha1.ObjectNotReadable, "")
	assert.Equal(t, "the kind Certificate is not installed in version cert-manager.io/v1", missing.Message)

	f.served.set("cert-manager.io/v1", none.APIResources...)
	f.await(shop, certificate("tls", "Ready"), v1alpha1.ObjectSatisfied, "a")

	f.served.set("cert-manager.io/v1", metav1.APIResource{Name: "certificates", Kind: "Certificate"})
	f.endWatch()
	other := f.await(shop, certificate("tls", "Ready"), v1alpha1.ObjectNotReadable, "")
	assert.Equal(t, "only a ClusterPodSequence may wait for cluster-scoped objects, such as a Certificate", other.Message)
}

// An object without a status is current only as long as its kind has none.
func TestAKindMayComeToHaveAStatus(t *testing.T) {
	f := newFixture(t)
	f.served.set("cert-manager.io/v1", metav1.APIResource{Name: "certificates", Kind: "Certificate", Namespaced: true})
	f.put("tls", "a", "")
	f.Want(shop, []v1alpha1.ObjectReference{certificate("tls", "")})
	f.await(shop, certificate("tls", ""), v1alpha1.ObjectSatisfied, "a")
	f.served.set("cert-manager.io/v1", metav1.APIResource{Name: "certificates", Kind: "Certificate", Namespaced: true},
		metav1.APIResource{Name: "certificates/status", Kind: "Certificate", Namespaced: true})
	f.endWatch()
	assert.Equal(t, "it has no status yet", f.await(shop, certificate("tls", ""), v1alpha1.ObjectWaiting, "a").Message)
}

// A role may permit to list and not to watch, or nothing.
func TestWhatMayNotBeReadIsNotReadable(t *testing.T) {
	for _, verb := range []string{"list", "watch"} {
		t.Run(verb, func(t *testing.T) {
			f := newFixture(t)
			var mu sync.Mutex
			refused := apierrors.NewForbidden(certificates.GroupResource(), "", nil)
			refuse := func() error { mu.Lock(); defer mu.Unlock(); return error(refused) }
			allowed := func() bool { mu.Lock(); defer mu.Unlock(); return refused == nil }
			if verb == "list" {
				f.objects.PrependReactor("list", "certificates", func(clienttesting.Action) (bool, runtime.Object, error) {
					return !allowed(), nil, refuse()
				})
			} else {
				f.objects.PrependWatchReactor("certificates", func(clienttesting.Action) (bool, apiwatch.Interface, error) {
					return !allowed(), nil, refuse()
				})
			}
			f.put("tls", "a", "True")
			f.Want(shop, []v1alpha1.ObjectReference{certificate("tls", "Ready")})
			got := f.await(shop, certificate("tls", "Ready"), v1alpha1.ObjectNotReadable, "")
			assert.Equal(t, `podsequence-controller may not read certificates.cert-manager.io; create a ClusterRole with the label `+
				`podsequence.example.com/aggregate-to-controller: "true" and the rule apiGroups: ["cert-manager.io"], `+
				`resources: ["certificates"], verbs: [get, list, watch]`, got.Message)
			mu.Lock()
			refused = nil
			mu.Unlock()
			f.await(shop, certificate("tls", "Ready"), v1alpha1.ObjectSatisfied, "a")
		})
	}
}

// A conversion may fail, or an aggregated API server be out of order.
func TestWhatKeepsObjectsFromBeingReadIsTold(t *testing.T) {
	f := newFixture(t)
	var mu sync.Mutex
	fails := true
	f.objects.PrependReactor("list", "certificates", func(clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		return fails, nil, apierrors.NewInternalError(errors.New("the conversion webhook is down"))
	})
	f.put("tls", "a", "True")
	reference := certificate("tls", "Ready")
	f.Want(shop, []v1alpha1.ObjectReference{reference})
	assert.Equal(t, shop, <-f.told)
	o, known := f.Observe(shop, &reference)
	assert.False(t, known)
	assert.Equal(t, Observation{
		State:   v1alpha1.ObjectWaiting,
		Message: "podsequence-controller could not read it yet: Internal error occurred: the conversion webhook is down",
	}, o)
	mu.Lock()
	fails = false
	mu.Unlock()
	f.await(shop, reference, v1alpha1.ObjectSatisfied, "a")
}

func TestReferencesThatCannotBe(t *testing.T) {
	f := newFixture(t)
	all := types.NamespacedName{Name: "all"}
	issuer := v1alpha1.ObjectReference{APIVersion: "cert-manager.io/v1", Kind: "ClusterIssuer", Name: "ca"}
	in := func(r v1alpha1.ObjectReference, namespace string) v1alpha1.ObjectReference {
		r.Namespace = namespace
		return r
	}
	for name, tc := range map[string]struct {
		sequence  types.NamespacedName
		reference v1alpha1.ObjectReference
		want      string
	}{
		"a PodSequence and an object of the cluster": {shop, issuer, "only a ClusterPodSequence may wait for cluster-scoped objects, such as a ClusterIssuer"},
		"a PodSequence and another namespace":        {shop, in(certificate("tls", ""), "prod"), "a PodSequence waits for objects of its own namespace only; use a ClusterPodSequence"},
		"a ClusterPodSequence without a namespace":   {all, certificate("tls", ""), "the kind Certificate has namespaces; say in which the object is"},
		"a ClusterPodSequence with one too much":     {all, in(issuer, "prod"), "the kind ClusterIssuer is cluster-scoped; remove the namespace from the reference"},
		"no version":                                 {all, v1alpha1.ObjectReference{APIVersion: "a/b/c", Kind: "A", Name: "a"}, `apiVersion "a/b/c" is not a group and a version`},
		"a kind that nobody serves":                  {shop, v1alpha1.ObjectReference{APIVersion: "v1", Kind: "Thing", Name: "a"}, "the kind Thing is not installed in version v1"},
	} {
		t.Run(name, func(t *testing.T) {
			f.Want(tc.sequence, []v1alpha1.ObjectReference{tc.reference})
			assert.Equal(t, tc.want, f.await(tc.sequence, tc.reference, v1alpha1.ObjectNotReadable, "").Message)
		})
	}
}

func TestSequencesOfANamespaceHaveRoomForSomeKinds(t *testing.T) {
	f := newFixture(t)
	kindOf := func(i int) v1alpha1.ObjectReference {
		return v1alpha1.ObjectReference{APIVersion: "example.com/v1", Kind: fmt.Sprintf("Kind%d", i), Name: "a"}
	}
	of := func(i int) types.NamespacedName {
		return types.NamespacedName{Namespace: "shop", Name: strconv.Itoa(i)}
	}
	for i := range MaxKindsPerNamespace + 1 {
		f.Want(of(i), []v1alpha1.ObjectReference{kindOf(i), kindOf(0)})
	}
	last := MaxKindsPerNamespace
	const full = "the PodSequences of this namespace already wait for objects of 32 kinds, which is the limit"
	assert.Equal(t, full, f.await(of(last), kindOf(last), v1alpha1.ObjectNotReadable, "").Message)
	assert.NotEqual(t, full, f.await(of(last), kindOf(0), v1alpha1.ObjectNotReadable, "").Message)
	elsewhere := types.NamespacedName{Namespace: "other", Name: "a"}
	f.Want(elsewhere, []v1alpha1.ObjectReference{kindOf(last)})
	assert.NotEqual(t, full, f.await(elsewhere, kindOf(last), v1alpha1.ObjectNotReadable, "").Message)

	for len(f.told) > 0 {
		<-f.told
	}
	f.Forget(of(1))
	for key := range f.told {
		if key == of(last) {
			break // it is told that there is room
		}
	}
	f.Want(of(last), []v1alpha1.ObjectReference{kindOf(last), kindOf(0)})
	for {
		if o, known := f.Observe(of(last), new(kindOf(last))); known && o.Message != full {
			break
		}
		<-f.told
	}
	for i := range MaxKindsPerNamespace + 1 {
		f.Forget(of(i))
	}
	f.Forget(elsewhere)
	f.mu.Lock()
	defer f.mu.Unlock()
	assert.Empty(t, f.watches)
	assert.Empty(t, f.tenants)
}
