package inventory

import (
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/podgroups"
)

// Pod holds the facts of a pod. There may be very many, so what many pods have alike and what few pods have is kept apart, and fields of
// the same size are together.
type Pod struct {
	*common // see Interner

	Name            string
	UID             types.UID
	ResourceVersion string
	Labels          Labels
	OwnerUID        types.UID // of its controller; empty if it has none
	Node            string    // empty while it has none

	// conditions are those that are True; nil if none is.
	conditions *conditions
	// started is since when it has started, see hasStarted.
	started Timestamp

	CreatedAt Timestamp
	// BoundAt is when the pod got its node, as the API server says, or else when it was created; zero while it has none.
	BoundAt Timestamp
	// ReadyAt is when Ready last became true, as the API says: not before the pod was created and bound, whatever the kubelet's clock
	// says. It is zero while the pod is not ready, and if the API does not say when.
	ReadyAt Timestamp
	// steadyAt is ReadyAt, or, if that was in the future, when it was first seen. It is zero while the pod is not ready.
	steadyAt Timestamp
	// nodeCreatedAt is when its node was created; zero while that is not known.
	nodeCreatedAt Timestamp

	Terminating bool
	OwnerKnown  bool // its controller is of a kind in the table of workload kinds
	Nominated   bool // it has no node, and room is kept for it on one (status.nominatedNodeName)
	GateLifted  bool // a gate of it was lifted when it was released, and that was seen: set by the caller that enters the pod
	// Mirror reports that kubelet made it of a static pod: no scheduler placed it, nobody can hold it, and no controller replaces it.
	Mirror bool
	// Hook reports that it is a hook that no order concerns, as its own annotations say, see IsUnorderedHook. OfHook reports that the Job
	// that owns it is one, as far as that Job is known: set by the caller that enters the pod.
	Hook, OfHook bool
	Failed       bool // or ended by its kubelet, see wasEndedByKubelet
	Succeeded    bool
	Ready        bool // condition Ready, or succeeded
	Crashing     bool // some container, sidecars aside, is restarted again and again, see isCrashing
	Unprobed     bool // none of its containers, sidecars aside, has a readiness probe
	hasStarted   bool // its phase is Running or Succeeded
	nodeGone     bool // it is bound to a node that does not exist
}

// common is what many pods have alike. It is never written to: they share it.
type common struct {
	Namespace, SchedulerName string

	gates     []string
	podGroups []podgroups.Reference
	pin       *Pin // nil if it asks for no node in particular, and once it has one
}

var noPod = &Pod{common: &common{}}

// NoPod returns the facts of a pod of which nothing is known. They are read-only.
func NoPod() *Pod { return noPod }

// ViewPod reads the facts of a pod.
func ViewPod(p *corev1.Pod) Pod {
	view := Pod{
		common:          viewCommon(p),
		Name:            p.Name,
		UID:             p.UID,
		ResourceVersion: p.ResourceVersion,
		CreatedAt:       TimestampOf(p.CreationTimestamp.Time),
		Labels:          LabelsOf(p.Labels),
		Terminating:     p.DeletionTimestamp != nil,
		Node:            p.Spec.NodeName,
		Nominated:       p.Spec.NodeName == "" && p.Status.NominatedNodeName != "",
		Mirror:          IsMirror(p),
		Hook:            IsUnorderedHook(p.Annotations),
		Failed:          HasFailed(p),
		Succeeded:       HasSucceeded(p),
		Unprobed:        isUnprobed(p),
		Crashing:        isCrashing(p),
	}
	if view.Bound() {
		if view.BoundAt = TimestampOf(boundAt(p)); view.BoundAt == 0 {
			view.BoundAt = view.CreatedAt
		}
	}
	if ref := metav1.GetControllerOfNoCopy(p); ref != nil {
		view.OwnerUID, view.OwnerKnown = ref.UID, isWorkload(ref)
	}
	ready, since := readiness(p)
	if !since.IsZero() {
		// A kubelet's clock may be wrong. The API server says when the pod was created and bound.
		since = latest(since, latest(p.CreationTimestamp.Time, boundAt(p)))
	}
	view.Ready, view.ReadyAt = ready, TimestampOf(since)
	if !view.Failed { // the kubelet may leave stale conditions behind
		view.viewAttained(p)
	}
	return view
}

