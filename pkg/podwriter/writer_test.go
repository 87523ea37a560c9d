package podwriter

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	. "example.com/podsequence/test/harness/builders"
)

func TestLift(t *testing.T) {
	t.Run("a pod that may go loses its gate", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.databaseReady()
			s.writer.Lift(key)
			synctest.Wait()
			require.Equal(t, int64(1), s.patches.Load())
			assert.Contains(t, *s.last.Load(), gate)
		})
	})
	t.Run("a pod that may go keeps everything else", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.change(func(app *corev1.Pod) {
				app.Annotations = map[string]string{"other": "kept"}
				app.Spec.SchedulingGates = append(app.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "other.example.com/gate"})
				app.Spec.SchedulerName = "another-scheduler"
			})
			app := s.app.Load()
			s.engine.ApplyPod(app)
			s.databaseReady()
			s.writer.Lift(key)
			synctest.Wait()
			require.Equal(t, int64(1), s.patches.Load())

			before, err := json.Marshal(app)
			require.NoError(t, err)
			after, err := strategicpatch.StrategicMergePatch(before, []byte(*s.last.Load()), &corev1.Pod{})
			require.NoError(t, err)
			var lifted corev1.Pod
			require.NoError(t, json.Unmarshal(after, &lifted))
			want := app.DeepCopy()
			want.Spec.SchedulingGates = want.Spec.SchedulingGates[1:]
			assert.Empty(t, cmp.Diff(*want, lifted, cmpopts.EquateEmpty()))
		})
	})
	t.Run("a pod that must wait keeps it, whoever asks", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.writer.Lift(key)
			synctest.Wait()
			assert.Zero(t, s.patches.Load())
		})
	})
	t.Run("a sequence that becomes known just in time keeps it held", func(t *testing.T) {
		var late chan struct{} // it belongs to the bubble, so it is made inside
		play(t, Options{CatchUp: func(_ context.Context, namespace string) error {
			assert.Equal(t, key.Namespace, namespace)
			<-late
			return nil
		}}, func(t *testing.T, s *stage) {
			late = make(chan struct{})
			s.databaseReady()
			s.writer.Lift(key)
			synctest.Wait()
			s.engine.ApplySequence(MakeSequence("shop", "late").UID("late").Pods("First", "x").Pods("Then", "app").Obj())
			close(late)
			synctest.Wait()
			assert.Zero(t, s.patches.Load())
		})
	})
	t.Run("a pod that must wait is not asked about", func(t *testing.T) {
		play(t, Options{CatchUp: func(context.Context, string) error {
			assert.Fail(t, "the API server was asked to list sequences")
			return nil
		}}, func(t *testing.T, s *stage) {
			s.writer.Lift(key)
			synctest.Wait()
			assert.Zero(t, s.patches.Load())
		})
	})
	t.Run("while it cannot be found out which sequences there are, it keeps its gate", func(t *testing.T) {
		var known atomic.Bool
		play(t, Options{CatchUp: func(context.Context, string) error {
			if !known.Load() {
				return errors.New("podsequences cannot be listed: forbidden")
			}
			return nil
		}}, func(t *testing.T, s *stage) {
			s.databaseReady()
			s.writer.Lift(key)
			time.Sleep(time.Minute) // of the bubble
			synctest.Wait()
			require.Zero(t, s.patches.Load())
			known.Store(true)
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Equal(t, int64(1), s.patches.Load())
		})
	})
	t.Run("a failure is tried again", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.databaseReady()
			s.refusal.Store(new(errors.New("the server is down")))
			s.writer.Lift(key)
			time.Sleep(time.Minute) // of the bubble
			assert.Equal(t, int64(2), s.patches.Load())
		})
	})
	t.Run("after a failure it is asked anew whether all sequences are known", func(t *testing.T) {
		var asked atomic.Int64
		play(t, Options{CatchUp: func(context.Context, string) error {
			asked.Add(1)
			return nil
		}}, func(t *testing.T, s *stage) {
			s.databaseReady()
			s.refusal.Store(new(errors.New("the server is down")))
			s.writer.Lift(key)
			time.Sleep(time.Minute) // of the bubble
			assert.Equal(t, int64(2), s.patches.Load())
			assert.Equal(t, int64(2), asked.Load())
		})
	})
	t.Run("a pod that is gone is forgotten", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.databaseReady()
			s.refusal.Store(new(error(apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "app"))))
			s.writer.Lift(key)
			time.Sleep(time.Minute)
			assert.Equal(t, int64(1), s.patches.Load())
		})
	})
}

