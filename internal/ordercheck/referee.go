package ordercheck

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

const defaultFenceTimeout = 30 * time.Second

// Options say how to watch and judge.
type Options struct {
	// SchedulerNames are the profiles of our schedulers: their pods are governed. Defaults to DefaultSchedulerName.
	SchedulerNames []string
	// FenceTimeout is how long a verdict waits for the records to catch up, 30 s unless set.
	FenceTimeout time.Duration
}

// Referee watches one cluster. It only ever reads.
type Referee struct {
	options   Options
	recorder  *recorder
	pods      *stream
	sequences *stream
	stop      context.CancelFunc
	running   sync.WaitGroup
}

// Start returns once the referee has seen what there is; from then on it sees every change, until it is stopped. It
// waits for an API server that does not answer yet, or does not know PodSequences yet, until the context ends; the
// context has no say later.
func Start(ctx context.Context, config *rest.Config, options Options) (*Referee, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // a client that waits for its own limit sees late
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the referee: %w", err)
	}
	return start(ctx, options, time.Now,
		resource{
			name:   "pods",
			client: client.Resource(corev1.SchemeGroupVersion.WithResource("pods")),
			read:   readPod,
		},
		resource{
			name:   "podsequences",
			client: client.Resource(v1alpha1.PodSequenceResource),
			read:   readSequence,
		})
}

func start(ctx context.Context, options Options, now func() time.Time, pods, sequences resource) (*Referee, error) {
	if options.FenceTimeout == 0 {
		options.FenceTimeout = defaultFenceTimeout
	}
	r := &Referee{options: options, recorder: newRecorder(now)}
	for _, s := range []struct {
		resource
		stream **stream
	}{{pods, &r.pods}, {sequences, &r.sequences}} {
		list, err := listPatiently(ctx, s.resource)
		if err != nil {
			return nil, err
		}
		rec, err := r.recorder.begin(s.resource, list)
		if err != nil {
			return nil, err
		}
		*s.stream = &stream{record: rec, recorder: r.recorder}
	}
	var running context.Context
	running, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, s := range r.streams() {
		r.running.Go(func() { s.run(running) })
	}
	return r, nil
}

func (r *Referee) streams() []*stream {
	return []*stream{r.pods, r.sequences}
}

// Stop ends the watch and returns when it has ended. Verdicts can still be asked for, but are incomplete.
func (r *Referee) Stop() {
	r.stop()
	r.running.Wait()
	for _, s := range r.streams() {
		r.recorder.breakOff(s.record, fmt.Errorf("watch of %s was stopped", s.resource.name))
	}
}

// Verdict judges everything up to now.
func (r *Referee) Verdict(ctx context.Context) Verdict {
	return r.VerdictFor(ctx, "")
}

// VerdictFor judges the pods of one namespace up to now.
func (r *Referee) VerdictFor(ctx context.Context, namespace string) Verdict {
	return Judge(r.History(ctx), JudgeOptions{SchedulerNames: r.options.SchedulerNames, Namespace: namespace})
}

// History returns all that happened up to now. If a record cannot be brought up to now, the history says so and ends
// where it is still complete.
func (r *Referee) History(ctx context.Context) History {
	ctx, cancel := context.WithTimeout(ctx, r.options.FenceTimeout)
	defer cancel()
	streams := r.streams()
	ends, errs := make([]revision, len(streams)), make([]error, len(streams))
	var catchingUp sync.WaitGroup
	for i, s := range streams {
		catchingUp.Go(func() { ends[i], errs[i] = s.caughtUp(ctx) })
	}
	catchingUp.Wait()

	r.recorder.mu.Lock()
	defer r.recorder.mu.Unlock()
	history := r.recorder.history
	// Judging a binding beyond the end of either record might miss the very change that justified it.
	history.end = max(slices.Min(ends), history.start)
	for _, err := range errs {
		if err != nil {
			history.gaps = append(history.gaps, err.Error())
		}
	}
	return history
}

// caughtUp returns up to where the stream's record is complete: up to now, or there is an error.
func (s *stream) caughtUp(ctx context.Context) (revision, error) {
	if err := s.brokenOff(); err != nil {
		return s.position(), err
	}
	f, err := s.raise(ctx)
	if err != nil {
		return s.position(), err
	}
	if err := s.await(ctx, f); err != nil {
		return s.position(), err
	}
	return f.at, nil
}

// AwaitCompleted returns once the status of a PodSequence says that its present spec is completed. This is only to
// know when to stop watching: no verdict believes it.
func (r *Referee) AwaitCompleted(ctx context.Context, sequence types.NamespacedName) error {
	for {
		r.recorder.mu.Lock()
		completed, changed := r.sequences.completed(sequence), r.recorder.changed
		r.recorder.mu.Unlock()
		if completed {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("await completion of PodSequence %s: %w", sequence, ctx.Err())
		}
	}
}

// completed needs the recorder's lock.
func (rec *record) completed(sequence types.NamespacedName) bool {
	for _, object := range rec.objects {
		if f, ok := object.facts.(*sequenceFacts); ok && f.NamespacedName == sequence && f.completed {
			return true
		}
	}
	return false
}
