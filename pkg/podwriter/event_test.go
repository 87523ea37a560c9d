package podwriter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/statusbudget"
	"example.com/podsequence/pkg/sequence/report"
)

// eventLog records the events that a program asked the API server to create.
type eventLog struct {
	mu     sync.Mutex
	asked  []*eventsv1.Event
	refuse error // the answer to the next one; nil for success
}

func (l *eventLog) create(action clienttesting.Action) (bool, runtime.Object, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	event := action.(clienttesting.CreateAction).GetObject().(*eventsv1.Event)
	l.asked = append(l.asked, event)
	if refuse := l.refuse; refuse != nil {
		l.refuse = nil
		return true, nil, refuse
	}
	return true, event, nil
}

func (l *eventLog) all() []*eventsv1.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.asked)
}

func TestAPodThatWaitsForTenSecondsGetsOneEvent(t *testing.T) {
	mine := Options{Explains: func(*corev1.Pod) bool { return true }, Reporter: "podsequence-scheduler"}
	const waits = `waiting for group 1/2 "Database" of PodSequence shop/shop: 0 of 1 pods ready`
	// after passes time until nothing happens any more, but for a moment, so that what is due is done.
	after := func(d time.Duration) {
		time.Sleep(d)
		synctest.Wait()
	}
	t.Run("which says what the pod waits for, in the words of its condition", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.writer.Explain(key)
			after(eventDelay - time.Millisecond)
			assert.Empty(t, s.events.all())
			require.Contains(t, *s.last.Load(), strings.ReplaceAll(waits, `"`, `\"`))
			after(time.Millisecond)
			require.Len(t, s.events.all(), 1)
			assert.Equal(t, &eventsv1.Event{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "podsequence-app"},
				EventTime:  metav1.NewMicroTime(time.Now()), ReportingController: "podsequence-scheduler", ReportingInstance: "podsequence-scheduler",
				Action: "Holding", Reason: v1alpha1.EventWaitingForGroup, Type: "Normal", Note: waits,
				Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "app", UID: "app", ResourceVersion: "5"},
			}, s.events.all()[0])
		})
	})
	t.Run("and no other, whatever its sequence does", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.writer.Explain(key)
			after(eventDelay)
			s.writer.ExplainAll(types.NamespacedName{Namespace: "shop", Name: "shop"})
			after(time.Hour)
			assert.Len(t, s.events.all(), 1)
		})
	})
	t.Run("of the same name by every program and at every start", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.writer.Explain(key)
			after(eventDelay)
			s.events.refuse = apierrors.NewAlreadyExists(schema.GroupResource{Resource: "events"}, "podsequence-app")
			s.writer.Explain(key) // as the next program does with all that are held
			after(time.Hour)
			events := s.events.all()
			require.Len(t, events, 2, "what exists is not tried again")
			assert.Equal(t, events[0].Name, events[1].Name)
		})
	})
	t.Run("but none if it is released sooner", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.writer.Explain(key)
			after(eventDelay - time.Second)
			s.databaseReady()
			after(time.Hour)
			assert.Empty(t, s.events.all())
		})
	})
	t.Run("none for another pod that has got its name and is younger, before that one has waited as long", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.writer.Explain(key)
			after(eventDelay - time.Second)
			s.change(func(app *corev1.Pod) { app.UID, app.CreationTimestamp = "another", metav1.Now() })
			after(eventDelay - time.Millisecond)
			assert.Empty(t, s.events.all())
			after(time.Millisecond)
			require.Len(t, s.events.all(), 1)
			assert.Equal(t, "podsequence-another", s.events.all()[0].Name)
		})
	})
	t.Run("of a creation in the future says nothing", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.change(func(app *corev1.Pod) { app.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Hour)) })
			s.writer.Explain(key)
			after(eventDelay)
			assert.Len(t, s.events.all(), 1)
		})
	})
	for name, edit := range map[string]func(*corev1.Pod){
		"none if it is bound":         func(app *corev1.Pod) { app.Spec.NodeName = "n" },
		"none if it is being deleted": func(app *corev1.Pod) { app.DeletionTimestamp = new(metav1.Now()) },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, mine, func(t *testing.T, s *stage) {
				s.writer.Explain(key)
				s.change(edit)
				after(time.Hour)
				assert.Empty(t, s.events.all())
			})
		})
	}
	t.Run("none if it is for others to say what it waits for, or if nobody shall", func(t *testing.T) {
		for _, options := range []Options{{}, {Explains: func(*corev1.Pod) bool { return false }}} {
			play(t, options, func(t *testing.T, s *stage) {
				s.writer.Explain(key)
				after(time.Hour)
				assert.Empty(t, s.events.all())
			})
		}
	})
	t.Run("which names what must become known, if that holds it", func(t *testing.T) {
		options := mine
		options.Unknown = func(*corev1.Pod) string { return "waiting for PodSequence: podsequences cannot be listed: forbidden" }
		play(t, options, func(t *testing.T, s *stage) {
			s.engine.RemoveSequence(types.NamespacedName{Namespace: "shop", Name: "shop"}, "shop")
			s.writer.Explain(key)
			after(eventDelay)
			require.Len(t, s.events.all(), 1)
			assert.Equal(t, v1alpha1.ReasonWaitingForPodSequence, s.events.all()[0].Reason)
			assert.Equal(t, "waiting for PodSequence: podsequences cannot be listed: forbidden", s.events.all()[0].Note)
		})
	})
	t.Run("which is no longer than the API takes", func(t *testing.T) {
		options := mine
		options.Unknown = func(*corev1.Pod) string { return strings.Repeat("ä", 1024) }
		play(t, options, func(t *testing.T, s *stage) {
			s.writer.Explain(key)
			after(eventDelay)
			require.Len(t, s.events.all(), 1)
			note := s.events.all()[0].Note
			assert.LessOrEqual(t, len(note), 1024)
			assert.Equal(t, "ää...", note[len(note)-len("ää..."):])
		})
	})
	t.Run("also if the API server is down for a while", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.events.refuse = errors.New("the server is down")
			s.writer.Explain(key)
			after(time.Minute)
			assert.Len(t, s.events.all(), 2)
		})
	})
	t.Run("and is not tried again where events are refused", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.events.refuse = apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("exceeded quota"))
			s.writer.Explain(key)
			after(time.Hour)
			assert.Len(t, s.events.all(), 1)
		})
	})
}

