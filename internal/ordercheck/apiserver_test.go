package ordercheck

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// apiServer serves lists and watches of pods and PodSequences, with one count of revisions for both, and can be told to
// forget. It stands for the parts of a real one that are hard to provoke.
type apiServer struct {
	t    *testing.T
	http *httptest.Server

	mu        sync.Mutex
	changed   *sync.Cond
	revision  int
	log       []change
	forgotten int             // no watch may begin before this revision
	compacted int             // no list may be of a revision before this one
	down      bool            // every request fails
	held      map[string]bool // resources whose watches get nothing for now
	watches   int             // counts up to break watches
}

type change struct {
	resource string
	revision int
	kind     watch.EventType
	object   metav1.Object
}

func newAPIServer(t *testing.T) *apiServer {
	s := &apiServer{t: t, revision: 100, held: map[string]bool{}}
	s.changed = sync.NewCond(&s.mu)
	s.http = httptest.NewServer(s)
	t.Cleanup(func() {
		s.restart(func() {}) // a watch that goes on would keep the server from closing
		s.http.Close()
	})
	return s
}

func (s *apiServer) config() *rest.Config {
	return &rest.Config{Host: s.http.URL}
}

// do changes the server's state and lets the watches know.
func (s *apiServer) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.changed.Broadcast()
}

// restart breaks all watches off and has another change happen that no watch sees.
func (s *apiServer) restart(f func()) {
	s.do(func() { s.watches++; f() })
}

func (s *apiServer) write(kind watch.EventType, object metav1.Object) {
	s.do(func() { s.writeLocked(kind, object) })
}

func (s *apiServer) writeLocked(kind watch.EventType, object metav1.Object) {
	s.revision++
	resource := "pods"
	switch o := object.(type) {
	case *corev1.Pod:
		object = o.DeepCopy()
	case *v1alpha1.PodSequence:
		resource, object = "podsequences", o.DeepCopy()
	}
	object.SetResourceVersion(strconv.Itoa(s.revision))
	s.log = append(s.log, change{resource: resource, revision: s.revision, kind: kind, object: object})
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	query := r.URL.Query()
	at, _ := strconv.Atoi(query.Get("resourceVersion"))
	resource := path.Base(r.URL.Path)
	switch {
	case s.down:
		http.Error(w, "starting", http.StatusServiceUnavailable)
	case query.Get("watch") != "":
		s.serveWatch(w, r, resource, at)
	case query.Get("resourceVersionMatch") == "Exact":
		if at < s.compacted {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusGone)
			s.send(w, gone)
			return
		}
		s.serveList(w, resource, at)
	default:
		s.serveList(w, resource, s.revision)
	}
}

var gone = metav1.Status{
	TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
	Status:   metav1.StatusFailure,
	Code:     http.StatusGone,
	Reason:   metav1.StatusReasonExpired,
	Message:  "too old resource version",
}

func (s *apiServer) serveList(w http.ResponseWriter, resource string, at int) {
	items := map[types.UID]metav1.Object{}
	for _, c := range s.log {
		switch {
		case c.resource != resource || c.revision > at:
		case c.kind == watch.Deleted:
			delete(items, c.object.GetUID())
		default:
			items[c.object.GetUID()] = c.object
		}
	}
	list := map[string]any{
		"kind": "List", "apiVersion": "v1",
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(at)},
		"items":    []any{},
	}
	for _, item := range items {
		list["items"] = append(list["items"].([]any), item)
	}
	w.Header().Set("Content-Type", "application/json")
	s.send(w, list)
}

func (s *apiServer) serveWatch(w http.ResponseWriter, r *http.Request, resource string, after int) {
	w.Header().Set("Content-Type", "application/json")
	if after < s.forgotten {
		s.send(w, map[string]any{"type": watch.Error, "object": gone})
		return
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() { // wakes the loop when the client goes
		select {
		case <-r.Context().Done():
			s.do(func() {})
		case <-stop:
		}
	}()
	_ = http.NewResponseController(w).Flush()
	mine, sent := s.watches, 0
	for r.Context().Err() == nil && mine == s.watches {
		for sent < len(s.log) && !s.held[resource] {
			if c := s.log[sent]; c.resource == resource && c.revision > after {
				s.send(w, map[string]any{"type": c.kind, "object": c.object})
			}
			sent++
		}
		_ = http.NewResponseController(w).Flush()
		s.changed.Wait()
	}
}

func (s *apiServer) send(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if assert.NoError(s.t, err) {
		_, _ = w.Write(text) // the client may be gone
	}
}

func podOf(name string, edits ...podEdit) *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{SchedulerName: DefaultSchedulerName},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func sequenceOf(name string, fixes ...sequenceFix) *v1alpha1.PodSequence {
	sequence := &v1alpha1.PodSequence{
		TypeMeta:   metav1.TypeMeta{Kind: "PodSequence", APIVersion: v1alpha1.GroupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name, UID: types.UID(name), Generation: 1},
	}
	for _, fix := range fixes {
		fix(sequence)
	}
	return sequence
}

func TestAPIServerOfTheTestsKeepsItsHistory(t *testing.T) {
	s := newAPIServer(t)
	s.write(watch.Added, podOf("a"))
	s.write(watch.Deleted, podOf("a"))
	for at, want := range map[int]int{100: 0, 101: 1, 102: 0} {
		recorder := httptest.NewRecorder()
		url := fmt.Sprintf("/api/v1/pods?resourceVersionMatch=Exact&resourceVersion=%d", at)
		s.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, url, nil))
		var list corev1.PodList
		require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &list))
		assert.Len(t, slices.Collect(slices.Values(list.Items)), want)
	}
}