// SeenAt notes when this version was seen, and which version was known before; nil if none was.
func (p *Pod) SeenAt(now time.Time, before *Pod) {
	p.steadyAt = p.ReadyAt
	switch seen := TimestampOf(now.Truncate(time.Second)); {
	case !p.Ready:
		p.steadyAt = 0
	case before != nil && before.UID == p.UID && before.Ready && before.ReadyAt == p.ReadyAt:
		p.steadyAt = before.steadyAt
	case p.steadyAt == 0 || (p.steadyAt > seen && seen != 0):
		p.steadyAt = seen
	}
}

// SteadySince returns since when the pod is ready without a break: a time in the future counts as that at which it was first seen, as
// does none.
func (p *Pod) SteadySince() Timestamp { return p.notBeforeNode(p.steadyAt) }

// isCrashing reports whether a container is restarted again and again. Between two crashes it runs for a moment. A pod that stopped being
// ready while its container ran did so for another reason, however often the container crashed before.
func isCrashing(p *corev1.Pod) bool {
	stopped := time.Time{} // being ready
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse {
			stopped = c.LastTransitionTime.Time
		}
	}
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
		switch running, waiting := status.State.Running, status.State.Waiting; {
		case waiting != nil && waiting.Reason == crashLoop:
			return true
		case running != nil && stopped.After(running.StartedAt.Time):
			return false
		}
		return status.RestartCount > 1 && status.LastTerminationState.Terminated != nil
	})
}

// crashLoop is why the kubelet waits before it restarts a container.
const crashLoop = "CrashLoopBackOff"

// isUnprobed reports whether none of the pod's containers has a readiness probe. Sidecars are among the init containers, and do not
// matter: that one of them is ready says nothing of the others.
func isUnprobed(p *corev1.Pod) bool {
	return !slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.ReadinessProbe != nil })
}

// boundAt is when the pod got its node, as the API server notes in the condition PodScheduled; zero if it does not say.
func boundAt(p *corev1.Pod) time.Time {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

func viewCommon(p *corev1.Pod) *common {
	c := &common{Namespace: p.Namespace, SchedulerName: p.Spec.SchedulerName, podGroups: podgroups.Of(p)}
	for _, gate := range p.Spec.SchedulingGates {
		c.gates = append(c.gates, gate.Name)
	}
	if p.Spec.NodeName == "" {
		if pin := pinOf(&p.Spec); pin.IsOne() {
			c.pin = &pin
		}
	}
	return c
}

// readiness reports whether the pod has what a group waits for, and since when: the Ready condition, or, for a pod that
// will never be Ready again because it did its work, phase Succeeded.
func readiness(p *corev1.Pod) (ready bool, since time.Time) {
	switch {
	case wasEndedByKubelet(p):
		return false, time.Time{}
	case p.Status.Phase == corev1.PodSucceeded:
		return true, finishedAt(p)
	case p.Status.Phase == corev1.PodFailed:
		return false, time.Time{} // the kubelet may leave a stale Ready condition behind
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return true, c.LastTransitionTime.Time
		}
	}
	return false, time.Time{}
}

// wasEndedByKubelet reports whether a kubelet ended the pod before its work was done, because the node had too little memory, was shut
// down, or had to make room for a critical pod. The phase is Succeeded if all programs exited 0 when they were asked to stop, and
// Failed otherwise. Both mean the same: a ReplicaSet replaces either.
func wasEndedByKubelet(p *corev1.Pod) bool {
	if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
		return false
	}
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonTerminationByKubelet
	})
}

// finishedAt is when the last container ended.
func finishedAt(p *corev1.Pod) time.Time {
	var last time.Time
	for i := range p.Status.ContainerStatuses {
		if t := p.Status.ContainerStatuses[i].State.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return last
}

// Bound reports whether the pod has a node.
func (p *Pod) Bound() bool { return p.Node != "" }

// IsMirror reports whether kubelet made the pod of a static pod, as a file on its node says. Its owner is that Node.
func IsMirror(p *corev1.Pod) bool {
	_, is := p.Annotations[corev1.MirrorPodAnnotationKey]
	return is && p.Spec.NodeName != ""
}

// HasFailed reports whether a pod ended before its work was done: its phase is Failed, or its kubelet ended it.
func HasFailed(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed || wasEndedByKubelet(p) }

// HasSucceeded reports whether a pod ended because its work was done.
func HasSucceeded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded && !wasEndedByKubelet(p)
}

