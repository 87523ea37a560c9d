package feed

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"example.com/podsequence/pkg/sequence"
)

// An event of Jobs is late: the engine knew something newer before. A question that arises from it is about
// that moment of the engine, so that watches which have only come as far as the event do not answer it.
func TestAQuestionIsAboutAllThatTheEngineKnows(t *testing.T) {
	play(t, func(t *testing.T, a *asking) {
		engine := sequence.NewEngine(sequence.Config{})
		f := &Feed{
			engine: engine, interest: newInterest(0), versions: a.versions, barrier: a.barrier, asked: []*askedKind{a.pods.askedKind, a.jobs.askedKind},
			clock: clock.RealClock{}, rearm: make(chan struct{}, 1),
		}
		a.set(func() { a.jobs.failing, a.pods.failing = true, true })
		a.pods.watch.advanceByEvent("100")
		a.jobs.watch.advanceByEvent("90")
		f.publish(sequence.Changes{Questions: sequence.Questions{of("shop"): {Moment: 6, Version: "90"}}})
		synctest.Wait()
		require.Len(t, f.barrier.inquiries, 1)
		for _, q := range f.barrier.inquiries {
			a.barrier.mu.Lock()
			assert.Equal(t, []string{"6 100"}, said(q.marks), "it is not answered")
			a.barrier.mu.Unlock()
		}
		a.jobs.watch.advanceByEvent("101")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Empty(t, f.barrier.inquiries)
	})
}

func TestMarks(t *testing.T) {
	var m marks
	now := time.Now()
	m = m.add(3, "50", now).add(3, "50", now).add(2, "40", now)
	assert.Equal(t, []string{"3 50"}, said(m), "the first stands for the others")
	m = m.add(5, "40", now).add(4, "70", now)
	assert.Equal(t, []string{"3 50", "5 50", "5 70"}, said(m), "neither moments nor versions fall")
	for i := range 2 * maxMarks {
		m = m.add(uint64(10+i), fmt.Sprint(100+i), now)
	}
	assert.Len(t, m, maxMarks)
	assert.Equal(t, fmt.Sprintf("%d %d", 9+2*maxMarks, 99+2*maxMarks), said(m)[maxMarks-1], "the last stands for those for which there was no room")

	assert.Equal(t, 0, m.answered("49", 2))
	assert.Equal(t, 2, m.answered("60", 0), "by version")
	assert.Equal(t, 3, m.answered("", 5), "by moment")
	assert.Equal(t, 0, m.answered("", 0), "nothing is known")
}

func said(m marks) (words []string) {
	for _, mark := range m {
		words = append(words, fmt.Sprint(mark.moment, " ", mark.version))
	}
	return words
}
