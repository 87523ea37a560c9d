package integration

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// slowWatch begins a story on a cluster whose only instance of our scheduler reaches the API server through a proxy.
func slowWatch(t *testing.T, env *environment) (*story, *proxy) {
	s := newStoryIn(t, env)
	proxy := env.startProxy(t)
	scheduler := env.RunInstance(t, controlplane.PodSequenceScheduler, proxy.through(t))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("the scheduler's log is", scheduler.Log)
		}
	})
	s.fence() // it schedules
	return s, proxy
}

func isSequences(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/"+v1alpha1.PodSequenceResource.Resource)
}

// isFeed tells the engine's watch of pods from the scheduler's own, which leaves out terminal pods.
func isFeed(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/api/v1/pods") && !r.URL.Query().Has("fieldSelector")
}

// refuse answers as the API server does.
func refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(err.ErrStatus.Code))
	_ = json.NewEncoder(w).Encode(err.ErrStatus)
}

func TestWatches(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := exclusively(t)
	require.NoError(t, env.Kill(t.Context(), controlplane.PodSequenceScheduler))
	t.Cleanup(func() { assert.NoError(t, env.StartComponent(context.Background(), controlplane.PodSequenceScheduler)) })

	t.Run("a scheduler whose watch of sequences lags binds no labelled pod before it knows its sequence", func(t *testing.T) {
		s, proxy := slowWatch(t, env)
		free := make(chan struct{})
		proxy.set(func(_ http.ResponseWriter, r *http.Request) bool {
			if isSequences(r) && r.URL.Query().Has("watch") {
				select {
				case <-free:
				case <-r.Context().Done():
				}
			}
			return false
		})
		s.Create(s.threeTiers().Obj())
		for _, tier := range tiers {
			s.createPods(s.pod(tier).Label(v1alpha1.SequenceLabel, "shop"))
		}
		s.createPods(s.pod("free"))
		s.awaitBound("free") // the scheduler has seen the pods before it
		for _, tier := range tiers {
			assert.Empty(t, s.getPod(tier).Spec.NodeName, "%s is bound before its sequence can be known", tier)
		}
		close(free)
		s.startInOrder()
	})
	t.Run("a scheduler whose engine learns of pods late holds them as soon as it sees them", func(t *testing.T) {
		s, proxy := slowWatch(t, env)
		free := make(chan struct{})
		s.Create(s.threeTiers().Obj())
		s.createPods(s.pod("db"))
		s.awaitBound("db")
		proxy.set(func(_ http.ResponseWriter, r *http.Request) bool {
			if isFeed(r) {
				select {
				case <-free:
				case <-r.Context().Done():
				}
			}
			return false
		})
		s.createPods(s.pod("app"), s.pod("web"), s.pod("free"))
		s.awaitBound("free") // no sequence speaks of it: that the engine does not know it holds it no longer than need be
		assert.Empty(t, s.getPod("app").Spec.NodeName)
		assert.Empty(t, s.getPod("web").Spec.NodeName)
		close(free)
		s.startInOrder()
	})
	t.Run("a watch that is too old is begun anew without loss", func(t *testing.T) {
		s, proxy := slowWatch(t, env)
		s.Create(s.threeTiers().Obj())
		s.createPods(s.pod("db"), s.pod("app"), s.pod("web"))
		s.awaitBound("db")
		gone := map[string]bool{}
		proxy.set(func(w http.ResponseWriter, r *http.Request) bool {
			proxy.mu.Lock()
			defer proxy.mu.Unlock()
			resuming := r.URL.Query().Has("watch") && r.URL.Query().Get("resourceVersion") != ""
			if (isSequences(r) || isFeed(r)) && resuming && !gone[r.URL.Path] {
				gone[r.URL.Path] = true
				refuse(w, apierrors.NewResourceExpired("too old resource version"))
				return true
			}
			return false
		})
		s.expectHeld("app", "web")
		s.startInOrder()
		assert.Len(t, gone, 2, "both watches were refused once")
	})
	testWatchesOutOfStep(t, env)
	t.Run("while sequences may not be listed nothing is let go, and when they may be everything is", func(t *testing.T) {
		s := newStoryIn(t, env)
		proxy := env.startProxy(t)
		proxy.set(func(w http.ResponseWriter, r *http.Request) bool {
			if isSequences(r) {
				refuse(w, apierrors.NewForbidden(schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "podsequences"}, "", nil))
				return true
			}
			return false
		})
		env.RunInstance(t, controlplane.PodSequenceScheduler, proxy.through(t))
		s.Create(s.threeTiers().Obj())
		s.createPods(s.pod("db"), s.pod("app"), s.pod("web"), s.pod("free"))
		before := proxy.asked(isSequences)
		s.Await("the scheduler to be refused twice more", func() bool { return proxy.asked(isSequences) > before+1 })
		for _, name := range append(tiers, "free") {
			assert.Empty(t, s.getPod(name).Spec.NodeName, "%s is bound though no sequence can be known", name)
		}
		proxy.set(nil)
		s.awaitBound("free")
		s.startInOrder()
	})
}