func TestExplain(t *testing.T) {
	mine := Options{Explains: func(*corev1.Pod) bool { return true }}
	t.Run("a pod that still waits after a second is told what for", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.writer.Explain(key)
			time.Sleep(explainDelay / 2)
			synctest.Wait()
			assert.Zero(t, s.patches.Load())
			time.Sleep(explainDelay)
			synctest.Wait()
			require.Equal(t, int64(1), s.patches.Load())
			assert.Contains(t, *s.last.Load(), `waiting for group 1/2 \"Database\" of PodSequence shop/shop: 0 of 1 pods ready`)
		})
	})
	t.Run("a pod that is let go sooner is never written to", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.writer.Explain(key)
			s.databaseReady()
			time.Sleep(time.Minute)
			assert.Zero(t, s.patches.Load())
		})
	})
	t.Run("a pod that waits only for gates of others is told no longer to wait for a group", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.setWaitingMessage(s.engine.Decide(s.app.Load()).Message())
			s.change(gatedByOthers)
			s.engine.ApplyPod(s.app.Load())
			s.databaseReady()
			s.writer.Explain(key)
			time.Sleep(time.Minute)
			require.Equal(t, int64(1), s.patches.Load())
			assert.Contains(t, *s.last.Load(), "Scheduling is blocked due to non-empty scheduling gates")
		})
	})
	t.Run("a pod that waits only for gates of others is told so however long its own gate takes to be lifted", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.change(func(app *corev1.Pod) {
				app.Spec.SchedulingGates = append(app.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "other.example.com/gate"})
			})
			s.engine.ApplyPod(s.app.Load())
			s.setWaitingMessage(s.engine.Decide(s.app.Load()).Message())
			s.databaseReady()
			s.writer.Explain(key)
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Zero(t, s.patches.Load())
			s.change(func(app *corev1.Pod) {
				gatedByOthers(app)
				app.ResourceVersion = "7"
			})
			s.engine.ApplyPod(s.app.Load())
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, int64(1), s.patches.Load())
			assert.Contains(t, *s.last.Load(), "Scheduling is blocked due to non-empty scheduling gates")
		})
	})
	t.Run("a pod that waits only for gates of others is told so though the engine does not know yet that its own gate is gone", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.change(func(app *corev1.Pod) {
				app.Spec.SchedulingGates = append(app.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "other.example.com/gate"})
			})
			s.engine.ApplyPod(s.app.Load())
			s.setWaitingMessage(s.engine.Decide(s.app.Load()).Message())
			s.databaseReady()
			s.change(func(app *corev1.Pod) {
				gatedByOthers(app)
				app.ResourceVersion = "7"
			})
			s.writer.Explain(key)
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, int64(1), s.patches.Load())
			assert.Contains(t, *s.last.Load(), "Scheduling is blocked due to non-empty scheduling gates")
		})
	})
	t.Run("a pod whose gates are about to be lifted is told nothing more", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.setWaitingMessage(s.engine.Decide(s.app.Load()).Message())
			s.databaseReady()
			s.writer.Explain(key)
			time.Sleep(time.Minute)
			assert.Zero(t, s.patches.Load())
		})
	})
	t.Run("a patch that comes too late is dropped and made anew", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.refusal.Store(new(error(apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "app", errors.New("newer")))))
			s.writer.Explain(key)
			time.Sleep(time.Minute)
			assert.Equal(t, int64(2), s.patches.Load())
		})
	})
	t.Run("all that a sequence holds are told when it moves on", func(t *testing.T) {
		play(t, mine, func(t *testing.T, s *stage) {
			s.writer.ExplainAll(types.NamespacedName{Namespace: "shop", Name: "shop"})
			time.Sleep(time.Minute)
			assert.Equal(t, int64(1), s.patches.Load())
		})
	})
	t.Run("a pod of another's is left to the other", func(t *testing.T) {
		play(t, Options{Explains: func(*corev1.Pod) bool { return false }}, func(t *testing.T, s *stage) {
			s.writer.Explain(key)
			time.Sleep(time.Minute)
			assert.Zero(t, s.patches.Load())
		})
	})
	t.Run("explanations can be turned off", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.writer.Explain(key)
			s.writer.ExplainAll(types.NamespacedName{Namespace: "shop", Name: "shop"})
			time.Sleep(time.Minute)
			assert.Zero(t, s.patches.Load())
		})
	})
}

