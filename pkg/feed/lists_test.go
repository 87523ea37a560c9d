package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// A list that was under way may have been made before something was written.
func TestWhoAsksGetsAListThatBeganAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed, began := &Feed{}, 0
		list := func(context.Context) (string, error) {
			began++
			now := fmt.Sprint(began)
			time.Sleep(time.Second) // the server takes its time
			return now, nil
		}
		var asking sync.WaitGroup
		var mu sync.Mutex
		answers := map[string][]string{}
		ask := func(who string) {
			asking.Go(func() {
				newest, err := feed.fresh(t.Context(), "sequences", list)
				assert.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				answers[newest] = append(answers[newest], who)
			})
			synctest.Wait()
		}
		ask("first")
		ask("second")
		ask("third")
		asking.Wait()
		assert.Equal(t, []string{"first"}, answers["1"])
		assert.ElementsMatch(t, []string{"second", "third"}, answers["2"], "they share a list")
		assert.Equal(t, 2, began)
	})
}

func TestAListThatFailsFailsForThoseWhoWaitForIt(t *testing.T) {
	feed := &Feed{}
	_, err := feed.fresh(t.Context(), "sequences", func(context.Context) (string, error) { return "", errors.New("the server is down") })
	require.EqualError(t, err, "list sequences: the server is down")
	newest, err := feed.fresh(t.Context(), "sequences", func(context.Context) (string, error) { return "7", nil })
	require.NoError(t, err)
	assert.Equal(t, "7", newest)
}

// A watch is late: what was written before a gate is lifted is waited for.
func TestGatesWaitForWhatWasWrittenBeforeThem(t *testing.T) {
	tests := map[string]func(w *lateWorld){
		"a PodSequence": func(w *lateWorld) {
			w.write(watch.Added, MakeSequence("blue", "new").UID("new").Pods("Database", "db").Pods("Application", "app").Obj())
		},
		"a ClusterPodSequence": func(w *lateWorld) { w.write(watch.Added, databasesOfRed()) },
		"that the namespace requires a sequence": func(w *lateWorld) {
			w.server.kind("namespaces").write(watch.Modified, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: "blue", UID: "blue", Annotations: map[string]string{v1alpha1.RequireSequenceAnnotation: "true"},
			}})
		},
	}
	for what, write := range tests {
		t.Run(what, func(t *testing.T) {
			playLate(t, func(w *lateWorld) {
				held := w.pod("blue", "app")
				write(w)
				caughtUp := make(chan error, 1)
				go func() { caughtUp <- w.feed.CatchUp(w.Context(), "blue") }()
				time.Sleep(listTimeout / 2) // the server takes its time
				synctest.Wait()
				assert.Empty(w, caughtUp, "the watch has not brought it")
				assert.False(w, held())
				w.settle()
				require.NoError(w, <-caughtUp)
				assert.True(w, held())
			})
		})
	}
}

// lateWorld is a feed that knows everything in a cluster without sequences. From then on its watches bring nothing before settle.
type lateWorld struct {
	*testing.T
	server *apiServer
	feed   *Feed
}

// playLate runs a story with a feed that watches the namespaces red and blue.
func playLate(t *testing.T, story func(w *lateWorld)) {
	synctest.Test(t, func(t *testing.T) {
		w := &lateWorld{T: t, server: newAPIServer(1)}
		for _, name := range []string{"red", "blue"} {
			w.server.kind("namespaces").write(watch.Added, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: name, UID: types.UID(name), Labels: map[string]string{"team": name},
			}})
		}
		w.server.installKinds()
		w.feed = feedOf(w.server)
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
		done := make(chan struct{})
		go func() { defer close(done); w.feed.Run(ctx) }()
		defer func() { cancel(); <-done }()
		w.settle()
		require.True(t, w.feed.Synced(), w.feed.Why())
		story(w)
	})
}

// settle lets all watches deliver everything.
func (w *lateWorld) settle() {
	for range 5 {
		for _, kind := range w.server.kinds {
			for kind.deliver(1000) {
				synctest.Wait()
			}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
	}
}

// write stores a sequence.
func (w *lateWorld) write(event watch.EventType, stored object) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
	require.NoError(w, err)
	resource := v1alpha1.PodSequenceResource.Resource
	if stored.GetNamespace() == "" {
		resource = v1alpha1.ClusterPodSequenceResource.Resource
	}
	w.server.kind(resource).write(event, &unstructured.Unstructured{Object: content})
}

// pod creates a pod of our scheduler, of which the engine knows. It returns whether that is held.
func (w *lateWorld) pod(namespace, name string) (held func() bool) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name)},
		Spec:       corev1.PodSpec{SchedulerName: "ours"},
	}
	pods := w.server.kind("pods")
	pods.write(watch.Added, pod)
	pods.deliver(1)
	synctest.Wait()
	return func() bool { return w.feed.engine.Decide(pod).Held }
}

// databasesOfRed returns a sequence with databases in namespaces with a label, and one named pod after them.
func databasesOfRed() *v1alpha1.ClusterPodSequence {
	labelled := func(key, value string) *v1alpha1.LabelSelector {
		return &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}}
	}
	return &v1alpha1.ClusterPodSequence{ObjectMeta: metav1.ObjectMeta{Name: "new", UID: "new"}, Spec: v1alpha1.ClusterPodSequenceSpec{PodGroups: []v1alpha1.ClusterPodGroup{
		{NamespaceSelector: labelled("team", "red"), PodGroup: v1alpha1.PodGroup{PodSelector: labelled("tier", "db")}},
		{Namespaces: []string{"blue"}, PodGroup: v1alpha1.PodGroup{Pods: []string{"app"}}},
	}}}
}
