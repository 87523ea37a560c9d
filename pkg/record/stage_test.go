package record

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"example.com/podsequence/pkg/sequence"
)

// stage is a Recorder with a fake engine and a fake API server, which answers without a network, so that time passes only when nothing
// else can happen. The fields are guarded by mu, which the story holds while it does not wait.
type stage struct {
	*Recorder

	mu sync.Mutex
	// ripe is what the engine says until it gets to know that it was recorded.
	ripe *sequence.Ripe
	// next is what it says from then on.
	next *sequence.Ripe
	// behind are the times that the engine does not agree yet.
	behind   int
	looked   []sequence.Looked
	recorded []*unstructured.Unstructured

	// slow is how long the API server takes to answer.
	slow time.Duration
	// objects are what the API server answers to GETs, by path and, after it, by query.
	objects map[string]any
	// refusals are what it answers, once for each, instead of something else, by method.
	refusals map[string][]metav1.Status
	requests []string
	patches  []string
	accepts  map[string]string
}

// play runs a story in a bubble of its own.
func play(t *testing.T, options Options, story func(t *testing.T, s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{objects: map[string]any{}, refusals: map[string][]metav1.Status{}, accepts: map[string]string{}}
		options.Clock = clock.RealClock{}
		options.Recorded = func(object *unstructured.Unstructured) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ripe, s.next, s.recorded = s.next, nil, append(s.recorded, object)
		}
		var err error
		// The rate limit would make this config useless.
		s.Recorder, err = New(&rest.Config{Host: "http://server", Transport: s, QPS: 0.001, Burst: 1}, s, options)
		require.NoError(t, err)
		var running sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		defer running.Wait()
		defer cancel()
		running.Go(func() { s.Run(ctx) })
		s.mu.Lock()
		defer s.mu.Unlock()
		story(t, s)
	})
}

// Ripe implements Decider.
func (s *stage) Ripe(types.NamespacedName) (sequence.Ripe, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ripe == nil {
		return sequence.Ripe{}, false
	}
	return *s.ripe, true
}

// Agrees implements Decider.
func (s *stage) Agrees(_ sequence.Ripe, looked sequence.Looked) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked = append(s.looked, looked)
	s.behind--
	return s.behind < 0
}

// RoundTrip implements http.RoundTripper: it is the API server.
func (s *stage) RoundTrip(request *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.slow):
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := request.URL.RequestURI()
	s.requests = append(s.requests, request.Method+" "+path)
	s.accepts[request.URL.Path] = request.Header.Get("Accept")
	if refusals := s.refusals[request.Method]; len(refusals) > 0 {
		s.refusals[request.Method] = refusals[1:]
		return answer(request, int(refusals[0].Code), refusals[0])
	}
	if request.Method == http.MethodPatch {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		s.patches = append(s.patches, request.Header.Get("Content-Type")+" "+string(body))
		return answer(request, http.StatusOK, map[string]any{
			"apiVersion": "scheduling.example.com/v1alpha1", "kind": "PodSequence", "metadata": map[string]any{"name": "shop", "resourceVersion": "8"},
		})
	}
	if object, ok := s.objects[path]; ok {
		return answer(request, http.StatusOK, object)
	}
	return answer(request, http.StatusNotFound, status(http.StatusNotFound, metav1.StatusReasonNotFound, "it is not there"))
}

func answer(request *http.Request, code int, object any) (*http.Response, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: request,
	}, nil
}

func status(code int32, reason metav1.StatusReason, message string) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}
}

// ask asks for a sequence to be recorded, and returns when the next thing to happen is that time passes.
func (s *stage) ask(key types.NamespacedName) {
	s.Record(key)
	s.later(0)
}

// later lets time pass, that of the bubble.
func (s *stage) later(d time.Duration) {
	s.mu.Unlock()
	defer s.mu.Lock()
	time.Sleep(d)
	synctest.Wait()
}