// IsUnordered reports whether the pod is of a hook that no order concerns.
func (p *Pod) IsUnordered() bool { return p.Hook || p.OfHook }

// IsReplaced reports whether a pod failed and its controller replaces it, as IsReplaced of its facts does.
func IsReplaced(p *corev1.Pod) bool {
	return HasFailed(p) && metav1.GetControllerOfNoCopy(p) != nil && !IsMirror(p)
}

// IsReplaced reports whether the pod failed and its controller replaces it. The Node that owns a mirror pod replaces nothing.
func (p *Pod) IsReplaced() bool { return p.Failed && p.OwnerUID != "" && !p.Mirror }

// IsLost reports whether the pod failed and is not replaced.
func (p *Pod) IsLost() bool { return p.Failed && p.OwnerUID == "" }

// Gates returns the scheduling gates that the pod carries.
func (c *common) Gates() []string { return c.gates }

// HasGate reports whether the pod carries a scheduling gate.
func (c *common) HasGate(name string) bool { return slices.Contains(c.gates, name) }

// PodGroups returns the PodGroups that the pod names.
func (c *common) PodGroups() []podgroups.Reference { return c.podGroups }

// Pin returns the one node that the pod asks for; zero if it asks for none in particular, and once it has one.
func (c *common) Pin() Pin {
	if c.pin == nil {
		return Pin{}
	}
	return *c.pin
}

// equal reports whether both say the same.
func (c *common) equal(other *common) bool {
	return c.Namespace == other.Namespace && c.SchedulerName == other.SchedulerName && slices.Equal(c.gates, other.gates) &&
		slices.Equal(c.podGroups, other.podGroups) && c.Pin() == other.Pin()
}

// key is the same for pods that have the same.
func (c *common) key() string {
	var key strings.Builder
	key.WriteString(c.Namespace)
	key.WriteByte(0)
	key.WriteString(strconv.Quote(c.SchedulerName)) // no API server checks which characters it has
	for _, gate := range c.gates {
		key.WriteString(gate)
		key.WriteByte(0)
	}
	for _, group := range c.podGroups {
		key.WriteByte(1)
		key.WriteString(group.String())
	}
	if c.pin != nil {
		key.WriteByte(2)
		key.WriteString(strconv.Quote(c.pin.Node) + strconv.Quote(c.pin.Host))
	}
	return key.String()
}

// SameMembership reports whether both versions belong to the same groups of any sequences, and count there the same way.
func (p *Pod) SameMembership(other *Pod) bool {
	return p.Terminating == other.Terminating && p.Hook == other.Hook && p.OwnerUID == other.OwnerUID && p.OwnerKnown == other.OwnerKnown &&
		p.Labels.Equal(&other.Labels) && slices.Equal(p.PodGroups(), other.PodGroups())
}

// SameVerdict reports whether what is said of one version of a pod without a node holds for the other: both belong to the same
// groups, and ask for the same node.
func (p *Pod) SameVerdict(other *Pod) bool {
	return p.SameMembership(other) && p.Pin() == other.Pin()
}

// CountsAs reports whether another version of the pod differs in nothing that any sequence looks at. To count it anew would take
// as long as it has sequences, and people may annotate pods as often as they like. A nomination changes nothing for any sequence.
func (p *Pod) CountsAs(other *Pod) bool {
	return p.UID == other.UID && p.SameMembership(other) && p.Node == other.Node && p.BoundAt == other.BoundAt && p.SchedulerName == other.SchedulerName &&
		p.Mirror == other.Mirror && p.Failed == other.Failed && p.Succeeded == other.Succeeded && p.Ready == other.Ready &&
		p.nodeGone == other.nodeGone && p.nodeCreatedAt == other.nodeCreatedAt && p.Unprobed == other.Unprobed && p.Crashing == other.Crashing &&
		p.ReadyAt == other.ReadyAt && p.CreatedAt == other.CreatedAt &&
		slices.Equal(p.Gates(), other.Gates()) && p.Pin() == other.Pin()
}

