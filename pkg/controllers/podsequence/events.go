package podsequence

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/printable"
	"example.com/podsequence/pkg/sequence/order"
)

// event is something worth telling about a sequence.
type event struct {
	kind   string // corev1.EventTypeNormal or corev1.EventTypeWarning
	reason string
	action string // what was being done
	note   string
	// field is the path of the group that it is about; empty if it is about the sequence.
	field string
}

// regarding returns what the event of a sequence is about. Of events that differ in the note alone, client-go writes the first, and counts
// the others (getKey in k8s.io/client-go/tools/events 0.37). So those of different groups are about different fields.
func (e event) regarding(sequence client.Object) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: kindOf(client.ObjectKeyFromObject(sequence)), Namespace: sequence.GetNamespace(), Name: sequence.GetName(),
		UID: sequence.GetUID(), ResourceVersion: sequence.GetResourceVersion(), FieldPath: e.field,
	}
}

// The actions of events.
const (
	actionRelease = "Release"
	actionObserve = "Observe"
)

// warnings are the problems that events tell of.
var warnings = []string{
	v1alpha1.ReasonUngovernedPods, v1alpha1.ReasonPodFailed, v1alpha1.ReasonJobFailed, v1alpha1.ReasonPodsReadyTimeout,
	v1alpha1.ReasonNamespaceNotAllowed, v1alpha1.ReasonStrayPods, v1alpha1.ReasonStartedOutOfOrder,
}

// eventsFor is what a status tells that the one before did not. Since each status that is written is compared with the
// one that it replaced, no event comes twice, however often the controller is restarted. One that ends between a write
// and its events leaves these untold: status is what counts. problems are those of the sequence that the status after is about.
func eventsFor(before, after v1alpha1.PodSequenceStatus, problems []order.Problem) []event {
	all := orderEvents(before, after)
	for i := range after.Groups {
		for _, e := range groupEvents(recordBefore(before, after, i), after.Groups[i], place(after, i)) {
			e.field = fmt.Sprintf("spec.podGroups[%d]", i)
			all = append(all, e)
		}
	}
	if after.Phase == v1alpha1.PhaseCompleted && before.Phase != v1alpha1.PhaseCompleted {
		all = append(all, event{
			kind: corev1.EventTypeNormal, reason: v1alpha1.EventSequenceCompleted, action: actionObserve, note: after.Message,
		})
	}
	for _, reason := range warnings {
		if slices.Contains(after.DegradedReasons, reason) && !slices.Contains(before.DegradedReasons, reason) {
			all = append(all, event{kind: corev1.EventTypeWarning, reason: reason, action: actionObserve, note: messageOf(problems, reason)})
		}
	}
	all = append(all, overrideEvents(before, after)...)
	for i := range all {
		all[i].note = printable.Note(all[i].note)
	}
	return all
}

// orderEvents tells once what an edit changed in the order: which groups are gone, which are new, and how the others are ordered now. A group
// that was renamed only has the hash that it had. Status does not tell groups without a name from each other, so these are counted.
func orderEvents(before, after v1alpha1.PodSequenceStatus) []event {
	if before.ObservedGeneration == 0 || before.ObservedGeneration == after.ObservedGeneration || before.ObservedUID != after.ObservedUID {
		return nil
	}
	gone, stayed, unnamedBefore := groupsWithout(before, after)
	added, staying, unnamed := groupsWithout(after, before)
	var changes []string
	if len(gone) > 0 {
		changes = append(changes, namedGroups(gone, "is", "are")+" gone: no group waits for pods of a group that is gone, and this sequence holds them "+
			"only if another group selects them")
	}
	if len(added) > 0 {
		changes = append(changes, namedGroups(added, "is", "are")+" new")
	}
	if len(stayed) == len(staying) && !slices.Equal(stayed, staying) {
		changes = append(changes, "the order of the groups that stay is now "+fewNames(staying))
	}
	if unnamed != unnamedBefore {
		changes = append(changes, fmt.Sprintf("%d groups have no name, and %d had none", unnamed, unnamedBefore))
	}
	if len(changes) == 0 {
		return nil
	}
	return []event{{kind: corev1.EventTypeNormal, reason: v1alpha1.EventOrderChanged, action: actionObserve, note: strings.Join(changes, "; ")}}
}

// groupsWithout returns the names of the groups of a status that another one lacks, and of those that it has, by the names that both have
// them by. It counts those without a name.
func groupsWithout(status, other v1alpha1.PodSequenceStatus) (lacking, common []string, unnamed int) {
	for i, group := range status.Groups {
		if isUnnamed(group, i) {
			unnamed++
			continue
		}
		same := slices.ContainsFunc(other.Groups, func(o v1alpha1.GroupStatus) bool { return o.Name == group.Name })
		renamed := slices.ContainsFunc(other.Groups, func(o v1alpha1.GroupStatus) bool { return group.Hash != "" && o.Hash == group.Hash })
		switch {
		case same:
			common = append(common, group.Name)
		case !renamed:
			lacking = append(lacking, group.Name)
		}
	}
	return lacking, common, unnamed
}

// isUnnamed reports whether a group has the name that status gives to groups without one.
func isUnnamed(group v1alpha1.GroupStatus, index int) bool {
	return group.Name == fmt.Sprintf("Group %d", index+1)
}

