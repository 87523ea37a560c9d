package feed

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"example.com/podsequence/pkg/sequence"
	. "example.com/podsequence/test/harness/builders"
)

// scoping is the scope of pods of a feed that does not run, and namespace a, which has become of interest.
type scoping struct {
	*testing.T
	*scope[*corev1.Pod]
	pods *storedKind
	a    *watchedNamespace
}

func newScoping(t *testing.T) *scoping {
	server := newAPIServer(1)
	f := feedOf(server)
	s := &scoping{T: t, scope: f.world[0].store.(*objectStore[*corev1.Pod]).scope, pods: server.kind("pods")}
	s.relistAll()
	require.True(t, f.interest.holdBack(sequence.Stored{PodSequence: MakeSequence("a", "shop").Pods("Database", "db").Obj()}, time.Now()))
	s.a = f.interest.namespaces["a"]
	return s
}

// write creates or deletes a pod that is bound, and returns it.
func (s *scoping) write(event watch.EventType, name string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: "node"},
	}
	s.pods.write(event, pod)
	return pod
}

// waiting creates a pod that has no node, and returns it.
func (s *scoping) waiting(name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name)}}
	for _, edit := range edits {
		edit(pod)
	}
	s.pods.write(watch.Added, pod)
	return pod
}

// relistAll does what the reflector does when the watch has a gap.
func (s *scoping) relistAll() {
	list, err := s.ListWithContext(s.Context(), metav1.ListOptions{})
	require.NoError(s, err)
	var objects []any
	version := ""
	require.NoError(s, pages(s.Context(), func(context.Context, string, metav1.ListOptions) (runtime.Object, error) { return list, nil },
		"", metav1.ListOptions{}, func(page []*corev1.Pod, of string) (bool, error) {
			for _, pod := range page {
				objects = append(objects, pod)
			}
			version = of
			return true, nil
		}))
	require.NoError(s, s.store.Replace(objects, version))
}

// answering calls happens before the answer to the next list arrives.
func (s *scoping) answering(happens func()) {
	list := s.list
	s.list = func(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error) {
		page, err := list(ctx, namespace, options)
		s.list = list
		happens()
		return page, err
	}
}

// newest makes each list return the newest version, although the watch has not come that far.
func (s *scoping) newest() {
	list := s.list
	s.list = func(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error) {
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
		return list(ctx, namespace, options)
	}
}

// recent moves the store's position to the server's present version, so that no list is older than that.
func (s *scoping) recent() { s.store.position.advance(strconv.Itoa(s.pods.server.version)) }

func (s *scoping) known() []types.UID {
	return s.feed.engine.KnownIn(sequence.KindPod, "a")
}