// tide is a Decider that holds every pod until it releases all.
type tide struct {
	crowd
	released atomic.Bool
}

func (t *tide) Decide(*corev1.Pod) report.Decision {
	return report.Decision{Held: !t.released.Load()}
}

// Many held pods of a namespace get their events little by little, and those that are released meanwhile get none.
func TestEventsOfManyHeldPodsAreBounded(t *testing.T) {
	const pods, passed = 400, 10 * time.Second
	log := &eventLog{}
	client := fake.NewClientset()
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, &corev1.Pod{}, nil })
	client.PrependReactor("create", "events", log.create)
	getPod := func(_ context.Context, key types.NamespacedName) (*corev1.Pod, error) {
		return st.MakePod().Namespace(key.Namespace).Name(key.Name).UID(key.Name).Obj(), nil
	}
	synctest.Test(t, func(t *testing.T) {
		decider := &tide{}
		w := New(client, getPod, decider, Options{Explains: func(*corev1.Pod) bool { return true }})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.Run(ctx) }()
		for i := range pods {
			w.Explain(types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(i)})
		}
		w.Explain(types.NamespacedName{Namespace: "quiet", Name: "pod"})
		time.Sleep(eventDelay + time.Second)
		synctest.Wait()
		namespaces := map[string]int{}
		for _, event := range log.all() {
			namespaces[event.Namespace]++
		}
		assert.Equal(t, 1, namespaces["quiet"])
		time.Sleep(passed - time.Second)
		synctest.Wait()
		atFirst := len(log.all())
		// Conditions of the same pods took what may come at once, and take every other turn after that.
		assert.LessOrEqual(t, atFirst, 1+statusbudget.DefaultTotal*int(1+passed/time.Second))
		assert.Greater(t, atFirst, statusbudget.DefaultTotal*int(passed/time.Second)/3)
		decider.released.Store(true)
		time.Sleep(time.Hour)
		cancel()
		<-done
		assert.Len(t, log.all(), atFirst, "the others have been released meanwhile")
	})
	names := map[string]int{}
	for _, event := range log.all() {
		names[event.Name]++
	}
	for name, times := range names {
		assert.Equal(t, 1, times, "events named %s", name)
	}
}
