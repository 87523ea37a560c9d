package feed

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/wait"

	"example.com/podsequence/pkg/sequence"
)

const (
	// grace is how long the watches may take to answer a question by themselves before anything is listed.
	grace = 15 * time.Millisecond
	// answerInterval is between two answers to questions about the same: each makes the engine look at all that waits for it.
	answerInterval = 5 * time.Millisecond
	// listInterval is from the end of one list to the beginning of the next about the same, or half as long as the list took
	// if that is longer, up to longListInterval. It bounds what a storm of events costs the API server.
	listInterval     = 25 * time.Millisecond
	longListInterval = time.Second
	// newPodsInterval is listInterval for whether all PodSequences are known that were there when a pod was first seen. It is asked of all new
	// pods, also of those that nobody holds: a pod that comes while others do starts so much later, and a list is shared by more pods.
	newPodsInterval = 100 * time.Millisecond
	// listTimeout is how long a list, and the wait for the watch after it, may take before it is tried again.
	listTimeout = 10 * time.Second
	// listsAtOnce is how many lists are under way at the same time, listsPerSecond how many begin in a second, and listBurst
	// how many may begin at once after a pause.
	listsAtOnce    = 8
	listsPerSecond = 200
	listBurst      = 200
)

// barrier finds out whether the engine misses anything that was there when somebody asked.
//
// There is one way that is always right: list what there is after the question arose, and wait until the watch has brought every
// listed version and has dropped every object that was not listed. Where versions of different kinds can be compared there is
// a shorter one: wait until the watches have passed the version of what raised the question. The barrier tries both at the same
// time, the list a little later, and takes the first answer.
//
// All fields below mu are guarded by it. No lock is held while a question is answered.
type barrier struct {
	versions *versions
	// moment is the engine's, see Engine.Moment.
	moment  func() uint64
	lists   chan struct{} // has a token for every list under way
	limiter *rate.Limiter // of lists
	// wakeup holds a token while there are inquiries that do not run yet.
	wakeup chan struct{}

	mu        sync.Mutex
	inquiries map[topic]*inquiry
	idle      []*inquiry // those that do not run yet
}

// topic is what questions are about. The zero topic is all PodSequences.
type topic struct {
	sequence.Subject
	ofNamespace bool
	isCluster   bool // all ClusterPodSequences
	isConsent   bool // all Namespaces, for what they say when a pod is first seen
}

func newBarrier(versions *versions, moment func() uint64) *barrier {
	return &barrier{
		versions: versions, moment: moment,
		lists: make(chan struct{}, listsAtOnce), limiter: rate.NewLimiter(listsPerSecond, listBurst),
		wakeup: make(chan struct{}, 1), inquiries: map[topic]*inquiry{},
	}
}

// ask makes the barrier answer a question, and does not wait for the answer. about is what the question is about: the same for
// the same topic.
func (b *barrier) ask(topic topic, about subject, moment uint64, version string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.inquiries[topic]
	if q == nil {
		q = newInquiry(b, topic, about)
		b.inquiries[topic] = q
		b.idle = append(b.idle, q)
		wake(b.wakeup)
	}
	if q.marks = q.marks.add(moment, version, time.Now()); len(q.marks) == 1 {
		wake(q.added)
	}
}

// whyUnconfirmed says in words why nobody can tell whether everything is known of a namespace, of PodSequences or of consent; empty if
// nothing is in the way.
func (b *barrier) whyUnconfirmed(namespace string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	topics := []topic{{}, {isCluster: true}, {isConsent: true}}
	for kinds := range sequence.OfNamespaces + 1 { // what is asked of all namespaces is asked without a name
		topics = append(topics, topicOf(sequence.Subject{Namespace: namespace, Kinds: kinds}), topicOf(sequence.Subject{Kinds: kinds}))
	}
	for _, about := range topics {
		if q := b.inquiries[about]; q != nil && q.problem != "" {
			return q.problem
		}
	}
	return ""
}

func topicOf(subject sequence.Subject) topic { return topic{Subject: subject, ofNamespace: true} }

// run answers until the context ends.
func (b *barrier) run(ctx context.Context) {
	var running wait.Group
	defer running.Wait()
	for {
		select {
		case <-b.wakeup:
		case <-ctx.Done():
			return
		}
		b.mu.Lock()
		idle := b.idle
		b.idle = nil
		b.mu.Unlock()
		for _, q := range idle {
			running.StartWithContext(ctx, q.run)
		}
	}
}

// wake leaves a token, if there is none.
func wake(wakeup chan struct{}) {
	select {
	case wakeup <- struct{}{}:
	default:
	}
}

// pause waits for some time. It reports whether the context is still there.
func pause(ctx context.Context, length time.Duration) bool {
	if length <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
