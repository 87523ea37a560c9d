// Package operate makes the few changes of sequences that an operator needs in a hurry. Each is one patch of annotations that override
// the spec, refused if the object has changed meanwhile, and an event that says who did it and why. The spec is never changed: whatever
// applies it would take the change back.
package operate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"example.com/podsequence/apis/scheduling/v1alpha1"
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

// Change is one change of the annotations of a sequence.
type Change struct {
	// Did says what was done, such as: suspended.
	Did string
	// Event is the reason of the event.
	Event string
	// Target says what of the sequence is changed, such as: group 1/3 "Database"; empty for the sequence.
	Target string
	// Suspend is whether the annotations suspend the sequence from now on, and Skip which groups they skip.
	Suspend bool
	Skip    []string
	// SetsEnd reports that the change overrides more than before: then Options.For says until when.
	SetsEnd bool

	// others says what annotations override beside it, such as: suspended. Their end is the same.
	others []string
}

// Suspend returns the change that stops further releases.
func Suspend(s *snapshot.Sequence, now time.Time) (Change, error) {
	c := overridesOf(s, now)
	c.others = describe(false, c.Skip)
	c.Did, c.Event, c.Suspend, c.SetsEnd = "suspended", EventSuspendRequested, true, true
	return c, nil
}

// Resume returns the change that lifts the suspension. It fails if the spec suspends the sequence.
func Resume(s *snapshot.Sequence, now time.Time) (Change, error) {
	if s.Spec.Suspend {
		return Change{}, fmt.Errorf("%s: spec.suspend is true, and this command changes only annotations: set it to false in the manifest", s)
	}
	c := overridesOf(s, now)
	c.Did, c.Event, c.Suspend = "resumed", EventResumeRequested, false
	return c, nil
}

// Skip returns the change by which no group waits for this one.
func Skip(s *snapshot.Sequence, group int, now time.Time) (Change, error) {
	c, title := overridesOf(s, now), s.Title(group)
	if why := unfit(s, title); why != "" {
		return Change{}, fmt.Errorf("%s of %s: %s, so that no annotation can name it: set skip of the group in the manifest", s.Where(group), s, why)
	}
	c.Did, c.Event, c.Target = "skipped", EventSkipRequested, s.Where(group)
	if s.Spec.PodGroups[group].Skip {
		return c, nil
	}
	beside := slices.DeleteFunc(slices.Clone(c.Skip), func(skipped string) bool { return skipped == title })
	c.others = describe(c.Suspend, beside)
	c.Skip, c.SetsEnd = append(beside, title), true
	return c, nil
}

// describe says what annotations override.
func describe(suspend bool, skip []string) []string {
	var all []string
	if suspend {
		all = append(all, "suspend the sequence")
	}
	for _, title := range skip {
		all = append(all, fmt.Sprintf("skip %q", title))
	}
	return all
}

// checkEnd fails if the change would give another end to what annotations override beside it, and nobody asked for that: what was to end
// would stay, or what was to stay would end.
func (c Change) checkEnd(s *snapshot.Sequence, o Options) error {
	before, after := s.Object.GetAnnotations()[v1alpha1.OverrideUntilAnnotation], o.end()
	if !c.SetsEnd || len(c.others) == 0 || o.ForAll || before == after {
		return nil
	}
	return fmt.Errorf("%s: annotations already %s %s. All overrides end together, and this command would apply all of them %s: "+
		"add --for-all to accept that, or end the other first with resume or unskip", s, strings.Join(c.others, " and "), endText(before), endText(after))
}

func endText(end string) string {
	if end == "" {
		return "without an end"
	}
	return "until " + end
}

// unfit says why an annotation cannot name a group; empty if it can.
func unfit(s *snapshot.Sequence, title string) string {
	called := 0
	for i := range s.Spec.PodGroups {
		if s.Title(i) == title {
			called++
		}
	}
	switch {
	case called > 1:
		return fmt.Sprintf("%d groups have this name", called)
	case strings.Contains(title, ","):
		return "its name has a comma"
	case strings.TrimSpace(title) != title:
		return "its name begins or ends with a space"
	}
	return ""
}

