package feed

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// subject is what an inquiry asks about, and who gets the answers.
type subject struct {
	kinds []*askedKind
	// name and consequence go into the log: what is asked about, and what happens while it is not known.
	name, consequence string
	// passed is called when the watches have passed the mark: nothing is missing from before its version.
	passed func(mark)
	// listed is called when nothing is missing from before a moment, nor, where versions can be compared, up to a version.
	listed func(moment uint64, version string)
	// interval is from the end of one list to the beginning of the next; zero means listInterval.
	interval time.Duration
}

// inquiry answers the questions of one topic, from the first until none has come for a while.
//
// marks and problem are guarded by the barrier's mu; all other fields belong to run.
type inquiry struct {
	subject
	barrier *barrier
	topic   topic
	added   chan struct{} // has a token when marks began, or were dropped

	marks   marks
	problem string // why there is no answer, in words

	covered map[*askedKind]string // up to which version lists have shown that nothing is missing
	result  chan result           // of the list that is under way; nil if there is none
	cancel  context.CancelFunc    // of that list
	listing sync.WaitGroup        // all lists that are under way, those that nobody needs any more too
	began   time.Time
	replied time.Time // when the watches last answered
	next    time.Time // when the next list may begin
	retry   *wait.Backoff
}

// result is what a list has found out.
type result struct {
	moment   uint64 // when it began
	versions map[*askedKind]string
	whole    bool // all kinds were listed
	err      error
}

func newInquiry(barrier *barrier, topic topic, about subject) *inquiry {
	return &inquiry{
		subject: about, barrier: barrier, topic: topic, added: make(chan struct{}, 1), covered: map[*askedKind]string{},
	}
}

// run answers until there is no question, or the context ends.
func (q *inquiry) run(ctx context.Context) {
	defer q.listing.Wait()
	defer q.abandon()
	for ctx.Err() == nil {
		first, asked := q.first()
		if asked {
			q.step(ctx, first)
			continue
		}
		q.abandon()
		if q.isOver(ctx) {
			return
		}
	}
}

func (q *inquiry) first() (mark, bool) {
	q.barrier.mu.Lock()
	defer q.barrier.mu.Unlock()
	if len(q.marks) == 0 {
		q.problem = ""
		return mark{}, false
	}
	return q.marks[0], true
}

// step waits for the first thing that happens to the first mark.
func (q *inquiry) step(ctx context.Context, first mark) {
	var passed <-chan struct{}
	allowed := time.Time{}
	if q.barrier.versions.comparable() {
		c := q.waiterFor(first.version)
		defer c.stop()
		passed, allowed = c.done, first.since.Add(grace)
	}
	var due <-chan time.Time
	if q.result == nil {
		if q.next.After(allowed) {
			allowed = q.next
		}
		timer := time.NewTimer(time.Until(allowed))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-passed:
		if pause(ctx, time.Until(q.replied.Add(answerInterval))) {
			q.answer(0)
		}
	case <-due:
		q.begin(ctx)
	case r := <-q.result:
		q.end(ctx, r)
	case <-q.added:
	case <-ctx.Done():
	}
}

// waiterFor begins to wait until the watches reach a version. A kind that a list has covered that far needs no wait.
func (q *inquiry) waiterFor(version string) *versionWaiter {
	var behind []*position
	for _, kind := range q.kinds {
		if after(version, q.covered[kind]) {
			behind = append(behind, kind.watch)
		}
	}
	return newVersionWaiter(version, behind...)
}

// reached is the version up to which nothing is missing of any kind, if versions can be compared.
func (q *inquiry) reached() string {
	if !q.barrier.versions.comparable() || len(q.kinds) == 0 {
		return ""
	}
	oldest := latest(q.covered[q.kinds[0]], q.kinds[0].watch.at())
	for _, kind := range q.kinds[1:] {
		if version := latest(q.covered[kind], kind.watch.at()); after(oldest, version) {
			oldest = version
		}
	}
	return oldest
}

// answer answers every mark that the watches have passed, or that is not after a moment that a list has confirmed; 0 without
// a list.
func (q *inquiry) answer(moment uint64) {
	version := q.reached()
	q.barrier.mu.Lock()
	n := q.marks.answered(version, moment)
	answered := q.marks[:n]
	q.marks = q.marks[n:]
	q.problem = ""
	q.barrier.mu.Unlock()
	if n == 0 {
		return
	}
	confirmDuration.Observe(time.Since(answered[0].since).Seconds())
	if last := answered[n-1]; last.moment > moment {
		q.replied = time.Now()
		q.passed(last)
	}
}

