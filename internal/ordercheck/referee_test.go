package ordercheck

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// startReferee has two tiers and their unbound pods watched.
func startReferee(t *testing.T, options Options) (*apiServer, *Referee) {
	t.Helper()
	s := newAPIServer(t)
	s.write(watch.Added, sequenceOf("tiers", named("db"), named("app")))
	s.write(watch.Added, podOf("db"))
	s.write(watch.Added, podOf("app"))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ref, err := Start(ctx, s.config(), options)
	require.NoError(t, err)
	t.Cleanup(ref.Stop)
	return s, ref
}

var isReadyNow = isNow(corev1.ConditionTrue)

func TestRefereeCatchesAPodBoundTooEarly(t *testing.T) {
	s, ref := startReferee(t, Options{})
	s.write(watch.Modified, podOf("app", onNode))
	s.write(watch.Modified, podOf("db", isReadyNow))
	verdict := ref.Verdict(t.Context())
	require.Len(t, verdict.Violations, 1, verdict.String())
	assert.Equal(t, "shop/app", verdict.Violations[0].Pod)
	assert.Equal(t, "104", verdict.Violations[0].ResourceVersion)
	assert.Empty(t, verdict.Incomplete)
}

func TestRefereeGivesVerdictsAsOftenAsAsked(t *testing.T) {
	s, ref := startReferee(t, Options{})
	assert.Equal(t, 0, ref.Verdict(t.Context()).Bindings)
	s.write(watch.Modified, podOf("db", isReadyNow))
	s.write(watch.Modified, podOf("app", onNode))
	verdict := ref.VerdictFor(t.Context(), testNamespace)
	assert.Equal(t, 1, verdict.Bindings)
	assert.True(t, verdict.Clean(), verdict.String())
	assert.Equal(t, 0, ref.VerdictFor(t.Context(), "other").Bindings)
}

func TestRefereeForgetsWhatNoReplayNeeds(t *testing.T) {
	s, ref := startReferee(t, Options{})
	before := len(ref.History(t.Context()).events)
	for range 10 {
		s.write(watch.Modified, podOf("db", func(p *corev1.Pod) { p.Status.Message = "chatty" }))
	}
	assert.Len(t, ref.History(t.Context()).events, before)
}

func TestRefereeResumesABrokenWatch(t *testing.T) {
	s, ref := startReferee(t, Options{})
	s.restart(func() {
		s.writeLocked(watch.Modified, podOf("app", onNode))
		s.writeLocked(watch.Deleted, podOf("app", onNode))
	})
	verdict := ref.Verdict(t.Context())
	// The pod came and went while nothing was watched, and yet is judged.
	assert.Len(t, verdict.Violations, 1, verdict.String())
	assert.Empty(t, verdict.Incomplete)
}

func TestRefereeOutlastsARestartThatForgetsAllChanges(t *testing.T) {
	s, ref := startReferee(t, Options{})
	s.restart(func() {
		s.writeLocked(watch.Modified, podOf("app", onNode))
		s.writeLocked(watch.Deleted, podOf("app", onNode))
		s.writeLocked(watch.Modified, podOf("db", isReadyNow))
		s.forgotten = s.revision
		s.down = true
	})
	s.do(func() { s.down = false })
	// The lists agree with a record that knows nothing of the pod's binding except in between.
	s.write(watch.Modified, podOf("db", isReadyNow, labelled("after", "restart")))
	verdict := ref.Verdict(t.Context())
	assert.Len(t, verdict.Violations, 1, verdict.String())
	assert.Empty(t, verdict.Incomplete)
}

func TestRefereeOwnsUpToAGap(t *testing.T) {
	tests := map[string]struct {
		forget func(*apiServer)
		want   string
	}{
		"changes that etcd has compacted": {
			forget: func(s *apiServer) { s.compacted = s.revision },
			want:   "changes of pods at resource version 104 have expired for good",
		},
		"more changes than can be recovered": {
			forget: func(s *apiServer) { s.revision += maxBackfill },
			want:   "changes of pods after resource version 103 have expired",
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			s, ref := startReferee(t, Options{})
			s.restart(func() {
				s.writeLocked(watch.Modified, podOf("app", onNode))
				s.writeLocked(watch.Deleted, podOf("app", onNode))
				test.forget(s)
				s.forgotten = s.revision
			})
			s.write(watch.Modified, podOf("db", isReadyNow))
			verdict := ref.Verdict(t.Context())
			require.NotEmpty(t, verdict.Incomplete)
			assert.Contains(t, verdict.Incomplete[0], test.want)
			assert.Equal(t, ExitIncomplete, verdict.ExitCode())
			assert.Equal(t, "103", verdict.ResourceVersion, "the verdict must end where the record does")
		})
	}
}

func TestRefereeIsNeverCleanWhenAWatchLagsBehind(t *testing.T) {
	s, ref := startReferee(t, Options{FenceTimeout: 300 * time.Millisecond})
	s.do(func() { s.held["pods"] = true })
	s.write(watch.Modified, podOf("app", onNode))
	verdict := ref.Verdict(t.Context())
	assert.Equal(t, []string{
		"await the watch of pods, which is behind: it has not seen shop/app at resource version 104",
	}, verdict.Incomplete)

	s.do(func() { s.held["pods"] = false })
	assert.Len(t, ref.Verdict(t.Context()).Violations, 1, "a late watch may catch up")
}

func TestRefereeIsNeverCleanWhenItCannotAsk(t *testing.T) {
	s, ref := startReferee(t, Options{FenceTimeout: 300 * time.Millisecond})
	s.do(func() { s.down = true })
	verdict := ref.Verdict(t.Context())
	assert.Equal(t, ExitIncomplete, verdict.ExitCode())
	assert.Contains(t, verdict.Incomplete[0], "list pods")
}

func TestRefereeThatWasStoppedSaysSo(t *testing.T) {
	_, ref := startReferee(t, Options{})
	ref.Stop()
	verdict := ref.Verdict(t.Context())
	assert.Equal(t, []string{"watch of pods was stopped", "watch of podsequences was stopped"}, verdict.Incomplete)
}

func TestRefereeLeavesNothingRunning(t *testing.T) {
	running := goleak.IgnoreCurrent()
	s, ref := startReferee(t, Options{})
	ref.Stop()
	s.restart(func() {})
	s.http.Close()
	goleak.VerifyNone(t, running)
}

func TestStartWaitsForTheAPIServer(t *testing.T) {
	s := newAPIServer(t)
	s.do(func() { s.down = true })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, s.config(), Options{})
	assert.ErrorContains(t, err, "list pods")
}

func TestRefereeKnowsWhenASequenceIsCompleted(t *testing.T) {
	s, ref := startReferee(t, Options{})
	done := sequenceOf("tiers", named("db"), named("app"))
	done.Status.Phase = v1alpha1.PhaseCompleted
	done.Status.ObservedGeneration = done.Generation
	key := types.NamespacedName{Namespace: testNamespace, Name: "tiers"}

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	assert.ErrorContains(t, ref.AwaitCompleted(ctx, key), "await completion of PodSequence shop/tiers")

	s.write(watch.Modified, done)
	assert.NoError(t, ref.AwaitCompleted(t.Context(), key))
}