func TestExplainWhatIsUnknown(t *testing.T) {
	var reason atomic.Pointer[string]
	options := Options{
		Explains: func(*corev1.Pod) bool { return true },
		Unknown:  func(*corev1.Pod) string { return *reason.Load() },
	}
	const forbidden = "waiting for PodSequence: podsequences cannot be listed: forbidden"
	t.Run("a pod is told what must become known, and what it waits for once that is", func(t *testing.T) {
		play(t, options, func(t *testing.T, s *stage) {
			reason.Store(new(forbidden))
			s.writer.Explain(key)
			time.Sleep(explainDelay + explainDelay/20)
			synctest.Wait()
			require.Equal(t, int64(1), s.patches.Load())
			assert.Contains(t, *s.last.Load(), forbidden)
			s.setWaitingMessage(forbidden)

			time.Sleep(time.Hour)
			synctest.Wait()
			require.Equal(t, int64(1), s.patches.Load(), "it was told the same again")
			reason.Store(new(""))
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, int64(2), s.patches.Load())
			assert.Contains(t, *s.last.Load(), `group 1/2 \"Database\"`)
		})
	})
	t.Run("a pod with a gate of others is told of that again once everything is known", func(t *testing.T) {
		play(t, options, func(t *testing.T, s *stage) {
			reason.Store(new(forbidden))
			s.change(gatedByOthers)
			s.setWaitingMessage(forbidden)
			s.engine.ApplyPod(s.app.Load())
			s.databaseReady()
			s.writer.Explain(key)
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Zero(t, s.patches.Load())
			reason.Store(new(""))
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, int64(1), s.patches.Load())
			assert.Contains(t, *s.last.Load(), "Scheduling is blocked due to non-empty scheduling gates")
		})
	})
	t.Run("a pod that was bound meanwhile is left alone, and forgotten", func(t *testing.T) {
		var asked atomic.Int64
		counting := options
		counting.Unknown = func(*corev1.Pod) string { asked.Add(1); return forbidden }
		play(t, counting, func(t *testing.T, s *stage) {
			s.writer.Explain(key)
			s.change(func(app *corev1.Pod) { app.Spec.NodeName = "n" })
			time.Sleep(time.Hour)
			synctest.Wait()
			assert.Zero(t, s.patches.Load())
			assert.Zero(t, asked.Load())
		})
	})
	t.Run("explanations can be turned off", func(t *testing.T) {
		play(t, Options{Unknown: func(*corev1.Pod) string { return forbidden }}, func(t *testing.T, s *stage) {
			s.writer.Explain(key)
			time.Sleep(time.Minute)
			assert.Zero(t, s.patches.Load())
		})
	})
}

// setWaitingMessage sets the message of the pod's condition, as if the last patch had written it.
func (s *stage) setWaitingMessage(message string) {
	s.change(func(app *corev1.Pod) {
		app.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated, Message: message,
		}}
	})
}

// gatedByOthers gives the pod a gate of somebody else only.
func gatedByOthers(app *corev1.Pod) {
	app.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "other.example.com/gate"}}
}

func TestWhatIsWrittenNamesTheVersionItWasMadeFrom(t *testing.T) {
	play(t, Options{Explains: func(*corev1.Pod) bool { return true }}, func(t *testing.T, s *stage) {
		s.writer.Explain(key)
		time.Sleep(time.Minute)
		require.NotNil(t, s.last.Load())
		assert.True(t, strings.Contains(*s.last.Load(), `"uid":"app"`) && strings.Contains(*s.last.Load(), `"resourceVersion":"5"`))
	})
}