// begin begins a list of what the watches may miss.
func (q *inquiry) begin(ctx context.Context) {
	q.barrier.mu.Lock()
	last := mark{}
	if n := len(q.marks); n > 0 {
		last = q.marks[n-1]
	}
	q.barrier.mu.Unlock()
	var kinds []*askedKind
	for _, kind := range q.kinds {
		if !q.barrier.versions.comparable() || after(last.version, latest(q.covered[kind], kind.watch.at())) {
			kinds = append(kinds, kind)
		}
	}
	requests := ctx
	ctx, q.cancel = context.WithCancel(ctx)
	results := make(chan result, 1)
	q.result, q.began = results, time.Now()
	q.listing.Go(func() { results <- q.list(ctx, requests, kinds) })
}

// list lists kinds, and waits until the engine knows what the lists say. The first context ends when nobody needs that any more. Requests
// have one of their own and go on to their end: client-go logs an error for each that is cut off while its answer is read.
func (q *inquiry) list(ctx, requests context.Context, kinds []*askedKind) result {
	if err := q.barrier.limiter.WaitN(ctx, len(kinds)); err != nil {
		return result{err: fmt.Errorf("wait for a turn to list: %w", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	requests, cancelRequests := context.WithTimeout(requests, listTimeout)
	defer cancelRequests()
	r := result{moment: q.barrier.moment(), versions: map[*askedKind]string{}, whole: len(kinds) == len(q.kinds)}
	found := make([]string, len(kinds))
	if len(kinds) == 1 { // as of all new pods: a goroutine would grow another stack for one request
		found[0], r.err = q.listKind(ctx, requests, kinds[0])
	} else {
		r.err = q.listKinds(ctx, requests, kinds, found)
	}
	for i, kind := range kinds {
		r.versions[kind] = found[i]
	}
	return r
}

// listKinds lists kinds at the same time, and enters the versions of the lists.
func (q *inquiry) listKinds(ctx, requests context.Context, kinds []*askedKind, found []string) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, kind := range kinds {
		group.Go(func() (err error) {
			found[i], err = q.listKind(ctx, requests, kind)
			return err
		})
	}
	return group.Wait()
}

// listKind returns the version of the list.
func (q *inquiry) listKind(ctx, requests context.Context, kind *askedKind) (string, error) {
	select {
	case q.barrier.lists <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	seen := q.barrier.versions.seen()
	lists.WithLabelValues(kind.watch.resource).Inc()
	found, err := kind.list(requests, q.topic.Namespace)
	<-q.barrier.lists
	if err != nil {
		return "", fmt.Errorf("list %s: %w", kind.watch.resource, err)
	}
	q.barrier.versions.listed(kind.watch.resource, found.version, seen)
	return found.version, kind.settle(ctx, q.topic.Namespace, found)
}

// end takes what a list has found out.
func (q *inquiry) end(ctx context.Context, r result) {
	q.cancel()
	q.result = nil
	if r.err != nil {
		q.fail(ctx, r.err)
		return
	}
	q.retry = nil
	q.next = time.Now().Add(min(max(cmp.Or(q.interval, listInterval), time.Since(q.began)/2), longListInterval))
	for kind, version := range r.versions {
		q.covered[kind] = latest(q.covered[kind], version)
	}
	if !r.whole {
		r.moment = 0 // the other kinds are known only as far as their watches have come
	}
	if r.whole {
		q.listed(r.moment, q.reached())
	}
	q.answer(r.moment)
}

// fail notes why there is no answer, and puts the next list off.
func (q *inquiry) fail(ctx context.Context, err error) {
	if q.retry == nil {
		q.retry = &wait.Backoff{Duration: 100 * time.Millisecond, Cap: 2 * time.Second, Steps: 10, Factor: 2, Jitter: 0.2}
	}
	q.next = time.Now().Add(q.retry.Step())
	if ctx.Err() != nil {
		return
	}
	watchErrors.WithLabelValues(q.watched()).Inc()
	klog.FromContext(ctx).Error(err, "Cannot tell whether all "+q.name+" are known; "+q.consequence+", will retry")
	q.barrier.mu.Lock()
	defer q.barrier.mu.Unlock()
	q.problem = fmt.Sprintf("cannot tell whether all %s are known: %v", q.name, err)
}

// watched is what the inquiry is about, for metrics.
func (q *inquiry) watched() string {
	if len(q.kinds) == 1 {
		return q.kinds[0].watch.resource
	}
	return "pods_and_workloads"
}

// abandon makes nothing of the list that is under way: nobody needs it any more.
func (q *inquiry) abandon() {
	if q.result == nil {
		return
	}
	q.cancel()
	q.result = nil
	q.next = time.Now().Add(cmp.Or(q.interval, listInterval))
}

// isOver waits until another list could begin. It reports whether the inquiry is over: no question has come meanwhile.
func (q *inquiry) isOver(ctx context.Context) bool {
	timer := time.NewTimer(time.Until(q.next))
	defer timer.Stop()
	select {
	case <-q.added:
		return false
	case <-timer.C:
	case <-ctx.Done():
		return true
	}
	q.barrier.mu.Lock()
	defer q.barrier.mu.Unlock()
	if len(q.marks) > 0 {
		return false
	}
	delete(q.barrier.inquiries, q.topic)
	return true
}
