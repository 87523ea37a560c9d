package feed

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestQuestionsAboutWhatIsMissing(t *testing.T) {
	tests := map[string]func(t *testing.T, a *asking){
		"nothing is listed when all watches are far enough": func(t *testing.T, a *asking) {
			a.pods.watch.advanceByEvent("60")
			a.jobs.watch.advanceByEvent("70")
			a.asks("shop", "50")
			assert.Equal(t, []string{"shop 2"}, a.answered())
			time.Sleep(time.Hour)
			assert.Zero(t, a.listed(a.pods)+a.listed(a.jobs))
		},
		"nothing is listed when the watches get there within the grace": func(t *testing.T, a *asking) {
			a.pods.watch.advanceByEvent("50")
			a.asks("shop", "50")
			assert.Empty(t, a.answered())
			time.Sleep(grace / 2)
			a.jobs.watch.advanceByBookmark("50")
			assert.Equal(t, []string{"shop 2"}, a.answered())
			time.Sleep(time.Hour)
			assert.Zero(t, a.listed(a.jobs))
		},
		"a kind whose watch is far enough is not listed": func(t *testing.T, a *asking) {
			a.pods.watch.advanceByEvent("50")
			a.asks("shop", "50")
			time.Sleep(grace)
			assert.Equal(t, []string{"shop 2"}, a.answered())
			assert.Equal(t, 1, a.listed(a.jobs))
			assert.Zero(t, a.listed(a.pods))
		},
		"the watch answers while the list is still under way": func(t *testing.T, a *asking) {
			a.set(func() { a.jobs.block = make(chan struct{}) })
			a.pods.watch.advanceByEvent("50")
			a.asks("shop", "50")
			time.Sleep(grace)
			assert.Equal(t, 1, a.listed(a.jobs))
			a.jobs.watch.advanceByEvent("51")
			assert.Equal(t, []string{"shop 2"}, a.answered())
		},
		"a request is not cut off when the watch answers, and keeps nobody waiting": func(t *testing.T, a *asking) {
			block := make(chan struct{})
			a.set(func() { a.jobs.block = block })
			a.pods.watch.advanceByEvent("50")
			a.asks("shop", "50")
			time.Sleep(grace)
			assert.Equal(t, 1, a.listed(a.jobs))
			a.jobs.watch.advanceByEvent("51")
			assert.Len(t, a.answered(), 1)
			a.set(func() { a.jobs.block = nil })
			a.pods.watch.advanceByEvent("60")
			a.asks("shop", "60")
			time.Sleep(listInterval + grace)
			assert.Equal(t, []string{"shop 2", "shop 3"}, a.answered())
			assert.Equal(t, 2, a.listed(a.jobs))
			close(block)
			synctest.Wait()
			assert.Zero(t, a.cutOff)
		},
		"one list answers all that was asked before its version": func(t *testing.T, a *asking) {
			block := make(chan struct{})
			a.set(func() { a.jobs.block = block })
			a.pods.watch.advanceByEvent("50")
			a.asks("shop", "50")
			time.Sleep(grace)
			assert.Equal(t, 1, a.listed(a.jobs))
			for version := 60; version <= 110; version += 10 {
				a.pods.watch.advanceByEvent(fmt.Sprint(version))
				a.asks("shop", fmt.Sprint(version))
			}
			close(block)
			assert.Equal(t, []string{"shop 7"}, a.answered(), "the list is of version 100, and so is the question of moment 7")
		},
		"the watch is waited for if it has not brought what was listed": func(t *testing.T, a *asking) {
			a.set(func() { a.jobs.objects["migrate"] = "40" })
			a.pods.watch.advanceByEvent("50")
			a.asks("shop", "50")
			time.Sleep(grace)
			assert.Empty(t, a.answered())
			a.jobs.watch.advanceByEvent("40")
			assert.Equal(t, []string{"shop 2"}, a.answered())
		},
		"the watch is waited for until it brings that what was not listed is gone": func(t *testing.T, a *asking) {
			a.set(func() { a.jobs.known["migrate"] = "40" })
			a.jobs.watch.advanceByEvent("40")
			a.pods.watch.advanceByEvent("60")
			a.asks("shop", "60")
			time.Sleep(grace)
			assert.Equal(t, 1, a.listed(a.jobs))
			assert.Empty(t, a.answered(), "the engine still counts a Job that is gone")
			a.set(func() { delete(a.jobs.known, "migrate") })
			a.jobs.watch.removed()
			assert.Equal(t, []string{"shop 2"}, a.answered())
		},
		"what is newer than the list is not waited for": func(t *testing.T, a *asking) {
			a.set(func() { a.jobs.known["new"] = "120" })
			a.pods.watch.advanceByEvent("60")
			a.asks("shop", "60")
			time.Sleep(grace)
			assert.Equal(t, []string{"shop 2"}, a.answered())
		},
		"a namespace whose watch is behind keeps no other from its answer": func(t *testing.T, a *asking) {
			a.set(func() { a.jobs.known["slow"], a.jobs.objects["slow"] = "40", "41" })
			for i := range 2 * listsAtOnce {
				a.asks(fmt.Sprintf("slow-%d", i), "50")
			}
			time.Sleep(grace)
			assert.Empty(t, a.answered())
			a.set(func() { a.jobs.objects = map[string]string{"slow": ""} })
			a.asks("shop", "50")
			time.Sleep(grace)
			assert.Len(t, a.answered(), 1)
		},
		"questions that come during a list share the next, some time later": func(t *testing.T, a *asking) {
			a.split()
			a.asks("shop", "50")
			assert.Len(t, a.answered(), 1)
			for version := range 20 {
				a.asks("shop", fmt.Sprint(60+version))
			}
			assert.Len(t, a.answered(), 1)
			assert.Equal(t, 1, a.listed(a.jobs))
			time.Sleep(listInterval)
			assert.Len(t, a.answered(), 2)
			assert.Equal(t, 2, a.listed(a.jobs))
		},
		"a list that fails is tried again, ever more rarely, and said in words": func(t *testing.T, a *asking) {
			a.set(func() { a.jobs.failing = true })
			a.pods.watch.advanceByEvent("50")
			a.asks("shop", "50")
			time.Sleep(time.Minute)
			assert.Empty(t, a.answered())
			assert.Less(t, a.listed(a.jobs), 60)
			assert.Equal(t, "cannot tell whether all pods and workloads of namespace shop are known: list jobs: the server is down", a.whyUnconfirmed("shop"))
			assert.Empty(t, a.whyUnconfirmed("other"))
			a.set(func() { a.jobs.failing = false })
			time.Sleep(5 * time.Second)
			assert.Len(t, a.answered(), 1)
			assert.Empty(t, a.whyUnconfirmed("shop"))
		},
		"a kind that cannot be listed is said although another does not answer": func(t *testing.T, a *asking) {
			a.split()
			a.set(func() { a.pods.failing, a.jobs.block = true, make(chan struct{}) })
			a.asks("shop", "50")
			time.Sleep(listTimeout)
			synctest.Wait()
			assert.Contains(t, a.whyUnconfirmed("shop"), "list pods: the server is down")
			a.set(func() { a.pods.failing, a.jobs.block = false, nil })
			time.Sleep(5 * time.Second)
			assert.Equal(t, []string{"shop 2"}, a.answered())
		},
		"requests that nobody needs and that hang keep others waiting for no longer than a list may take": func(t *testing.T, a *asking) {
			a.set(func() { a.jobs.block = make(chan struct{}) })
			a.pods.watch.advanceByEvent("50")
			for i := range 2 * listsAtOnce {
				a.asks(fmt.Sprintf("job-%d", i), "50")
			}
			time.Sleep(grace)
			assert.Equal(t, listsAtOnce, a.listed(a.jobs))
			a.jobs.watch.advanceByEvent("51")
			assert.Len(t, a.answered(), 2*listsAtOnce)
			a.set(func() { a.jobs.block = nil })
			a.pods.watch.advanceByEvent("60")
			a.asks("shop", "60")
			time.Sleep(listTimeout)
			assert.Len(t, a.answered(), 2*listsAtOnce+1)
			synctest.Wait()
			assert.Empty(t, a.whyUnconfirmed("shop"))
		},
		"a watch that stays behind has the list made again, and is said in words": func(t *testing.T, a *asking) {
			a.set(func() { a.jobs.objects["migrate"] = "90" })
			a.pods.watch.advanceByEvent("50")
			a.asks("shop", "50")
			time.Sleep(listTimeout + 5*time.Second)
			assert.Equal(t, 2, a.listed(a.jobs))
			assert.Empty(t, a.answered())
			assert.Contains(t, a.whyUnconfirmed("shop"), "wait for the watch of jobs to reach version 90")
		},
		"a question about a namespace leaves nothing behind": func(t *testing.T, a *asking) {
			for i := range 100 {
				a.asks(fmt.Sprintf("job-%d", i), "50")
			}
			time.Sleep(time.Minute)
			assert.Len(t, a.answered(), 100)
			synctest.Wait()
			assert.Empty(t, a.inquiries)
		},
		"lists are bounded in number however many namespaces ask": func(t *testing.T, a *asking) {
			a.split()
			for i := range 1000 {
				a.asks(fmt.Sprintf("job-%d", i), "50")
			}
			synctest.Wait()
			assert.LessOrEqual(t, a.listed(a.jobs)+a.listed(a.pods), listBurst)
			time.Sleep(time.Second)
			assert.LessOrEqual(t, a.listed(a.jobs)+a.listed(a.pods), listBurst+listsPerSecond)
			time.Sleep(time.Minute)
			assert.Len(t, a.answered(), 1000)
		},
	}
	for name, story := range tests {
		t.Run(name, func(t *testing.T) { play(t, story) })
	}
}