func TestANamespaceBecomesOfInterest(t *testing.T) {
	tests := map[string]func(t *testing.T, s *scoping){
		"all pages come in": func(t *testing.T, s *scoping) {
			for _, name := range []string{"p1", "p2", "p3", "p4", "p5"} {
				s.write(watch.Added, name)
			}
			s.recent()
			require.NoError(t, s.gather(t.Context(), []*watchedNamespace{s.a}))
			assert.ElementsMatch(t, []types.UID{"p1", "p2", "p3", "p4", "p5"}, s.known())
			assert.Equal(t, map[string]int{"": 1, "a": 2}, s.pods.lists, "only this namespace is listed: the pods on nodes, and those that have ended without one")
		},
		"pods that wait for a node are known already": func(t *testing.T, s *scoping) {
			for _, name := range []string{"p1", "p2", "p3"} {
				require.NoError(t, s.store.Add(s.waiting(name)))
			}
			s.write(watch.Added, "bound")
			s.recent()
			before := s.pods.listed
			require.NoError(t, s.gather(t.Context(), []*watchedNamespace{s.a}))
			assert.ElementsMatch(t, []types.UID{"p1", "p2", "p3", "bound"}, s.known())
			assert.Equal(t, 1, s.pods.listed-before, "only the other one is listed")
		},
		"a pod that has ended without a node comes in": func(t *testing.T, s *scoping) {
			s.waiting("p1", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
			s.waiting("p2", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })
			s.recent()
			require.NoError(t, s.gather(t.Context(), []*watchedNamespace{s.a}))
			assert.ElementsMatch(t, []types.UID{"p1", "p2"}, s.known())
		},
		"a pod that waits for a node comes in by an event that is not newer than the list": func(t *testing.T, s *scoping) {
			created := s.waiting("p1").DeepCopy()
			s.write(watch.Added, "bound")
			s.newest()
			require.NoError(t, s.gather(t.Context(), []*watchedNamespace{s.a}))
			assert.Equal(t, []types.UID{"bound"}, s.known())
			require.NoError(t, s.store.Add(created))
			assert.ElementsMatch(t, []types.UID{"p1", "bound"}, s.known())
		},
		"a pod that gets a node between the lists comes in": func(t *testing.T, s *scoping) {
			require.NoError(t, s.store.Add(s.waiting("p1")))
			s.recent()
			var bound *corev1.Pod
			s.answering(func() { bound = s.write(watch.Modified, "p1").DeepCopy() })
			require.NoError(t, s.gather(t.Context(), []*watchedNamespace{s.a}))
			require.NoError(t, s.store.Update(bound))
			assert.Equal(t, []types.UID{"p1"}, s.known())
		},
		"an event that is not newer than the list does not bring back what is gone": func(t *testing.T, s *scoping) {
			created := s.write(watch.Added, "p1").DeepCopy()
			s.write(watch.Deleted, "p1")
			s.recent()
			require.NoError(t, s.gather(t.Context(), []*watchedNamespace{s.a}))
			require.NoError(t, s.store.Add(created))
			assert.Empty(t, s.known())
		},
		"an event that is newer than the list counts": func(t *testing.T, s *scoping) {
			require.NoError(t, s.gather(t.Context(), []*watchedNamespace{s.a}))
			require.NoError(t, s.store.Add(s.write(watch.Added, "p1")))
			assert.Equal(t, []types.UID{"p1"}, s.known())
		},
		"what is deleted while the list is under way is not taken from it": func(t *testing.T, s *scoping) {
			s.write(watch.Added, "p1")
			s.recent()
			s.answering(func() { require.NoError(t, s.store.Delete(s.write(watch.Deleted, "p1"))) })
			require.NoError(t, s.gather(t.Context(), []*watchedNamespace{s.a}))
			assert.Empty(t, s.known())
		},
		"what is deleted in a gap of the watch is not taken from the pages of before": func(t *testing.T, s *scoping) {
			for _, name := range []string{"p1", "p2", "p3"} {
				s.write(watch.Added, name)
			}
			s.recent()
			s.answering(func() {
				s.write(watch.Deleted, "p3") // nobody tells
				s.relistAll()
			})
			require.NoError(t, s.gather(t.Context(), []*watchedNamespace{s.a}))
			assert.ElementsMatch(t, []types.UID{"p1", "p2"}, s.known())
		},
		"a namespace that is abandoned meanwhile is forgotten": func(t *testing.T, s *scoping) {
			s.write(watch.Added, "p1")
			s.recent()
			s.answering(func() {
				s.feed.apply(func() sequence.Changes {
					s.feed.interest.forgetSequence(types.NamespacedName{Namespace: "a", Name: "shop"}, time.Now())
					return sequence.Changes{}
				})
			})
			require.NoError(t, s.gather(t.Context(), []*watchedNamespace{s.a}))
			assert.Empty(t, s.known())
			assert.Empty(t, s.feed.interest.namespaces)
			_, waits := s.feed.interest.kept.holds(sequence.Identity{Namespace: "a", Name: "db"})
			assert.False(t, waits)
		},
		"many namespaces are listed together": func(t *testing.T, s *scoping) {
			s.write(watch.Added, "p1")
			s.recent()
			other := s.feed.interest.addSequence(types.NamespacedName{Namespace: "b", Name: "shop"}, "b", nil)
			require.NoError(t, s.gather(t.Context(), []*watchedNamespace{s.a, other}))
			assert.Equal(t, []types.UID{"p1"}, s.known())
			assert.Equal(t, map[string]int{"": 3}, s.pods.lists)
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newScoping(t)) })
		})
	}
}

// A scheduler that starts, or whose watch has a gap, lists what is of interest, and no more.
func TestWhatIsOfInterestIsListedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScoping(t)
		for _, name := range []string{"p1", "p2", "p3"} {
			s.write(watch.Added, name)
		}
		for _, name := range []string{"bound", "waiting"} {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: name, UID: types.UID(name)}}
			if name == "bound" {
				pod.Spec.NodeName = "node"
			}
			s.pods.write(watch.Added, pod)
		}
		s.relistAll()
		assert.ElementsMatch(t, []types.UID{"p1", "p2", "p3"}, s.known())
		assert.Equal(t, []types.UID{"waiting"}, s.feed.engine.KnownIn(sequence.KindPod, "b"))
	})
}
