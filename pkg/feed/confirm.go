package feed

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"

	"example.com/podsequence/pkg/sequence"
)

const (
	// askInterval is from the end of one round of questions about a subject to the next, or half as long as the round took if
	// that is longer, up to longAskInterval. It bounds what a storm of events costs the API server, and is what a pod waits
	// longer in one.
	askInterval     = 25 * time.Millisecond
	longAskInterval = time.Second
	// listsAtOnce is how many lists are under way at the same time.
	listsAtOnce = 8
)

// confirmer answers the engine's questions whether anything is missing, each subject by itself.
//
// A kind whose watch has already brought a later event cannot miss anything. Of any other, a consistent list says which
// event its watch should have brought by now.
type confirmer struct {
	kinds  []askedKind
	answer func(subject sequence.Subject, moment uint64)
	lists  chan struct{} // has a token for every list under way
	// kick has a token while there are questions that nobody asks yet.
	kick chan struct{}

	mu     sync.Mutex
	wanted sequence.Questions
	busy   sets.Set[sequence.Subject] // what is being asked about
}

// askedKind is a kind of which the API server can be asked how recent it is.
type askedKind struct {
	breadth sequence.Breadth // the narrowest of which it is a part
	watch   *position
	// newest asks about one namespace: see the function of that name.
	newest func(ctx context.Context, namespace string) (now, lastChange string, err error)
}

func askedKinds(client metadata.Interface, watched []watchedKind) []askedKind {
	kinds := make([]askedKind, len(watched))
	for i, kind := range watched {
		resource := client.Resource(kind.resource)
		kinds[i] = askedKind{
			breadth: kind.breadth, watch: kind.store.watch(),
			newest: func(ctx context.Context, namespace string) (now, lastChange string, err error) {
				return newest(ctx, resource.Namespace(namespace))
			},
		}
	}
	return kinds
}

func newConfirmer(kinds []askedKind, answer func(subject sequence.Subject, moment uint64)) *confirmer {
	return &confirmer{
		kinds: kinds, answer: answer, lists: make(chan struct{}, listsAtOnce), kick: make(chan struct{}, 1),
		wanted: sequence.Questions{}, busy: sets.Set[sequence.Subject]{},
	}
}

// want has questions answered. It does not wait.
func (c *confirmer) want(questions sequence.Questions) {
	if len(questions) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for subject, question := range questions {
		c.wanted.Add(subject, question)
	}
	c.wake()
}

// wake has run look at the questions.
func (c *confirmer) wake() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// take returns the questions about what nobody asks about yet.
func (c *confirmer) take() sequence.Questions {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := sequence.Questions{}
	for subject, question := range c.wanted {
		if !c.busy.Has(subject) {
			taken[subject] = question
			c.busy.Insert(subject)
			delete(c.wanted, subject)
		}
	}
	return taken
}

func (c *confirmer) leave(subject sequence.Subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy.Delete(subject)
	c.wake()
}

// run answers until the context ends.
func (c *confirmer) run(ctx context.Context) {
	var rounds wait.Group
	defer rounds.Wait()
	for {
		select {
		case <-c.kick:
		case <-ctx.Done():
			return
		}
		for subject, question := range c.take() {
			rounds.StartWithContext(ctx, func(ctx context.Context) { c.round(ctx, subject, question) })
		}
	}
}

// round answers one question.
func (c *confirmer) round(ctx context.Context, subject sequence.Subject, question sequence.Question) {
	defer c.leave(subject)
	begin, asked := time.Now(), false
	always := func() bool { return true }
	persist(ctx, "pods_and_workloads", "Cannot tell whether all pods and workloads of namespace "+subject.Namespace+
		" are known; what turns ready there does not count yet", always, func(ctx context.Context) error {
		_, lists, err := c.ask(ctx, subject, question.Version)
		if asked = asked || lists; err == nil {
			confirmDuration.Observe(time.Since(begin).Seconds())
			c.answer(subject, question.Moment)
		}
		return err
	})
	if !asked {
		return
	}
	select {
	case <-time.After(min(max(askInterval, time.Since(begin)/2), longAskInterval)):
	case <-ctx.Done():
	}
}

// ask returns up to which version nothing of the subject is missing, at least the one that is asked about, and whether that
// took a list.
func (c *confirmer) ask(ctx context.Context, subject sequence.Subject, version string) (oldest string, lists bool, err error) {
	known := make([]string, len(c.kinds))
	group, ctx := errgroup.WithContext(ctx)
	for i, kind := range c.kinds {
		if kind.breadth <= subject.Breadth && after(version, kind.watch.at()) {
			lists = true
			group.Go(func() (err error) {
				known[i], err = c.askKind(ctx, kind, subject.Namespace)
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return "", lists, err
	}
	for i, kind := range c.kinds {
		if kind.breadth > subject.Breadth {
			continue
		}
		known := latest(known[i], kind.watch.at())
		if after(version, known) {
			return "", lists, fmt.Errorf("the API server has %s as of version %s, and something else as of %s: are they in different etcds?",
				kind.watch.resource, known, version)
		}
		if oldest == "" || after(oldest, known) {
			oldest = known
		}
	}
	return oldest, lists, nil
}

// askKind returns up to which version nothing of a kind is missing, after the watch has brought all there is up to it.
func (c *confirmer) askKind(ctx context.Context, kind askedKind, namespace string) (string, error) {
	select {
	case c.lists <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	now, lastChange, err := kind.newest(ctx, namespace)
	<-c.lists
	if err != nil {
		return "", fmt.Errorf("ask for the newest %s: %w", kind.watch.resource, err)
	}
	return now, kind.watch.await(ctx, lastChange)
}