// viewAttained reads what the pod has reached that few groups ask for.
func (p *Pod) viewAttained(object *corev1.Pod) {
	reached := func(at time.Time) Timestamp {
		if !at.IsZero() {
			at = latest(at, latest(object.CreationTimestamp.Time, boundAt(object)))
		}
		return TimestampOf(at)
	}
	if object.Status.Phase == corev1.PodRunning || object.Status.Phase == corev1.PodSucceeded {
		p.hasStarted, p.started = true, reached(startedAt(object))
	}
	var types []string
	for i := range object.Status.Conditions {
		if c := &object.Status.Conditions[i]; isTrue(c) {
			types = append(types, string(c.Type))
		}
	}
	if types == nil {
		return
	}
	p.conditions = &conditions{&types, make([]Timestamp, 0, len(types))}
	for i := range object.Status.Conditions {
		if c := &object.Status.Conditions[i]; isTrue(c) {
			p.conditions.attained = append(p.conditions.attained, reached(c.LastTransitionTime.Time))
		}
	}
}

// Reached returns whether, and since when, the pod has what is required of it. What succeeded did its work: the end of its node does not
// take that back.
func (p *Pod) Reached(required Requirement) Reached {
	r := p.reachedAnywhere(required)
	r.NodeGone = r.Done && p.nodeGone && !p.Succeeded
	r.Done, r.Since = r.Done && !r.NodeGone, p.notBeforeNode(r.At)
	return r
}

// notBeforeNode returns the time, or when the pod's node was created, if that was later: before, the pod counted for nothing. It returns
// zero for zero.
func (p *Pod) notBeforeNode(at Timestamp) Timestamp {
	if at == 0 || p.Succeeded {
		return at
	}
	return max(at, p.nodeCreatedAt)
}

// reachedAnywhere is Reached on any node.
func (p *Pod) reachedAnywhere(required Requirement) Reached {
	switch {
	case required.Condition != "":
		return p.conditions.reached(required.Condition)
	case required.Status == v1alpha1.RequireStarted:
		return Reached{Done: p.hasStarted, At: p.started}
	case required.Status == v1alpha1.RequireComplete:
		return Reached{Done: p.Succeeded, At: p.ReadyAt}
	}
	return Reached{Done: p.Ready, At: p.ReadyAt}
}

// FollowNode notes whether the pod's node exists, and when it was created, see Reached, and shares its name. node is nil while it is not known; exists reports
// whether there may be such a node.
func (p *Pod) FollowNode(node *Node, exists bool) {
	p.nodeGone = p.Bound() && !exists
	if p.nodeCreatedAt = 0; node != nil {
		p.nodeCreatedAt, p.Node = TimestampOf(node.Object.CreationTimestamp.Time), node.Name
	}
}

// SameOnNode reports whether the same version of the pod, as it was before its node changed, has reached the same.
func (p *Pod) SameOnNode(before *Pod) bool {
	return p.nodeGone == before.nodeGone && p.nodeCreatedAt == before.nodeCreatedAt
}

// Renew takes over from another version of the pod, that counts as this one, what does not matter to any sequence or is not kept with
// what does. The pod shares what others have.
func (p *Pod) Renew(newer *Pod, shared *Interner) {
	p.ResourceVersion, p.Nominated = newer.ResourceVersion, newer.Nominated
	p.nodeGone, p.nodeCreatedAt = newer.nodeGone, newer.nodeCreatedAt
	p.hasStarted, p.started, p.conditions = newer.hasStarted, newer.started, newer.conditions
	shared.internConditions(p)
}

// DaemonRevision returns the revision of a DaemonSet's pod: the generation and the hash of the template that it was made from. It is
// empty for a pod without that generation, which no DaemonSet of today makes.
func (p *Pod) DaemonRevision() string {
	generation, has := p.Labels.Lookup(templateGenerationLabel)
	if !has {
		return ""
	}
	return generation + "/" + p.Labels.Get(appsv1.DefaultDaemonSetUniqueLabelKey)
}
