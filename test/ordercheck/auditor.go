package ordercheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/revisions"
)

// FalseRecord is a record in the status of a sequence that says of an object what it never was.
type FalseRecord struct {
	// Kind is PodSequence or ClusterPodSequence.
	Kind string `json:"kind"`
	// Sequence is namespace/name, or the name of a ClusterPodSequence.
	Sequence string `json:"sequence"`
	// Object is the object.
	Object v1alpha1.ObjectReference `json:"object"`
	// UID is that which the record gives the object.
	UID types.UID `json:"uid"`
	// ResourceVersion is that of the status that says so first.
	ResourceVersion string `json:"resourceVersion"`
	// Time is when the referee saw that status.
	Time time.Time `json:"time"`
	// Versions counts the versions that the object had, by any UID.
	Versions int `json:"versions"`
}

// String returns the record as a sentence.
func (r FalseRecord) String() string {
	return fmt.Sprintf("the status of %s %s said at %s (resource version %s) that %s with UID %s is %s, but it never was: it had %s up to then",
		r.Kind, r.Sequence, r.Time.Format("15:04:05.000"), r.ResourceVersion, callObject(r.Object), r.UID, r.Object.Until, count(r.Versions, "version"))
}

func callObject(of v1alpha1.ObjectReference) string {
	return of.Kind + " " + strings.TrimPrefix(of.Namespace+"/"+of.Name, "/")
}

// audit is what became of a claim that a status came to make at a revision.
type audit struct {
	claim
	sequence *sequenceFacts
	revision revision
	arrived  time.Time
	born     revision // when the sequence was first seen
	versions int      // how many versions were looked at
	holds    bool
	unclear  string // why nobody can know whether it holds
}

// auditor looks each new claim up in etcd while etcd still has the versions that the object had.
type auditor struct {
	end   context.CancelFunc
	ended chan struct{}

	mu      sync.Mutex
	born    map[types.UID]revision // when each sequence was first seen
	defined map[schema.GroupKind]sets.Set[string]
	pending []audit // the first is being looked up
	done    []audit
	stopped bool
	changed chan struct{} // closed and replaced at each change
}

func newAuditor() *auditor {
	return &auditor{
		ended: make(chan struct{}), born: map[types.UID]revision{}, defined: map[schema.GroupKind]sets.Set[string]{}, changed: make(chan struct{}),
	}
}

// note takes in what a change claims anew, and what it defines.
func (a *auditor) note(c revisions.Change[facts]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch f := c.Object.(type) {
	case *definitionFacts:
		if a.defined[f.defines] == nil {
			a.defined[f.defines] = sets.New[string]()
		}
		a.defined[f.defines].Insert(f.name)
	case *sequenceFacts:
		if _, known := a.born[f.uid]; !known {
			a.born[f.uid] = c.Revision
		}
		before := sets.New[claim]()
		if was, _ := c.Before.(*sequenceFacts); was != nil && was.uid == f.uid {
			before = was.claims
		}
		if c.Deleted {
			return
		}
		for made := range f.claims.Difference(before) {
			a.pending = append(a.pending, audit{claim: made, sequence: f, revision: c.Revision, arrived: c.Arrived, born: a.born[f.uid]})
		}
		a.wake()
	}
}

// wake needs the lock.
func (a *auditor) wake() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// start begins to look claims up. What was claimed at the start of the follower is not looked up: it is older.
func (a *auditor) start(ctx context.Context, follower *revisions.Follower[facts]) {
	ctx, a.end = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(a.ended)
		for {
			next, keys, ok := a.next(ctx)
			if !ok {
				return
			}
			if next.revision > follower.Start() {
				next.lookUp(ctx, follower, keys)
			}
			if ctx.Err() != nil {
				return
			}
			a.finish(next, next.revision > follower.Start())
		}
	}()
}

// next waits for a claim. keys are those that its object may be stored under.
func (a *auditor) next(ctx context.Context) (next audit, keys []string, ok bool) {
	for {
		a.mu.Lock()
		changed := a.changed
		if len(a.pending) > 0 {
			next, ok = a.pending[0], true
			keys = keysOf(next.of, a.defined)
		}
		a.mu.Unlock()
		if ok {
			return next, keys, true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return audit{}, nil, false
		}
	}
}

func (a *auditor) finish(looked audit, counts bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = a.pending[1:]
	if counts {
		a.done = append(a.done, looked)
	}
	a.wake()
}

// stop ends the looking up.
func (a *auditor) stop() {
	a.end()
	<-a.ended
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	a.wake()
}

// upTo waits for the audits of all claims up to a revision.
func (a *auditor) upTo(ctx context.Context, end revision) ([]audit, error) {
	for {
		a.mu.Lock()
		changed, stopped := a.changed, a.stopped
		done := slices.Clone(a.done)
		complete := len(a.pending) == 0 || a.pending[0].revision > end
		a.mu.Unlock()
		done = slices.DeleteFunc(done, func(d audit) bool { return d.revision > end })
		switch {
		case complete:
			return done, nil
		case stopped:
			return done, errors.New("records of objects were not looked up before the referee was stopped")
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return done, fmt.Errorf("look up the records of objects: %w", ctx.Err())
		}
	}
}

// lookUp looks for a version of the object for which the claim holds, from the one at the time of the claim back.
func (a *audit) lookUp(ctx context.Context, follower *revisions.Follower[facts], keys []string) {
	if len(keys) == 0 {
		a.unclear = "nobody knows where a " + a.of.Kind + " of " + a.of.APIVersion + " is stored"
	}
	for _, key := range keys {
		err := follower.Versions(ctx, key, a.revision, func(value []byte, _ revision) bool {
			object, err := readStored(value)
			if err != nil {
				a.unclear = err.Error()
				return true
			}
			a.versions++
			a.holds = a.holds || a.claim.holds(object)
			return !a.holds
		})
		// A sequence that was created since the start knows of no object that was gone by then.
		if err != nil && (!errors.Is(err, revisions.ErrBeforeStart) || a.born <= follower.Start()) {
			a.unclear = err.Error()
		}
	}
}
