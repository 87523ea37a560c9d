// Package operate makes the few changes of sequences that an operator needs in a hurry. Each is one patch of one field, refused if
// the object has changed meanwhile, and an event that says who did it and why.
package operate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/tools/podseqctl/snapshot"
)

// Reasons of the events that tell of a change.
const (
	EventSuspendRequested = "SuspendRequested"
	EventResumeRequested  = "ResumeRequested"
	EventSkipRequested    = "SkipRequested"
	EventUnskipRequested  = "UnskipRequested"
)

// reporter names this tool in events.
const reporter = "kubectl-podseq"

// API is what a change needs of the API server.
type API interface {
	// Get reads a sequence: a ClusterPodSequence if the namespace is empty.
	Get(ctx context.Context, namespace, name string) (*snapshot.Sequence, error)
	// Patch applies a JSON patch.
	Patch(ctx context.Context, s *snapshot.Sequence, patch []byte, dryRun bool) error
	// Emit creates an event.
	Emit(ctx context.Context, event *eventsv1.Event, dryRun bool) error
	// Whoami returns the name of the user.
	Whoami(ctx context.Context) (string, error)
}

// Change is one change of a sequence.
type Change struct {
	// Did says what was done, such as: suspended.
	Did string
	// Event is the reason of the event.
	Event string
	// Path is the JSON pointer of the field, and Value what it is set to.
	Path  string
	Value bool
	// Has returns the present value.
	Has func(*snapshot.Sequence) bool
	// Target says what of the sequence is changed, such as: group 1/3 "Database"; empty for the sequence.
	Target string
}

// Suspend returns the change that stops further releases, or that lifts the suspension.
func Suspend(suspend bool) Change {
	c := Change{Did: "resumed", Event: EventResumeRequested, Path: "/spec/suspend", Value: suspend, Has: func(s *snapshot.Sequence) bool { return s.Spec.Suspend }}
	if suspend {
		c.Did, c.Event = "suspended", EventSuspendRequested
	}
	return c
}

// Skip returns the change that makes no group wait for this one, or that takes it back.
func Skip(s *snapshot.Sequence, group int, skip bool) Change {
	c := Change{
		Did: "is no longer skipped", Event: EventUnskipRequested, Path: fmt.Sprintf("/spec/podGroups/%d/skip", group), Value: skip,
		Has:    func(s *snapshot.Sequence) bool { return s.Spec.PodGroups[group].Skip },
		Target: s.Where(group),
	}
	if skip {
		c.Did, c.Event = "skipped", EventSkipRequested
	}
	return c
}

// Options say how to make a change.
type Options struct {
	// Reason is why, for the event.
	Reason string
	// DryRun makes the API server check everything and store nothing.
	DryRun bool
	// Now is the time of the event.
	Now time.Time
}

// Result says what came of a change.
type Result struct {
	// Unchanged reports that it was so already: nothing was written.
	Unchanged bool
	// NoEvent says why no event was written; nil if one was.
	NoEvent error
}

// Apply makes a change. choose makes it for the sequence as it is; it is asked again after a conflict.
func Apply(ctx context.Context, api API, s *snapshot.Sequence, choose func(*snapshot.Sequence) (Change, error), o Options) (Change, Result, error) {
	var change Change
	var result Result
	fresh := s
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var err error
		if fresh == nil {
			if fresh, err = api.Get(ctx, s.Key().Namespace, s.Key().Name); err != nil {
				return err
			}
		}
		current := fresh
		fresh = nil
		if change, err = choose(current); err != nil {
			return err
		}
		if result.Unchanged = change.Has(current) == change.Value; result.Unchanged {
			return nil
		}
		patch, err := patchOf(current, change)
		if err != nil {
			return err
		}
		return explainError(api.Patch(ctx, current, patch, o.DryRun), s)
	})
	if err != nil || result.Unchanged {
		return change, result, err
	}
	who, err := api.Whoami(ctx)
	if err != nil {
		who = "somebody"
	}
	result.NoEvent = api.Emit(ctx, eventOf(s, change, who, o), o.DryRun)
	return change, result, nil
}

// patchOf returns the patch. It is refused if the object was changed since it was read, or was made again.
func patchOf(s *snapshot.Sequence, change Change) ([]byte, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	patch, err := json.Marshal([]operation{
		{"test", "/metadata/uid", s.Object.GetUID()},
		{"replace", "/metadata/resourceVersion", s.Object.GetResourceVersion()},
		{"add", change.Path, change.Value},
	})
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	return patch, nil
}

// eventOf returns the event. Events about cluster-scoped objects are in namespace default.
func eventOf(s *snapshot.Sequence, change Change, who string, o Options) *eventsv1.Event {
	note := fmt.Sprintf("%s %s %s", who, change.Did, s)
	if change.Target != "" {
		note = fmt.Sprintf("%s: %s %s", who, change.Target, change.Did)
	}
	if o.Reason != "" {
		note += ": " + o.Reason
	}
	const most = 1024 // that the API takes
	if len(note) > most {
		note = note[:most-3] + "..."
	}
	namespace := s.Object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{GenerateName: s.Object.GetName() + "-", Namespace: namespace},
		EventTime:           metav1.NewMicroTime(o.Now),
		ReportingController: reporter,
		ReportingInstance:   reporter,
		Action:              change.Event,
		Reason:              change.Event,
		Type:                corev1.EventTypeNormal,
		Note:                note,
		Regarding: corev1.ObjectReference{
			APIVersion: s.Object.GetAPIVersion(), Kind: s.Object.GetKind(), Namespace: s.Object.GetNamespace(), Name: s.Object.GetName(),
			UID: s.Object.GetUID(), ResourceVersion: s.Object.GetResourceVersion(),
		},
	}
}

// explainError says what to do about an error.
func explainError(err error, s *snapshot.Sequence) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err) && s.IsCluster():
		return fmt.Errorf("%w; only cluster administrators change ClusterPodSequences: ask one of them", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; %s", err, snapshot.AskFor("edit", s.Key().Namespace))
	case apierrors.IsConflict(err):
		return fmt.Errorf("others keep changing %s: %w; try again", s, err)
	}
	return fmt.Errorf("change %s: %w", s, err)
}