// namedGroups begins a sentence about groups with the right verb.
func namedGroups(names []string, one, many string) string {
	if len(names) == 1 {
		return "group " + fewNames(names) + " " + one
	}
	return "groups " + fewNames(names) + " " + many
}

// fewNames quotes the first few names.
func fewNames(names []string) string {
	const most = 5
	var quoted []string
	for _, name := range names[:min(most, len(names))] {
		quoted = append(quoted, strconv.Quote(name))
	}
	text := strings.Join(quoted, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// overrideEvents tells what annotations begin, go on or cease to override, and who wrote them.
func overrideEvents(before, after v1alpha1.PodSequenceStatus) []event {
	var all []event
	is, was := overridden(after), overridden(before)
	switch active, wasActive := is.Status == metav1.ConditionTrue, was.Status == metav1.ConditionTrue; {
	case active && !wasActive:
		all = append(all, event{kind: corev1.EventTypeWarning, reason: v1alpha1.EventOverrideBegan, action: actionObserve, note: is.Message})
	case active && withoutWriteTimes(is.Message) != withoutWriteTimes(was.Message):
		all = append(all, event{kind: corev1.EventTypeWarning, reason: v1alpha1.EventOverrideChanged, action: actionObserve, note: is.Message})
	case wasActive && !active:
		all = append(all, event{kind: corev1.EventTypeNormal, reason: v1alpha1.EventOverrideEnded, action: actionObserve, note: is.Message + "; before: " + was.Message})
	}
	if is.Reason == v1alpha1.ReasonInvalidOverride && was.Reason != is.Reason {
		all = append(all, event{kind: corev1.EventTypeWarning, reason: is.Reason, action: actionObserve, note: is.Message})
	}
	return all
}

// overridden is the condition that tells what annotations override; the zero value without one.
func overridden(status v1alpha1.PodSequenceStatus) metav1.Condition {
	if condition := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionOverridden); condition != nil {
		return *condition
	}
	return metav1.Condition{}
}

var writeTime = regexp.MustCompile(` at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// withoutWriteTimes is the message without the times of its writers: these change with every field that the same client writes.
func withoutWriteTimes(message string) string { return writeTime.ReplaceAllString(message, "") }

func groupEvents(before, after v1alpha1.GroupStatus, place string) []event {
	var all []event
	if after.ReleasedAt != nil && before.ReleasedAt == nil {
		all = append(all, event{
			kind: corev1.EventTypeNormal, reason: v1alpha1.EventGroupReleased, action: actionRelease,
			note: place + " is released: its pods may be scheduled",
		})
	}
	// A passed group whose pods are replaced turns ready again and again, and that changes nothing.
	if after.SatisfiedAt != nil && before.SatisfiedAt == nil && before.PassedAt == nil {
		all = append(all, event{
			kind: corev1.EventTypeNormal, reason: v1alpha1.EventGroupReady, action: actionObserve,
			note: fmt.Sprintf("%s is ready: %s", place, whatIsReady(after)),
		})
	}
	switch skipped, was := after.Phase == v1alpha1.GroupSkipped, before.Phase == v1alpha1.GroupSkipped; {
	case skipped && !was:
		all = append(all, event{
			kind: corev1.EventTypeWarning, reason: v1alpha1.EventGroupSkipped, action: actionRelease,
			note: place + " is skipped: no group waits for it until you remove skip",
		})
	case was && !skipped:
		all = append(all, event{
			kind: corev1.EventTypeNormal, reason: v1alpha1.EventGroupNotSkipped, action: actionObserve,
			note: place + " is no longer skipped: pods that wait for it are held until it is ready",
		})
	}
	return all
}

// recordBefore is the earlier record of a group, wherever it was listed. A group that was defined otherwise is another group.
func recordBefore(before, after v1alpha1.PodSequenceStatus, i int) v1alpha1.GroupStatus {
	hash := after.Groups[i].Hash
	if i < len(before.Groups) && before.Groups[i].Hash == hash {
		return before.Groups[i]
	}
	if at := slices.IndexFunc(before.Groups, func(g v1alpha1.GroupStatus) bool { return hash != "" && g.Hash == hash }); at >= 0 {
		return before.Groups[at]
	}
	return v1alpha1.GroupStatus{}
}

// place names a group as all messages do.
func place(status v1alpha1.PodSequenceStatus, i int) string {
	return fmt.Sprintf("group %d/%d %q", i+1, len(status.Groups), status.Groups[i].Name)
}

// messageOf says what is wrong for a reason.
func messageOf(problems []order.Problem, reason string) string {
	var messages []string
	for _, p := range problems {
		if p.Reason == reason {
			messages = append(messages, p.Message)
		}
	}
	return strings.Join(messages, "; ")
}

// whatIsReady counts what a group waited for that is ready.
func whatIsReady(group v1alpha1.GroupStatus) string {
	pods := fmt.Sprintf("%d of %d pods", group.Ready, group.Expected)
	objects := fmt.Sprintf("%d objects", len(group.Objects))
	if len(group.Objects) == 1 {
		objects = "1 object"
	}
	switch {
	case len(group.Objects) == 0:
		return pods
	case group.Expected == 0:
		return objects
	}
	return pods + ", " + objects
}
