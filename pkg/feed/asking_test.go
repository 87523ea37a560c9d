package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/sequence"
)

// stored is one kind as a fake API server has it and as a fake engine knows it. All kinds are at version 100 unless said
// otherwise. The fields are guarded by the asking's mu.
type stored struct {
	*askedKind
	now     string               // the version of a list
	objects map[string]string    // the versions of what is listed, by name; names are UIDs
	known   map[types.UID]string // what the engine knows
	failing bool
	lists   int
	block   chan struct{} // if set, lists are not answered before it is closed
}

// asking is a barrier under test, with pods and Jobs in any namespace, and PodSequences.
type asking struct {
	*barrier
	versions              *versions
	pods, jobs, sequences *stored

	mu      sync.Mutex
	moment  uint64 // of the engine
	answers []string
	proven  int
	cutOff  int // requests
}

// play runs a story in a bubble of its own, whose time passes only when nothing else can happen. Versions can be compared
// unless the story says otherwise.
func play(t *testing.T, story func(t *testing.T, a *asking)) {
	synctest.Test(t, func(t *testing.T) {
		a := &asking{moment: 1}
		a.versions = newVersions(func(string, string, string) { a.set(func() { a.proven++ }) })
		a.versions.compare()
		a.barrier = newBarrier(a.versions, func() uint64 {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.moment
		})
		a.pods, a.jobs, a.sequences = a.kind("pods", sequence.OfPods), a.kind("jobs", sequence.OfWorkloads), a.kind("podsequences", 0)
		go a.run(t.Context())
		story(t, a)
	})
}

func (a *asking) kind(resource string, kinds sequence.Kinds) *stored {
	s := &stored{now: "100", objects: map[string]string{}, known: map[types.UID]string{}}
	s.askedKind = &askedKind{
		kinds: kinds, watch: newPosition(resource, a.versions),
		list: func(ctx context.Context, _ string) (listing, error) { return a.list(ctx, s) },
		unlisted: func(_ string, listed sets.Set[types.UID], version string) (gone []types.UID) {
			a.set(func() {
				for uid, known := range s.known {
					if !listed.Has(uid) && !after(known, version) {
						gone = append(gone, uid)
					}
				}
			})
			return gone
		},
		knowsAny: func(_ string, uids []types.UID) (knows bool) {
			a.set(func() {
				for _, uid := range uids {
					_, known := s.known[uid]
					knows = knows || known
				}
			})
			return knows
		},
	}
	return s
}

func (a *asking) list(ctx context.Context, s *stored) (listing, error) {
	a.mu.Lock()
	block := s.block
	s.lists++
	a.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			a.set(func() { a.cutOff++ })
			return listing{}, ctx.Err()
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.failing {
		return listing{}, errors.New("the server is down")
	}
	found := listing{version: s.now, uids: sets.Set[types.UID]{}}
	for name, version := range s.objects {
		found.uids.Insert(types.UID(name))
		found.newest = latest(found.newest, version)
	}
	return found, nil
}

func (a *asking) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// split moves Jobs to an etcd of their own, which is known.
func (a *asking) split() {
	a.versions.listed("jobs", "1", "2")
	a.set(func() { a.jobs.now = "7" })
}

// asks asks about pods and Jobs of a namespace, at the engine's next moment.
func (a *asking) asks(namespace, version string) {
	a.mu.Lock()
	a.moment++
	moment := a.moment
	a.mu.Unlock()
	note := func(moment uint64) {
		a.set(func() { a.answers = append(a.answers, fmt.Sprintf("%s %d", namespace, moment)) })
	}
	a.ask(topicOf(of(namespace)), subject{
		kinds: []*askedKind{a.pods.askedKind, a.jobs.askedKind}, name: "pods and workloads of namespace " + namespace,
		passed: func(m mark) { note(m.moment) }, listed: func(moment uint64, _ string) { note(moment) },
	}, moment, version)
}

func of(namespace string) sequence.Subject {
	return sequence.Subject{Namespace: namespace, Kinds: sequence.OfWorkloads}
}

// answered lets everything happen that can without time passing, and returns all answers so far.
func (a *asking) answered() []string {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.answers...)
}

func (a *asking) listed(s *stored) int {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return s.lists
}
