package feed

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/pkg/sequence"
)

// firstSeenAt is that of a pod that the engine came to know at a moment; 0 for one that it does not know yet.
func firstSeenAt(version string, moment uint64) sequence.FirstSeen {
	return sequence.FirstSeen{Version: version, Moment: moment}
}

func TestPodSequencesFromBeforeAPod(t *testing.T) {
	tests := map[string]func(t *testing.T, a *asking, k *knownKind, advances *atomic.Int64){
		"what the watch has brought is known without a list": func(t *testing.T, a *asking, k *knownKind, _ *atomic.Int64) {
			k.watch.advanceByEvent("50")
			assert.True(t, k.knowsAllBefore(firstSeenAt("50", 0)))
			assert.True(t, k.knowsAllBefore(firstSeenAt("9", 0)), "versions are numbers")
			require.NoError(t, k.await(t.Context(), firstSeenAt("50", 0)))
			assert.Zero(t, a.listed(a.sequences))
		},
		"while the watch is quiet a list shows that nothing is missing": func(t *testing.T, a *asking, k *knownKind, advances *atomic.Int64) {
			k.watch.advanceByEvent("50")
			assert.False(t, k.knowsAllBefore(firstSeenAt("90", 1)))
			k.requestConfirmation(firstSeenAt("90", 1))
			time.Sleep(grace)
			synctest.Wait()
			assert.True(t, k.knowsAllBefore(firstSeenAt("90", 1)))
			assert.True(t, k.knowsAllBefore(firstSeenAt("100", 0)), "the list is of version 100")
			assert.NotZero(t, advances.Load())
		},
		"a change that the watch has not brought yet is waited for": func(t *testing.T, a *asking, k *knownKind, _ *atomic.Int64) {
			k.watch.advanceByEvent("50")
			a.set(func() { a.sequences.objects["shop"] = "60" })
			k.requestConfirmation(firstSeenAt("90", 1))
			time.Sleep(time.Second)
			assert.False(t, k.knowsAllBefore(firstSeenAt("90", 1)))
			k.watch.advanceByEvent("60")
			k.watchAdvanced()
			synctest.Wait()
			assert.True(t, k.knowsAllBefore(firstSeenAt("90", 1)))
		},
		"a sequence that is gone is waited for until the engine has dropped it": func(t *testing.T, a *asking, k *knownKind, _ *atomic.Int64) {
			a.set(func() { a.sequences.known["shop"] = "40" })
			k.requestConfirmation(firstSeenAt("90", 1))
			time.Sleep(time.Second)
			assert.False(t, k.knowsAllBefore(firstSeenAt("90", 1)))
			a.set(func() { delete(a.sequences.known, "shop") })
			k.watch.removed()
			synctest.Wait()
			assert.True(t, k.knowsAllBefore(firstSeenAt("90", 1)))
		},
		"all who wait share one list": func(t *testing.T, a *asking, k *knownKind, _ *atomic.Int64) {
			a.set(func() { a.sequences.now = "1000" })
			for version := range 500 {
				k.requestConfirmation(firstSeenAt(fmt.Sprint(100+version), 1))
			}
			time.Sleep(time.Second)
			assert.True(t, k.knowsAllBefore(firstSeenAt("599", 1)))
			assert.Equal(t, 1, a.listed(a.sequences))
		},
		"a list that fails is made again": func(t *testing.T, a *asking, k *knownKind, _ *atomic.Int64) {
			a.set(func() { a.sequences.failing = true })
			k.requestConfirmation(firstSeenAt("90", 1))
			time.Sleep(time.Second)
			assert.False(t, k.knowsAllBefore(firstSeenAt("90", 1)))
			assert.Contains(t, a.whyUnconfirmed("any"), "cannot tell whether all PodSequences are known: list podsequences: the server is down")
			a.set(func() { a.sequences.failing = false })
			require.NoError(t, k.await(t.Context(), firstSeenAt("90", 1)))
		},
		"a list that fails is not made again once the watch has answered": func(t *testing.T, a *asking, k *knownKind, _ *atomic.Int64) {
			expectDropped(t, a, k, func() { k.watch.advanceByEvent("90") })
		},
		"who waits is released when its time is over": func(t *testing.T, a *asking, k *knownKind, _ *atomic.Int64) {
			a.set(func() { a.sequences.failing = true })
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			assert.ErrorIs(t, k.await(ctx, firstSeenAt("90", 1)), context.Canceled)
		},
		"with two etcds a list that began after the pod was seen is enough, whatever the versions": func(t *testing.T, a *asking, k *knownKind, advances *atomic.Int64) {
			a.split()
			k.watch.advanceByEvent("5000")
			assert.False(t, k.knowsAllBefore(firstSeenAt("90", 3)), "the version of another etcd says nothing")
			a.set(func() { a.moment = 3 })
			k.requestConfirmation(firstSeenAt("90000", 3))
			synctest.Wait()
			assert.True(t, k.knowsAllBefore(firstSeenAt("90000", 3)))
			assert.True(t, k.knowsAllBefore(firstSeenAt("80000", 2)))
			assert.False(t, k.knowsAllBefore(firstSeenAt("90001", 4)), "this one was seen after the list had begun")
			assert.NotZero(t, advances.Load())
			require.NoError(t, k.await(t.Context(), firstSeenAt("90000", 3)))
		},
		"with two etcds a pod that the engine does not know yet is looked at again when it does": func(t *testing.T, a *asking, k *knownKind, advances *atomic.Int64) {
			a.split()
			k.requestConfirmation(firstSeenAt("120", 0))
			time.Sleep(time.Minute)
			assert.False(t, k.knowsAllBefore(firstSeenAt("120", 0)))
			assert.Zero(t, advances.Load())
			assert.Zero(t, a.listed(a.sequences), "a list would say nothing of it")
			assert.ErrorIs(t, k.await(t.Context(), firstSeenAt("120", 0)), errUnseen)
			k.pods.advanceByEvent("120")
			synctest.Wait()
			assert.Equal(t, int64(1), advances.Load())
			k.requestConfirmation(firstSeenAt("120", 2))
			synctest.Wait()
			assert.False(t, k.knowsAllBefore(firstSeenAt("120", 2)), "the engine is at moment 1 in this story")
			a.set(func() { a.moment = 2 })
			require.NoError(t, k.await(t.Context(), firstSeenAt("120", 2)))
		},
		"with two etcds pods without end cost few lists": func(t *testing.T, a *asking, k *knownKind, _ *atomic.Int64) {
			a.split()
			for moment := uint64(2); moment < 1002; moment++ {
				a.set(func() { a.moment = moment })
				k.requestConfirmation(firstSeenAt("90", moment))
				time.Sleep(time.Millisecond)
			}
			assert.LessOrEqual(t, a.listed(a.sequences), int(time.Second/newPodsInterval)+1)
			time.Sleep(time.Second)
			assert.True(t, k.knowsAllBefore(firstSeenAt("90", 1001)))
			before := a.listed(a.sequences)
			time.Sleep(time.Hour)
			assert.Equal(t, before, a.listed(a.sequences), "nobody waits any more")
		},
	}
	for name, story := range tests {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, a *asking) {
				advances := &atomic.Int64{}
				k := newKnownSequences(a.barrier, a.sequences.askedKind, false, a.pods.watch, func() { advances.Add(1) })
				go k.run(t.Context())
				story(t, a, k, advances)
			})
		})
	}
}

// expectDropped asks in vain, and expects no list any more after what makes an answer needless.
func expectDropped(t *testing.T, a *asking, k *knownKind, answer func()) {
	a.set(func() { a.sequences.failing = true })
	k.requestConfirmation(firstSeenAt("90", 1))
	time.Sleep(time.Second)
	answer()
	time.Sleep(5 * time.Second)
	before := a.listed(a.sequences)
	time.Sleep(time.Hour)
	assert.Equal(t, before, a.listed(a.sequences))
}
