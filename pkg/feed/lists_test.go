package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// A list that was under way may have been made before something was written.
func TestWhoAsksGetsAListThatBeganAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists, began, release := newFreshLists(), 0, make(chan struct{})
		list := func(context.Context) (string, error) {
			began++
			now := fmt.Sprint(began)
			<-release
			return now, nil
		}
		var asking sync.WaitGroup
		var mu sync.Mutex
		answers := map[string][]string{}
		ask := func(who string) {
			asking.Go(func() {
				newest, err := lists.newest(t.Context(), "sequences", list)
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
		close(release)
		asking.Wait()
		assert.Equal(t, []string{"first"}, answers["1"])
		assert.ElementsMatch(t, []string{"second", "third"}, answers["2"], "they share a list")
		assert.Equal(t, 2, began)
		synctest.Wait()
		assert.Empty(t, lists.busy, "nothing is kept")
	})
}

func TestAListThatFailsFailsForThoseWhoWaitForIt(t *testing.T) {
	lists := newFreshLists()
	_, err := lists.newest(t.Context(), "sequences", func(context.Context) (string, error) { return "", errors.New("the server is down") })
	require.ErrorContains(t, err, "the server is down")
	newest, err := lists.newest(t.Context(), "sequences", func(context.Context) (string, error) { return "7", nil })
	require.NoError(t, err)
	assert.Equal(t, "7", newest)
}

// A watch is late: what was written before a gate is lifted is waited for.
func TestGatesWaitForWhatWasWrittenBeforeThem(t *testing.T) {
	tests := map[string]func(w *keptWorld){
		"a PodSequence": func(w *keptWorld) {
			w.write(watch.Added, MakeSequence("blue", "new").UID("new").Pods("Database", "db").Pods("Application", "app").Obj())
		},
		"a ClusterPodSequence": func(w *keptWorld) { w.write(watch.Added, databasesOfRed()) },
		"that the namespace requires a sequence": func(w *keptWorld) {
			w.server.kind("namespaces").write(watch.Modified, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: "blue", UID: "blue", Annotations: map[string]string{v1alpha1.RequireSequenceAnnotation: "true"},
			}})
		},
	}
	for what, write := range tests {
		t.Run(what, func(t *testing.T) {
			playKept(t, func(w *keptWorld) {
				w.setBroken(false)
				pod := w.pod("blue", "app", nil)
				write(w)
				caughtUp := make(chan error, 1)
				go func() {
					_, err := w.feed.CatchUp(w.Context(), pod.Identity)
					caughtUp <- err
				}()
				time.Sleep(listTimeout / 2) // the server takes its time
				synctest.Wait()
				assert.Empty(w, caughtUp, "the watch has not brought it")
				assert.False(w, pod.held())
				w.settle()
				require.NoError(w, <-caughtUp)
				assert.True(w, pod.held())
			})
		})
	}
}
