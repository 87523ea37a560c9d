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

	"example.com/podsequence/pkg/sequence"
)

// asking is a confirmer of two kinds, pods and jobs, under test. The API server it asks is at version 100 unless told otherwise.
type asking struct {
	*confirmer
	pods, jobs *position
	// changed is the newest version of any Job by namespace.
	changed map[string]string

	mu      sync.Mutex
	now     string
	failing bool
	asked   []string
	answers []string
}

func newAsking(t *testing.T) *asking {
	a := &asking{pods: &position{resource: "pods"}, jobs: &position{resource: "jobs"}, changed: map[string]string{}, now: "100"}
	ask := func(p *position, breadth sequence.Breadth) askedKind {
		return askedKind{breadth: breadth, watch: p, newest: func(_ context.Context, namespace string) (now, lastChange string, err error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.asked = append(a.asked, namespace+"/"+p.resource)
			if a.failing {
				return "", "", errors.New("the server is down")
			}
			if p == a.jobs {
				lastChange = a.changed[namespace]
			}
			return a.now, lastChange, nil
		}}
	}
	a.confirmer = newConfirmer([]askedKind{ask(a.pods, sequence.OfPods), ask(a.jobs, sequence.OfWorkloads)}, func(subject sequence.Subject, known string) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.answers = append(a.answers, subject.Namespace+" "+known)
	})
	go a.run(t.Context())
	return a
}

func of(namespace string) sequence.Subject {
	return sequence.Subject{Namespace: namespace, Breadth: sequence.OfWorkloads}
}

func (a *asking) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// settle lets everything happen that can without time passing.
func (a *asking) settle() (asked, answers []string) {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked, a.answers
}

func TestQuestionsAboutWhatIsMissing(t *testing.T) {
	tests := map[string]func(t *testing.T, a *asking){
		"a kind whose watch is far enough is not asked about": func(t *testing.T, a *asking) {
			a.pods.brought("50")
			a.want(sequence.Questions{of("shop"): "50"})
			asked, answers := a.settle()
			assert.Equal(t, []string{"shop/jobs"}, asked)
			assert.Equal(t, []string{"shop 50"}, answers, "of two kinds, the one that is known less far")
		},
		"what does not matter is not asked about": func(t *testing.T, a *asking) {
			a.pods.brought("50")
			a.want(sequence.Questions{{Namespace: "shop", Breadth: sequence.OfPods}: "50"})
			asked, answers := a.settle()
			assert.Empty(t, asked)
			assert.Equal(t, []string{"shop 50"}, answers)
		},
		"nothing is asked when all watches are far enough": func(t *testing.T, a *asking) {
			a.pods.brought("60")
			a.jobs.brought("70")
			a.want(sequence.Questions{of("shop"): "50"})
			asked, answers := a.settle()
			assert.Empty(t, asked)
			assert.Equal(t, []string{"shop 60"}, answers)
		},
		"the watch is waited for if it has not brought what there is": func(t *testing.T, a *asking) {
			a.changed["shop"] = "40"
			a.pods.brought("50")
			a.want(sequence.Questions{of("shop"): "50"})
			_, answers := a.settle()
			assert.Empty(t, answers)
			a.jobs.brought("40")
			_, answers = a.settle()
			assert.Len(t, answers, 1)
		},
		"a namespace that is behind keeps no other from its answer": func(t *testing.T, a *asking) {
			questions := sequence.Questions{of("shop"): "50"}
			for i := range 2 * listsAtOnce {
				name := fmt.Sprintf("slow-%d", i)
				questions.Add(of(name), "50")
				a.changed[name] = "40"
			}
			a.want(questions)
			_, answers := a.settle()
			assert.Equal(t, []string{"shop 100"}, answers)
			a.want(sequence.Questions{of("late"): "60"})
			_, answers = a.settle()
			assert.Equal(t, []string{"shop 100", "late 100"}, answers)
		},
		"an answer from before the question is none": func(t *testing.T, a *asking) {
			a.set(func() { a.now = "40" })
			a.want(sequence.Questions{of("shop"): "50"})
			_, answers := a.settle()
			assert.Empty(t, answers)
			a.set(func() { a.now = "50" })
			time.Sleep(time.Second)
			_, answers = a.settle()
			assert.Equal(t, []string{"shop 50"}, answers)
		},
		"questions that come during a round share the next": func(t *testing.T, a *asking) {
			a.pods.brought("90")
			a.want(sequence.Questions{of("shop"): "50"})
			a.settle()
			for version := range 20 {
				a.want(sequence.Questions{of("shop"): fmt.Sprint(60 + version)})
			}
			asked, _ := a.settle()
			assert.Len(t, asked, 1, "rounds are some time apart")
			time.Sleep(askInterval)
			asked, answers := a.settle()
			assert.Len(t, asked, 2)
			assert.Len(t, answers, 2)
		},
		"a question that fails is asked again": func(t *testing.T, a *asking) {
			a.set(func() { a.failing = true })
			a.want(sequence.Questions{of("shop"): "50"})
			_, answers := a.settle()
			assert.Empty(t, answers)
			a.set(func() { a.failing = false })
			time.Sleep(time.Second)
			_, answers = a.settle()
			assert.Equal(t, []string{"shop 100"}, answers)
		},
		"a watch that stays behind is asked about again": func(t *testing.T, a *asking) {
			a.changed["shop"] = "40"
			a.want(sequence.Questions{of("shop"): "50"})
			first, _ := a.settle()
			time.Sleep(askTimeout + time.Second)
			again, answers := a.settle()
			assert.Greater(t, len(again), len(first))
			assert.Empty(t, answers)
		},
	}
	for name, story := range tests {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { story(t, newAsking(t)) }) })
	}
}