// Unskip returns the change by which groups wait for this one again. It fails if the spec skips the group.
func Unskip(s *snapshot.Sequence, group int, now time.Time) (Change, error) {
	if s.Spec.PodGroups[group].Skip {
		return Change{}, fmt.Errorf("%s of %s: its spec has skip, and this command changes only annotations: remove it from the manifest", s.Where(group), s)
	}
	c := overridesOf(s, now)
	c.Did, c.Event, c.Target = "is no longer skipped", EventUnskipRequested, s.Where(group)
	c.Skip = slices.DeleteFunc(c.Skip, func(title string) bool { return title == s.Title(group) })
	return c, nil
}

// overridesOf returns what the annotations override now. What is over stays over, though the change sets another end.
func overridesOf(s *snapshot.Sequence, now time.Time) Change {
	annotations := s.Object.GetAnnotations()
	if until, err := time.Parse(time.RFC3339, annotations[v1alpha1.OverrideUntilAnnotation]); err == nil && !now.Before(until) {
		return Change{}
	}
	c := Change{Suspend: annotations[v1alpha1.SuspendAnnotation] == "true"}
	for title := range strings.SplitSeq(annotations[v1alpha1.SkipAnnotation], ",") {
		if title = strings.TrimSpace(title); title != "" {
			c.Skip = append(c.Skip, title)
		}
	}
	return c
}

// annotations returns what the annotations are to be after the change. Without anything that they override there are none.
func (c Change) annotations(s *snapshot.Sequence, o Options) map[string]string {
	want := map[string]string{}
	if c.Suspend {
		want[v1alpha1.SuspendAnnotation] = "true"
	}
	if len(c.Skip) > 0 {
		slices.Sort(c.Skip)
		want[v1alpha1.SkipAnnotation] = strings.Join(slices.Compact(c.Skip), ",")
	}
	if len(want) == 0 {
		return want
	}
	reason, until := s.Object.GetAnnotations()[v1alpha1.OverrideReasonAnnotation], s.Object.GetAnnotations()[v1alpha1.OverrideUntilAnnotation]
	if c.SetsEnd {
		until = o.end()
		if o.Reason != "" {
			reason = o.Reason
		}
	}
	if reason != "" {
		want[v1alpha1.OverrideReasonAnnotation] = reason
	}
	if until != "" {
		want[v1alpha1.OverrideUntilAnnotation] = until
	}
	return want
}

var annotationNames = []string{
	v1alpha1.SuspendAnnotation, v1alpha1.SkipAnnotation, v1alpha1.OverrideReasonAnnotation, v1alpha1.OverrideUntilAnnotation,
}

// Options say how to make a change.
type Options struct {
	// Reason is why, for the event and the annotation.
	Reason string
	// For is how long what the change overrides lasts; 0 if until it is taken back.
	For time.Duration
	// ForAll lets the end of the change hold for everything that annotations override, also for what had another end.
	ForAll bool
	// DryRun makes the API server check everything and store nothing.
	DryRun bool
	// Now is the time of the event.
	Now time.Time
}

// end returns what the annotation says of the end; empty if the change is to last until it is taken back.
func (o Options) end() string {
	if o.For <= 0 {
		return ""
	}
	return o.Now.Add(o.For).UTC().Format(time.RFC3339)
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
		if err := change.checkEnd(current, o); err != nil {
			return err
		}
		patch, err := patchOf(current, change.annotations(current, o))
		if err != nil {
			return err
		}
		if result.Unchanged = patch == nil; result.Unchanged {
			return nil
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

// patchOf returns the patch that gives a sequence these annotations, and no others, that override its spec; nil if it has them. It is
// refused if the object was changed since it was read, or was made again.
func patchOf(s *snapshot.Sequence, want map[string]string) ([]byte, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	has := s.Object.GetAnnotations()
	var changes []operation
	for _, name := range annotationNames {
		path := "/metadata/annotations/" + strings.ReplaceAll(name, "/", "~1")
		value, wanted := want[name]
		switch before, had := has[name]; {
		case wanted && (!had || before != value):
			changes = append(changes, operation{"add", path, value})
		case had && !wanted:
			changes = append(changes, operation{Op: "remove", Path: path})
		}
	}
	if len(changes) == 0 {
		return nil, nil
	}
	if len(has) == 0 {
		changes = slices.Insert(changes, 0, operation{"add", "/metadata/annotations", map[string]string{}})
	}
	patch, err := json.Marshal(slices.Concat([]operation{
		{"test", "/metadata/uid", s.Object.GetUID()},
		{"replace", "/metadata/resourceVersion", s.Object.GetResourceVersion()},
	}, changes))
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
	if change.SetsEnd && o.For > 0 {
		note += " until " + o.end()
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
