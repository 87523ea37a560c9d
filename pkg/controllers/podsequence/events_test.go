package podsequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
)

func TestEventsFor(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	waiting := v1alpha1.GroupStatus{Name: "Frontend", Hash: "f", Expected: 1, Phase: v1alpha1.GroupWaiting}
	released := v1alpha1.GroupStatus{Name: "Database", Hash: "d", Expected: 2, Phase: v1alpha1.GroupInProgress, ReleasedAt: &at}
	ready := v1alpha1.GroupStatus{
		Name: "Database", Hash: "d", Expected: 2, Ready: 2, Phase: v1alpha1.GroupPassed,
		ReleasedAt: &at, SatisfiedAt: &at, PassedAt: &at,
	}
	skipped := released
	skipped.Phase = v1alpha1.GroupSkipped
	passedNotReady := ready
	passedNotReady.Ready, passedNotReady.SatisfiedAt = 1, nil
	redefined := released
	redefined.Hash = "d2"
	frontendReleased := waiting
	frontendReleased.Phase, frontendReleased.ReleasedAt = v1alpha1.GroupInProgress, &at

	groups := func(groups ...v1alpha1.GroupStatus) v1alpha1.PodSequenceStatus {
		return v1alpha1.PodSequenceStatus{Phase: v1alpha1.PhaseInProgress, Groups: groups}
	}
	completed := v1alpha1.PodSequenceStatus{
		Phase: v1alpha1.PhaseCompleted, Groups: []v1alpha1.GroupStatus{ready}, Message: "all 1 groups are passed",
	}
	degraded := func(reasons ...string) v1alpha1.PodSequenceStatus {
		return v1alpha1.PodSequenceStatus{DegradedReasons: reasons, Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reasons[0]},
		}}
	}
	ungoverned, gate := degraded(v1alpha1.ReasonUngovernedPods), degraded(v1alpha1.ReasonGateNotAllowed)
	both := degraded(v1alpha1.ReasonGateNotAllowed, v1alpha1.ReasonUngovernedPods)

	early := func(pods ...string) v1alpha1.PodSequenceStatus {
		status := degraded(v1alpha1.ReasonUngovernedPods, v1alpha1.ReasonStartedOutOfOrder)
		status.StartedOutOfOrder = &v1alpha1.StartedOutOfOrderStatus{Total: int32(len(pods)), Pods: pods}
		return status
	}
	edited := func(generation int64, names ...string) v1alpha1.PodSequenceStatus {
		status := v1alpha1.PodSequenceStatus{ObservedGeneration: generation, ObservedUID: "shop"}
		for _, name := range names {
			status.Groups = append(status.Groups, v1alpha1.GroupStatus{Name: name})
		}
		return status
	}
	another := edited(2, "Web")
	another.ObservedUID = "another"
	problems := []order.Problem{
		{Reason: v1alpha1.ReasonUngovernedPods, Message: "web-0 cannot be held: set schedulerName"},
		{Reason: v1alpha1.ReasonStartedOutOfOrder, Message: "2 pods started before this PodSequence existed"},
	}

	overridden := func(is metav1.ConditionStatus, reason, message string) v1alpha1.PodSequenceStatus {
		return v1alpha1.PodSequenceStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionOverridden, Status: is, Reason: reason, Message: message},
		}}
	}
	overrides := func(message string) v1alpha1.PodSequenceStatus {
		return overridden(metav1.ConditionTrue, v1alpha1.ReasonOverridden, message)
	}
	const first = "suspended; written by podseq-cli at 2026-01-02T03:01:00Z"
	over := overridden(metav1.ConditionFalse, v1alpha1.ReasonNotOverridden, "the sequence does what its spec says")
	unreadable := overridden(metav1.ConditionFalse, v1alpha1.ReasonInvalidOverride, "annotation a: no time")

	for name, tc := range map[string]struct {
		before, after v1alpha1.PodSequenceStatus
		problems      []order.Problem
		want          []event
	}{
		"annotations begin to override the spec": {
			after: overrides(first), want: []event{{"Warning", "OverrideBegan", "Observe", first, ""}},
		},
		"they do so again": {
			before: over, after: overrides(first), want: []event{{"Warning", "OverrideBegan", "Observe", first, ""}},
		},
		"they go on to": {before: overrides(first), after: overrides(first)},
		"they override something else": {
			before: overrides(first), after: overrides("skips Database; written by podseq-cli at 2026-01-02T03:02:00Z"),
			want: []event{{"Warning", "OverrideChanged", "Observe", "skips Database; written by podseq-cli at 2026-01-02T03:02:00Z", ""}},
		},
		"somebody else wrote the same": {
			before: overrides(first), after: overrides("suspended; written by on-call at 2026-01-02T03:02:00Z"),
			want: []event{{"Warning", "OverrideChanged", "Observe", "suspended; written by on-call at 2026-01-02T03:02:00Z", ""}},
		},
		"that the same writer wrote other fields is no news": {
			before: overrides(first), after: overrides("suspended; written by podseq-cli at 2026-01-02T03:59:00Z"),
		},
		"a later end is news": {
			before: overrides("suspended until 2026-01-02T04:00:00Z"), after: overrides("suspended until 2026-01-02T05:00:00Z"),
			want: []event{{"Warning", "OverrideChanged", "Observe", "suspended until 2026-01-02T05:00:00Z", ""}},
		},
		"annotations do not override the spec any more": {
			before: overrides(first), after: over,
			want: []event{{"Normal", "OverrideEnded", "Observe", "the sequence does what its spec says; before: " + first, ""}},
		},
		"an annotation that cannot be read": {
			after: unreadable, want: []event{{"Warning", "InvalidOverride", "Observe", "annotation a: no time", ""}},
		},
		"is told of once": {before: unreadable, after: unreadable},
		"one that could be read before": {
			before: overrides(first), after: unreadable,
			want: []event{
				{"Normal", "OverrideEnded", "Observe", "annotation a: no time; before: " + first, ""},
				{"Warning", "InvalidOverride", "Observe", "annotation a: no time", ""},
			},
		},
		"one beside others that override": {
			after: overridden(metav1.ConditionTrue, v1alpha1.ReasonInvalidOverride, "suspended; annotation a: no time"),
			want: []event{
				{"Warning", "OverrideBegan", "Observe", "suspended; annotation a: no time", ""},
				{"Warning", "InvalidOverride", "Observe", "suspended; annotation a: no time", ""},
			},
		},
		"pods that started out of order are told of, though the condition Degraded has another reason": {
			before: ungoverned, after: early("app-0", "app-1"), problems: problems,
			want: []event{{"Warning", "StartedOutOfOrder", "Observe", "2 pods started before this PodSequence existed", ""}},
		},
		"once":                                 {before: early("app-0", "app-1"), after: early("app-0", "app-1"), problems: problems},
		"also when some of them are gone":      {before: early("app-0", "app-1"), after: early("app-1"), problems: problems},
		"that none of them is left is no news": {before: early("app-1"), after: ungoverned, problems: problems[:1]},
		"a status that says the same tells nothing": {
			before: groups(released, waiting), after: groups(released, waiting),
		},
		"the first status tells that the first group may start": {
			after: groups(released, waiting),
			want:  []event{{"Normal", "GroupReleased", "Release", `group 1/2 "Database" is released: its pods may be scheduled`, ""}},
		},
		"a group that is satisfied is ready, and the next may start": {
			before: groups(released, waiting), after: groups(ready, frontendReleased),
			want: []event{
				{"Normal", "GroupReady", "Observe", `group 1/2 "Database" is ready: 2 of 2 pods`, ""},
				{"Normal", "GroupReleased", "Release", `group 2/2 "Frontend" is released: its pods may be scheduled`, ""},
			},
		},
		"a group that is skipped": {
			before: groups(released, waiting), after: groups(skipped, frontendReleased),
			want: []event{
				{"Warning", "GroupSkipped", "Release", `group 1/2 "Database" is skipped: no group waits for it until you remove skip`, ""},
				{"Normal", "GroupReleased", "Release", `group 2/2 "Frontend" is released: its pods may be scheduled`, ""},
			},
		},
		"a group that is skipped no more": {
			before: groups(skipped, frontendReleased), after: groups(released, waiting),
			want: []event{
				{"Normal", "GroupNotSkipped", "Observe",
					`group 1/2 "Database" is no longer skipped: pods that wait for it are held until it is ready`, ""},
			},
		},
		"a group that is listed elsewhere is the same group": {
			before: groups(ready), after: groups(waiting, ready),
		},
		"a passed group that is ready once more tells nothing": {
			before: groups(passedNotReady, frontendReleased), after: groups(ready, frontendReleased),
		},
		"a passed group that is not ready any more tells nothing": {
			before: groups(ready, frontendReleased), after: groups(passedNotReady, frontendReleased),
		},
		"a group passed by other proof than readiness is not called ready": {
			before: groups(released, waiting), after: groups(passedNotReady, frontendReleased),
			want: []event{{"Normal", "GroupReleased", "Release", `group 2/2 "Frontend" is released: its pods may be scheduled`, ""}},
		},
		"a group that was defined anew starts anew": {
			before: groups(ready), after: groups(redefined),
			want: []event{{"Normal", "GroupReleased", "Release", `group 1/1 "Database" is released: its pods may be scheduled`, ""}},
		},
		"an appended group changes nothing for those before it": {
			before: groups(released), after: groups(released, waiting),
		},
		"an edit that takes a group out, moves others and adds one tells what it changed": {
			before: edited(1, "Database", "Cache", "Web", "Mail"), after: edited(2, "Web", "Cache", "Mail", "Proxy"),
			want: []event{{"Normal", "OrderChanged", "Observe", `group "Database" is gone: no group waits for pods of a group that is gone, and this sequence ` +
				`holds them only if another group selects them; group "Proxy" is new; the order of the groups that stay is now "Web", "Cache", "Mail"`, ""}},
		},
		"an edit that adds many groups names some": {
			before: edited(1, "a"), after: edited(2, "a", "b", "c", "d", "e", "f", "g", "h"),
			want: []event{{"Normal", "OrderChanged", "Observe", `groups "b", "c", "d", "e", "f" and 2 more are new`, ""}},
		},
		"an edit of groups without names counts them": {
			before: edited(1, "Group 1", "Group 2", "Web"), after: edited(2, "Group 1", "Web"),
			want: []event{{"Normal", "OrderChanged", "Observe", "1 groups have no name, and 2 had none", ""}},
		},
		"an edit that leaves the order tells nothing":          {before: edited(1, "Database", "Web"), after: edited(2, "Database", "Web")},
		"a change of order without an edit tells nothing":      {before: edited(2, "Database", "Web"), after: edited(2, "Web")},
		"the first status tells of no change of the order":     {after: edited(1, "Database", "Web")},
		"a status of an object of the same name tells nothing": {before: edited(1, "Database"), after: another},
		"a group that was only renamed is neither gone nor new": {
			before: v1alpha1.PodSequenceStatus{ObservedGeneration: 1, Groups: []v1alpha1.GroupStatus{{Name: "DB", Hash: "d"}}},
			after:  v1alpha1.PodSequenceStatus{ObservedGeneration: 2, Groups: []v1alpha1.GroupStatus{{Name: "Database", Hash: "d"}}},
		},
		"completion is reported after the group that brought it": {
			before: groups(released), after: completed,
			want: []event{
				{"Normal", "GroupReady", "Observe", `group 1/1 "Database" is ready: 2 of 2 pods`, ""},
				{"Normal", "SequenceCompleted", "Observe", "all 1 groups are passed", ""},
			},
		},
		"completion is reported once": {
			before: completed, after: completed,
		},
		"pods that nothing can hold are reported with the fix": {
			after: ungoverned, problems: problems,
			want: []event{{"Warning", "UngovernedPods", "Observe", "web-0 cannot be held: set schedulerName", ""}},
		},
		"so they are beside a problem that is more serious": {
			before: gate, after: both, problems: problems,
			want: []event{{"Warning", "UngovernedPods", "Observe", "web-0 cannot be held: set schedulerName", ""}},
		},
		"once more if there were none meanwhile": {
			before: gate, after: ungoverned, problems: problems,
			want: []event{{"Warning", "UngovernedPods", "Observe", "web-0 cannot be held: set schedulerName", ""}},
		},
		"that they become the most serious problem is no news":           {before: both, after: ungoverned, problems: problems},
		"that they are not the most serious problem any more is no news": {before: ungoverned, after: both, problems: problems},
		"two problems of one reason are one event": {
			after: degraded(v1alpha1.ReasonPodsReadyTimeout),
			problems: []order.Problem{
				{Reason: v1alpha1.ReasonPodsReadyTimeout, Message: "group 1 took too long"}, {Reason: v1alpha1.ReasonPodsReadyTimeout, Message: "group 2 took too long"},
			},
			want: []event{{"Warning", "PodsReadyTimeout", "Observe", "group 1 took too long; group 2 took too long", ""}},
		},
		"other problems are conditions only": {after: gate},
	} {
		t.Run(name, func(t *testing.T) {
			got := eventsFor(tc.before, tc.after, tc.problems)
			for i := range got {
				got[i].field = "" // see TestEachGroupHasItsEvents
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

// Of events about the same field client-go writes the first alone, and says how many there were.
func TestEachGroupHasItsEvents(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	var before, after v1alpha1.PodSequenceStatus
	for _, name := range []string{"Database", "Cache", "Queue"} {
		before.Groups = append(before.Groups, v1alpha1.GroupStatus{Name: name, Hash: name})
		after.Groups = append(after.Groups, v1alpha1.GroupStatus{Name: name, Hash: name, ReleasedAt: &at})
	}
	api := fake.NewClientset()
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: api.EventsV1()})
	t.Cleanup(broadcaster.Shutdown)
	require.NoError(t, broadcaster.StartRecordingToSinkWithContext(t.Context()))
	recorder := broadcaster.NewRecorder(scheme.Scheme, reporter)
	for _, e := range eventsFor(before, after, nil) {
		recorder.Eventf(e.regarding(tiers().Obj()), nil, e.kind, e.reason, e.action, "%s", e.note)
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		list, err := api.EventsV1().Events("shop").List(t.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		var notes []string
		for _, e := range list.Items {
			notes = append(notes, e.Note)
		}
		assert.ElementsMatch(c, []string{
			`group 1/3 "Database" is released: its pods may be scheduled`, `group 2/3 "Cache" is released: its pods may be scheduled`,
			`group 3/3 "Queue" is released: its pods may be scheduled`,
		}, notes)
	}, 30*time.Second, 10*time.Millisecond)
}
