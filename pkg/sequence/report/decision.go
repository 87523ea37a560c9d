package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/printable"
	"example.com/podsequence/pkg/sequence/readiness"
)

// Decision reports whether a pod may be scheduled now, and if not, what it waits for. The zero value holds nothing.
type Decision struct {
	// Held reports whether the pod must wait.
	Held bool
	// Sequence is the PodSequence that holds it, or, without a namespace, the ClusterPodSequence, and Group the 0-based index of the group it waits for. When several
	// hold it, it is the first by namespace and name.
	Sequence types.NamespacedName
	Group    int

	// Of HeldUntilCreated, Sequence does not exist. Of HeldUntilSelected, it has only the namespace.
	Reason Reason
	Groups int    // of the sequence
	Title  string // of the group
	// Overridden reports that an annotation suspends the sequence.
	Overridden bool
	// Others are the titles of the groups that it waits for besides.
	Others  []string
	Need    readiness.Need
	Failure string    // which members of the group failed, and how to replace them; empty if none did
	Until   time.Time // when its wait is over
	Node    string    // on which the group is looked at; empty for the cluster
	// NodeTrouble says that the node is not ready, or is cordoned; empty if it is neither.
	NodeTrouble  string
	NodeNotReady bool
	// SchedulerNames are the schedulers that would support the pod, if Reason is HeldUnsupported.
	SchedulerNames []string
}

// Reason says why a pod is held.
type Reason uint8

const (
	HeldByGroup Reason = iota
	HeldByWait
	HeldByTimeout
	HeldBySuspension
	HeldByUnknownNode // the node it asks for does not exist
	HeldUnseen        // the engine has yet to learn of the pod
	HeldUnrecorded    // the group is ready, and its pass is not recorded yet
	HeldUnsupported
	HeldUntilCreated  // its label names a PodSequence that does not exist
	HeldUntilSelected // its namespace requires a sequence, and none selects it
)

// waitingPrefix begins every message of a held pod.
const waitingPrefix = "waiting for "

// NameOf names a PodSequence, or a ClusterPodSequence if the key has no namespace, as messages do.
func NameOf(key types.NamespacedName) string {
	if key.Namespace == "" {
		return "ClusterPodSequence " + key.Name
	}
	return "PodSequence " + key.String()
}

// AwaitsSequence reports whether the pod waits for a sequence that does not exist.
func (d Decision) AwaitsSequence() bool {
	return d.Held && (d.Reason == HeldUntilCreated || d.Reason == HeldUntilSelected)
}

// Recording reports whether the pod waits only until a pass is recorded.
func (d Decision) Recording() bool { return d.Held && d.Reason == HeldUnrecorded }

// nothingMatched is said in the message of a pod of a group that nothing matches.
const nothingMatched = "no pod matched it when this was written"

// Message says in words what a held pod waits for. The pod shows it until it waits for another group, or something matches a group
// that nothing matched. That is written a moment later, if at all, so what the message says of it is said of the moment of writing.
func (d Decision) Message() string {
	if d.Need.NothingMatches() {
		return printable.Line(d.message(nothingMatched))
	}
	return d.MessageNow()
}

// MessageNow is Message for readers who see it at once.
func (d Decision) MessageNow() string { return printable.Line(d.message(d.Need.String())) }

func (d Decision) message(progress string) string {
	if !d.Held {
		return ""
	}
	if d.Failure != "" {
		progress += "; " + d.Failure
	}
	on := ""
	if d.Node != "" {
		on = " on node " + d.Node
	}
	group := fmt.Sprintf("group %d/%d %q of %s", d.Group+1, d.Groups, d.Title, NameOf(d.Sequence))
	switch d.Reason {
	case HeldByWait:
		return fmt.Sprintf(waitingPrefix+"%s%s: ready, its waitDuration ends at %s%s", group, on, d.Until.UTC().Format(time.RFC3339), d.others())
	case HeldByTimeout:
		return fmt.Sprintf(waitingPrefix+"%s%s, which did not become ready within its timeout: %s%s", group, on, progress, d.others())
	case HeldBySuspension:
		if d.Overridden {
			return fmt.Sprintf(waitingPrefix+"%s, which is suspended: remove its annotation %s to go on", NameOf(d.Sequence), v1alpha1.SuspendAnnotation)
		}
		return fmt.Sprintf(waitingPrefix+"%s, which is suspended: set spec.suspend to false to go on", NameOf(d.Sequence))
	case HeldByUnknownNode:
		return fmt.Sprintf(waitingPrefix+"%s%s: this node does not exist yet", group, on)
	case HeldUnseen:
		return fmt.Sprintf(waitingPrefix+"%s: the watch of pods has not brought this pod yet", NameOf(d.Sequence))
	case HeldUnrecorded:
		return fmt.Sprintf(waitingPrefix+"%s: ready, its pass is being recorded%s", group, d.others())
	case HeldUntilCreated:
		return fmt.Sprintf(waitingPrefix+"%s, which does not exist: create it, or remove the label %s from the pod template",
			NameOf(d.Sequence), v1alpha1.SequenceLabel)
	case HeldUntilSelected:
		return fmt.Sprintf(waitingPrefix+"a PodSequence that selects this pod: namespace %s requires one (annotation %s)",
			d.Sequence.Namespace, v1alpha1.RequireSequenceAnnotation)
	case HeldUnsupported:
		return fmt.Sprintf(waitingPrefix+"podsequence-scheduler: only it supports scope Node of %s; %s", NameOf(d.Sequence), supportScopeNode(d.SchedulerNames))
	}
	if d.NodeTrouble != "" {
		progress += "; " + d.NodeTrouble
	}
	return fmt.Sprintf(waitingPrefix+"%s%s: %s%s", group, on, progress, d.others())
}

// others names the groups that the pod waits for besides.
func (d Decision) others() string {
	const most = 2
	if len(d.Others) == 0 {
		return ""
	}
	names := make([]string, min(most, len(d.Others)))
	for i := range names {
		names[i] = strconv.Quote(d.Others[i])
	}
	text := "; also waiting for " + strings.Join(names, ", ")
	if more := len(d.Others) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// FilterMessage is the Message for one of many nodes: it is the same for all nodes that lack the same.
func (d Decision) FilterMessage() string {
	if d.Reason == HeldBySuspension || d.AwaitsSequence() {
		return d.Message()
	}
	text := fmt.Sprintf("node(s) waiting for group %d/%d %q of %s", d.Group+1, d.Groups, d.Title, NameOf(d.Sequence))
	if d.Need.Lacks != "" {
		text += ": " + d.Need.Lacks
	}
	if d.NodeNotReady {
		text += " while the node is not ready"
	}
	return text
}
