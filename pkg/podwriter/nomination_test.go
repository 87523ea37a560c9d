package podwriter

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/podsequence/test/harness/passes"
)

const clears = `{"metadata":{"resourceVersion":"6","uid":"app"},"status":{"nominatedNodeName":null}}`

// nominated nominates the pod, which is one of our scheduler, to a node. The engine knows.
func (s *stage) nominated() {
	s.change(func(app *corev1.Pod) {
		app.Spec.SchedulerName, app.Status.NominatedNodeName = "podsequence-scheduler", "node-2"
	})
	s.engine.ApplyPod(s.app.Load())
}

func TestTheNominationOfAHeldPodIsCleared(t *testing.T) {
	t.Run("whether explanations are on or not", func(t *testing.T) {
		for _, options := range []Options{{}, {Explains: func(*corev1.Pod) bool { return true }}} {
			play(t, options, func(t *testing.T, s *stage) {
				s.nominated()
				s.writer.ClearNomination(key)
				time.Sleep(time.Minute)
				require.Equal(t, int64(1), s.patches.Load())
				assert.JSONEq(t, clears, *s.last.Load())
				assert.Equal(t, "status", s.subresource.Load())
			})
		}
	})
	t.Run("before the pod is told what it waits for", func(t *testing.T) {
		play(t, Options{Explains: func(*corev1.Pod) bool { return true }}, func(t *testing.T, s *stage) {
			s.nominated()
			s.writer.Explain(key)
			s.writer.ClearNomination(key)
			time.Sleep(explainDelay - time.Millisecond)
			synctest.Wait()
			require.Equal(t, int64(1), s.patches.Load())
			assert.JSONEq(t, clears, *s.last.Load())
		})
	})
	t.Run("but not of a pod that is released in the same moment", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.nominated()
			s.writer.ClearNomination(key)
			s.databaseReady()
			time.Sleep(time.Minute)
			assert.Zero(t, s.patches.Load())
		})
	})
	t.Run("not of a pod without one", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.writer.ClearNomination(key)
			time.Sleep(time.Minute)
			assert.Zero(t, s.patches.Load())
		})
	})
	t.Run("not of a pod that waits only until a pass is recorded, unless there is none to record after all", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.nominated()
			require.NotEmpty(t, s.engine.ApplyPod(s.database()).Ripe)
			s.writer.ClearNomination(key)
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Zero(t, s.patches.Load())
			s.engine.RemovePod(s.database())
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Equal(t, int64(1), s.patches.Load())
		})
	})
	t.Run("nor when the pass is recorded at last", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.nominated()
			changes := s.engine.ApplyPod(s.database())
			s.writer.ClearNomination(key)
			time.Sleep(time.Minute)
			synctest.Wait()
			passes.RecordAll(s.engine, changes)
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Zero(t, s.patches.Load())
		})
	})
	t.Run("a patch that comes too late is dropped, and made anew from what is there now", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.nominated()
			s.refusal.Store(new(error(apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "app", errors.New("newer")))))
			s.writer.ClearNomination(key)
			time.Sleep(nominationDelay)
			synctest.Wait()
			require.Equal(t, int64(1), s.patches.Load())
			s.change(func(app *corev1.Pod) { app.Spec.NodeName, app.ResourceVersion = "node-2", "7" })
			s.engine.ApplyPod(s.app.Load())
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Equal(t, int64(1), s.patches.Load(), "it is bound by now")
		})
	})
	t.Run("a failure is tried again", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.nominated()
			s.refusal.Store(new(errors.New("the server is down")))
			s.writer.ClearNomination(key)
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Equal(t, int64(2), s.patches.Load())
		})
	})
}
