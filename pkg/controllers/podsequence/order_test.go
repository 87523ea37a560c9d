package podsequence

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/feed"
	"example.com/podsequence/pkg/sequence"
	psttesting "example.com/podsequence/test/harness/builders"
)

// slowAPI is an API server on which each list is answered when the test says so. Nothing ever changes on it.
type slowAPI struct {
	asked map[string]chan struct{}       // what was listed
	lists map[string]chan runtime.Object // the answers
}

const (
	podsPath        = "/api/v1/pods"
	definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	sequencesPath   = "/apis/scheduling.example.com/v1alpha1/podsequences"
)

func newSlowAPI() *slowAPI {
	api := &slowAPI{asked: map[string]chan struct{}{}, lists: map[string]chan runtime.Object{}}
	for _, path := range []string{podsPath, definitionsPath, sequencesPath} {
		api.asked[path], api.lists[path] = make(chan struct{}, 100), make(chan runtime.Object)
	}
	return api
}

func (api *slowAPI) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := request.URL.Query()
	switch {
	case query.Has("sendInitialEvents"):
		// As an API server does that cannot stream lists: the client then lists.
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity,
		})
	case query.Get("watch") != "":
		w.(http.Flusher).Flush()
		<-request.Context().Done()
	// Nodes, workloads and ClusterPodSequences: there are none. Metadata is only asked for to compare versions.
	case api.lists[request.URL.Path] == nil,
		strings.Contains(query.Get("fieldSelector"), "clusterpodsequences."),
		strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadataList"):
		none := metav1.List{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, ListMeta: metav1.ListMeta{ResourceVersion: "9"},
		}
		switch {
		case strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadataList"):
			none.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}
		case request.URL.Path == definitionsPath:
			none.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinitionList"}
		}
		_ = json.NewEncoder(w).Encode(none)
	default:
		api.asked[request.URL.Path] <- struct{}{}
		select {
		case list := <-api.lists[request.URL.Path]:
			_ = json.NewEncoder(w).Encode(list)
		case <-request.Context().Done():
		}
	}
}

func (api *slowAPI) answer(t *testing.T, path string, list runtime.Object) {
	t.Helper()
	select {
	case api.lists[path] <- list:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s was not listed", path)
	}
}

// fence tells when a pod is to be explained. Pods to lift come before pods to explain.
type fence struct {
	requests
	explained chan types.NamespacedName
}

func (f *fence) Explain(pod types.NamespacedName) { f.explained <- pod }

// The sequence's first group looks ready when only one of its pods is known. So pods must all be in before the sequence
// is, and nothing may be asked for before both are.
func TestNothingIsAskedForBeforeEverythingIsKnown(t *testing.T) {
	const gate = "podsequence.example.com/sequence-gate"
	db := func(name string, ready corev1.ConditionStatus) corev1.Pod {
		return *st.MakePod().Namespace("shop").Name(name).UID(name).ResourceVersion("5").Label("app", "db").Node("n").
			Condition(corev1.PodReady, ready, "").Obj()
	}
	web := *st.MakePod().Namespace("shop").Name("web").UID("web").ResourceVersion("5").
		SchedulerName("default-scheduler").SchedulingGates([]string{gate}).Obj()
	pods := &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "9"},
		Items: []corev1.Pod{db("db-0", corev1.ConditionTrue), web, db("db-1", corev1.ConditionFalse)},
	}
	definitions := &apiextensionsv1.CustomResourceDefinitionList{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinitionList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "9"},
		Items: []apiextensionsv1.CustomResourceDefinition{{
			ObjectMeta: metav1.ObjectMeta{Name: "podsequences.scheduling.example.com", UID: "crd", ResourceVersion: "1"},
			Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
			}},
		}},
	}
	sequences := &v1alpha1.PodSequenceList{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "PodSequenceList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "9"},
		Items: []v1alpha1.PodSequence{
			*psttesting.MakeSequence("shop", "backend").UID("u1").Label("Database", "app", "db").Pods("Frontend", "web").Obj(),
		},
	}

	api := newSlowAPI()
	server := httptest.NewServer(api)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	engine := sequence.NewEngine(sequence.Config{
		SchedulerNames: []string{"podsequence-scheduler"}, GatePrefixes: []string{"podsequence.example.com/"},
	})
	asked := &fence{explained: make(chan types.NamespacedName)}
	recorder := &records{feedFunc: func(context.Context) {}}
	d := &dispatcher{ours: sets.New("podsequence-scheduler"), writer: asked, recorder: recorder, objects: recorder}
	source, err := feed.New(&rest.Config{Host: server.URL}, engine, feed.Options{Sink: d.dispatch})
	require.NoError(t, err)
	d.feed = source
	queue := newQueue()
	require.NoError(t, d.Start(ctx, queue))

	<-api.asked[podsPath]
	assert.Empty(t, api.asked[sequencesPath], "sequences are not even listed before all pods are in")
	api.answer(t, podsPath, pods)
	api.answer(t, definitionsPath, definitions)
	<-api.asked[sequencesPath]
	assert.Zero(t, queue.Len())
	assert.Equal(t, requests{}, asked.requests)
	assert.NotEmpty(t, source.Why())
	api.answer(t, sequencesPath, sequences)

	assert.Equal(t, types.NamespacedName{Namespace: "shop", Name: "web"}, <-asked.explained)
	assert.Empty(t, asked.lifts, "still held: one database pod is not ready")
	assert.Empty(t, recorder.asked)
	request, _ := queue.Get()
	assert.Equal(t, shop, request.NamespacedName)
	assert.Empty(t, source.Why())
}