func TestVersionsOfTwoEtcds(t *testing.T) {
	tests := map[string]func(t *testing.T, a *asking){
		"a list that is behind what was seen before it proves that there are two": func(t *testing.T, a *asking) {
			a.set(func() { a.jobs.now = "7" })
			a.pods.watch.advanceByEvent("50")
			a.asks("shop", "50")
			time.Sleep(time.Second)
			assert.False(t, a.versions.comparable())
			assert.Equal(t, 1, a.proven)
			assert.Equal(t, []string{"shop 2"}, a.answered(), "it is answered all the same")
		},
		"all kinds are listed, and nothing is believed of a watch because of its version": func(t *testing.T, a *asking) {
			a.split()
			a.pods.watch.advanceByEvent("500")
			a.jobs.watch.advanceByEvent("600")
			a.asks("shop", "50")
			assert.Equal(t, []string{"shop 2"}, a.answered())
			assert.Equal(t, 1, a.listed(a.pods))
			assert.Equal(t, 1, a.listed(a.jobs))
		},
		"a version of another kind is never waited for": func(t *testing.T, a *asking) {
			a.split()
			a.asks("shop", "5000")
			assert.Equal(t, []string{"shop 2"}, a.answered())
		},
		"a list that began before the question does not answer it": func(t *testing.T, a *asking) {
			a.split()
			a.pods.watch.advanceByEvent("500")
			a.jobs.watch.advanceByEvent("600")
			block := make(chan struct{})
			a.set(func() { a.jobs.block = block })
			a.asks("shop", "50")
			synctest.Wait()
			a.asks("shop", "60")
			close(block)
			assert.Equal(t, []string{"shop 2"}, a.answered())
			time.Sleep(listInterval)
			assert.Equal(t, []string{"shop 2", "shop 3"}, a.answered())
		},
		"while it is found out lists that left out a kind answer nothing": func(t *testing.T, a *asking) {
			block := make(chan struct{})
			a.set(func() { a.jobs.block, a.jobs.objects["new"] = block, "6" })
			a.pods.watch.advanceByEvent("50")
			a.asks("shop", "50")
			time.Sleep(grace)
			assert.Zero(t, a.listed(a.pods))
			a.split()
			close(block)
			a.jobs.watch.advanceByEvent("6")
			time.Sleep(time.Second)
			assert.Equal(t, []string{"shop 2"}, a.answered())
			assert.Equal(t, 1, a.listed(a.pods))
		},
		"questions without end cost few lists": func(t *testing.T, a *asking) {
			a.split()
			for range 1000 {
				a.asks("shop", "50")
				time.Sleep(time.Millisecond)
			}
			assert.LessOrEqual(t, a.listed(a.jobs), int(time.Second/listInterval)+1)
			time.Sleep(listInterval)
			answers := a.answered()
			assert.Equal(t, "shop 1001", answers[len(answers)-1])
		},
	}
	for name, story := range tests {
		t.Run(name, func(t *testing.T) { play(t, story) })
	}
}
