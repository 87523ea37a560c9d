// Package record writes into the status of PodSequences and ClusterPodSequences which of their groups were passed. Pods are released by
// nothing else.
package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/fairqueue"
	"example.com/podsequence/internal/stale"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/report"
)

const (
	// workers bounds how many sequences are worked on at once.
	workers = 8
	// FieldManager is used for nothing else, so that managedFields tells the passes from the rest of status.
	FieldManager = "podsequence-passes"
)

// Decider answers what is ripe, and whether it may be recorded. A sequence.Engine is one.
type Decider interface {
	Ripe(key types.NamespacedName) (sequence.Ripe, bool)
	Agrees(ripe sequence.Ripe, looked sequence.Looked) bool
}

// Options say how a Recorder works.
type Options struct {
	// Delay is how long what is ripe must have been so before it is recorded: the controller lets the scheduler go first where both run.
	// 0 for at once.
	Delay time.Duration
	// Clock says when a pass is recorded: time-outs of the groups after it count from then. Must not be nil.
	Clock clock.PassiveClock
	// Recorded gets the object that the API server returned when passes were recorded, so that nothing waits for the watch to bring it.
	// Must not be nil.
	Recorded func(object *unstructured.Unstructured)
}

// Recorder records passes. What it writes is derived from the Decider when its turn comes, so that asking for it twice, too early or too
// late does no harm.
type Recorder struct {
	decider Decider
	options Options
	eyes    *eyes
	client  dynamic.Interface
	// queue serves namespaces in turn. Those of ClusterPodSequences count as one.
	queue workqueue.TypedRateLimitingInterface[types.NamespacedName]

	mu sync.Mutex
	// problems are what went wrong last. A retry is queued then.
	problems map[types.NamespacedName]error
}

// New returns a Recorder that does nothing until Run. The rate limit of the configuration does not apply: what waits for a pass would only
// wait longer.
func New(config *rest.Config, decider Decider, options Options) (*Recorder, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter = -1, nil
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make client to record passes: %w", err)
	}
	eyes, err := newEyes(config, client)
	if err != nil {
		return nil, err
	}
	sequences, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make client for sequences: %w", err)
	}
	return &Recorder{
		decider: decider, options: options, eyes: eyes, client: sequences, problems: map[types.NamespacedName]error{},
		queue: fairqueue.New(
			func(key types.NamespacedName) string { return key.Namespace },
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](20*time.Millisecond, 30*time.Second),
			workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: "podsequence_pass"},
		),
	}, nil
}

// Record asks for what is ripe of a sequence to be recorded. It does not block, and it does no harm to ask twice or in vain. While the
// API server refuses, the next retry is not brought forward: a busy group would ask at the rate of its pods' events.
func (r *Recorder) Record(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.problems[key] == nil {
		r.queue.AddAfter(key, r.options.Delay)
	}
}

// Why says in words why what is ripe of a sequence cannot be recorded; empty if nothing is in the way but time.
func (r *Recorder) Why(key types.NamespacedName) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if problem := r.problems[key]; problem != nil {
		return "its pass cannot be recorded: " + problem.Error()
	}
	return ""
}

// Explain says what a pod waits for that waits for a pass to be recorded, and why that cannot be, see Recorder.Why; empty for any other.
func Explain(decision report.Decision, why func(sequence types.NamespacedName) string) string {
	if !decision.Recording() {
		return ""
	}
	if why := why(decision.Sequence); why != "" {
		return decision.Message() + ": " + why
	}
	return decision.Message()
}

// note remembers what went wrong, and sees to the next turn of a sequence. After a failure that is over it is unknown whether Record was
// called meanwhile.
func (r *Recorder) note(key types.NamespacedName, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	hadProblem := r.problems[key] != nil
	delete(r.problems, key)
	switch {
	case err == nil:
		r.queue.Forget(key)
		if hadProblem {
			r.queue.AddAfter(key, r.options.Delay)
		}
	case errors.Is(err, errBehind):
		r.queue.AddRateLimited(key)
	default:
		r.problems[key] = err
		r.queue.AddRateLimited(key)
	}
}

// Run records until the context ends.
func (r *Recorder) Run(ctx context.Context) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() { r.work(ctx) })
	}
	<-ctx.Done()
	r.queue.ShutDown()
	running.Wait()
}

func (r *Recorder) work(ctx context.Context) {
	for {
		key, shutdown := r.queue.Get()
		if shutdown {
			return
		}
		err := r.record(ctx, key)
		if ctx.Err() != nil {
			err = nil
		}
		if err != nil && !errors.Is(err, errBehind) {
			recordErrors.Inc()
			klog.FromContext(ctx).Error(err, "Could not record that groups were passed; what waits for them stays held, will retry",
				"sequence", key)
		}
		r.note(key, err)
		r.queue.Done(key)
	}
}

// errBehind makes the Recorder ask again, with back-off: the API server is ahead of what the Decider knows. It is asked for again, too,
// when the event comes that is on its way.
var errBehind = errors.New("an event has just come or is on its way")

// record writes what is ripe of a sequence, if the Decider still says so after what it goes by was looked at.
func (r *Recorder) record(ctx context.Context, key types.NamespacedName) error {
	ripe, ok := r.decider.Ripe(key)
	if !ok {
		return nil
	}
	looked, err := r.eyes.look(ctx, ripe)
	if err != nil {
		return fmt.Errorf("look at what its groups count: %w", err)
	}
	if !r.decider.Agrees(ripe, looked) {
		return errBehind
	}
	object, err := r.patch(ctx, ripe)
	switch {
	case apierrors.IsNotFound(err), stale.IsConflict(err):
		return errBehind // not found: it is gone, which the Decider will know, or the API server does not serve its kind at the moment
	case err != nil:
		return fmt.Errorf("write status.passes: %w", err)
	}
	klog.FromContext(ctx).V(3).Info("Recorded that groups were passed", "sequence", key, "passes", ripe.Passes)
	r.options.Recorded(object)
	return nil
}

// patch adds passes to the status of the version of the sequence that they are missing from, and of no other.
func (r *Recorder) patch(ctx context.Context, ripe sequence.Ripe) (*unstructured.Unstructured, error) {
	passes, at := map[string]any{}, metav1.NewTime(r.options.Clock.Now())
	for hash, pass := range ripe.Passes {
		passes[hash] = map[string]any{"uid": pass.UID, "at": at, "timedOut": nil} // of a pass that a backup tool restored nothing stays
		if pass.TimedOut {
			passes[hash].(map[string]any)["timedOut"] = true
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": ripe.UID, "resourceVersion": ripe.ResourceVersion},
		"status":   map[string]any{"passes": passes},
	})
	if err != nil {
		return nil, fmt.Errorf("encode passes: %w", err)
	}
	resource := v1alpha1.PodSequenceResource
	if ripe.Key.Namespace == "" {
		resource = v1alpha1.ClusterPodSequenceResource
	}
	return r.client.Resource(resource).Namespace(ripe.Key.Namespace).Patch(ctx, ripe.Key.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: FieldManager}, "status")
}
