package feed

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
)

// aPod is any pod of the namespace.
var aPod = sequence.Identity{Namespace: "shop", Name: "pod", Labels: labels.Set{}}

// refused is a pod to whose namespace a sequence points that it does not allow.
func refused(version string, moment uint64) sequence.FirstSeen {
	return sequence.FirstSeen{Version: version, Moment: moment, AsksNamespaces: true}
}

// catchUp returns when the engine knows everything that may hold a pod, which no list of a namespace delays.
func catchUp(t *testing.T, f *Feed, seen sequence.FirstSeen) {
	later, err := f.CatchUp(t.Context(), aPod, seen)
	assert.NoError(t, err)
	assert.Nil(t, later)
}

func TestConsentFromBeforeAPod(t *testing.T) {
	type story struct {
		*asking
		*Feed
		namespaces *stored
		advances   *atomic.Int64
	}
	tests := map[string]func(t *testing.T, s story){
		"without a sequence that waits for consent nobody asks for any": func(t *testing.T, s story) {
			s.Feed.sequences[0].known.watch.advanceByEvent("90")
			assert.True(t, s.CaughtUp(aPod, firstSeenAt("90", 1)))
			catchUp(t, s.Feed, firstSeenAt("90", 1))
			assert.Zero(t, s.listed(s.namespaces))
		},
		"what the watch of namespaces has brought is known without a list": func(t *testing.T, s story) {
			s.Feed.sequences[0].known.watch.advanceByEvent("90")
			s.consents.watch.advanceByEvent("90")
			assert.True(t, s.CaughtUp(aPod, refused("90", 1)))
			catchUp(t, s.Feed, refused("90", 1))
			assert.Zero(t, s.listed(s.namespaces))
		},
		"both are asked for at the same time": func(t *testing.T, s story) {
			assert.False(t, s.CaughtUp(aPod, refused("90", 1)))
			time.Sleep(grace)
			synctest.Wait()
			assert.True(t, s.CaughtUp(aPod, refused("90", 1)))
			assert.Equal(t, 1, s.listed(s.namespaces))
			assert.Equal(t, 1, s.listed(s.asking.sequences))
		},
		"a grant that the watch has not brought yet is waited for, and who waits gets to know": func(t *testing.T, s story) {
			s.Feed.sequences[0].known.watch.advanceByEvent("90")
			s.consents.watch.advanceByEvent("50")
			s.set(func() { s.namespaces.objects["shop"] = "60" })
			assert.False(t, s.CaughtUp(aPod, refused("90", 1)))
			done := make(chan struct{}, 1)
			go func() { catchUp(t, s.Feed, refused("90", 1)); done <- struct{}{} }()
			time.Sleep(time.Second)
			assert.False(t, s.CaughtUp(aPod, refused("90", 1)))
			assert.Empty(t, done)
			before := s.advances.Load()
			s.consents.watch.advanceByEvent("60")
			<-done
			assert.True(t, s.CaughtUp(aPod, refused("90", 1)))
			assert.Greater(t, s.advances.Load(), before)
		},
		"the watch of namespaces answers by itself": func(t *testing.T, s story) {
			s.Feed.sequences[0].known.watch.advanceByEvent("90")
			s.set(func() { s.namespaces.failing = true })
			assert.False(t, s.CaughtUp(aPod, refused("90", 1)))
			time.Sleep(time.Second)
			assert.Contains(t, s.WhyUnconfirmed("any"), "cannot tell whether all Namespaces are known")
			before := s.advances.Load()
			s.consents.watch.advanceByEvent("95")
			synctest.Wait()
			assert.Greater(t, s.advances.Load(), before)
			assert.True(t, s.CaughtUp(aPod, refused("90", 1)))
		},
		"pods without end cost few lists": func(t *testing.T, s story) {
			s.split()
			for moment := uint64(2); moment < 1002; moment++ {
				s.set(func() { s.moment = moment })
				s.CaughtUp(aPod, refused("90", moment))
				time.Sleep(time.Millisecond)
			}
			assert.LessOrEqual(t, s.listed(s.namespaces), int(time.Second/newPodsInterval)+1)
			time.Sleep(time.Second)
			assert.True(t, s.CaughtUp(aPod, refused("90", 1001)))
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, a *asking) {
				s := story{asking: a, namespaces: a.kind("namespaces", 0), advances: &atomic.Int64{}}
				advanced := func() { s.advances.Add(1) }
				s.Feed = &Feed{
					interest: newInterest(0),
					barrier:  a.barrier,
					consents: newKnownNamespaces(a.barrier, s.namespaces.askedKind, a.pods.watch, advanced),
				}
				s.Feed.sequences[0] = &sequenceKind{known: newKnownSequences(a.barrier, a.sequences.askedKind, false, a.pods.watch, advanced)}
				s.Feed.sequences[1] = &sequenceKind{cluster: true, known: newKnownSequences(a.barrier, a.kind("clusterpodsequences", 0).askedKind, true, a.pods.watch, advanced)}
				s.Feed.sequences[1].known.moment, s.Feed.sequences[1].known.version = 1_000_000, "1000000" // there are none
				s.advances.Store(0)
				test(t, s)
			})
		})
	}
}

func TestOfANamespaceOnlyLabelsAndWhatItAllowsAndRequiresAreKept(t *testing.T) {
	whole := &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{
			Name: "shop", UID: "uid", ResourceVersion: "7", Labels: map[string]string{"team": "blue"},
			Annotations: map[string]string{v1alpha1.AllowSequencesFromAnnotation: "*", v1alpha1.RequireSequenceAnnotation: "true", "other": "x"},
		},
		Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
	}
	assert.Equal(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "shop", UID: "uid", ResourceVersion: "7", Labels: map[string]string{"team": "blue"},
		Annotations: map[string]string{v1alpha1.AllowSequencesFromAnnotation: "*", v1alpha1.RequireSequenceAnnotation: "true"},
	}}, trimNamespace(whole))
}
