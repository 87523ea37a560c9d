package podgroup

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// problem is something that people should know. One of each kind is published for a group, and no other while that one
// lasts: so what is published does not depend on which pods there are at the moment.
type problem struct {
	kind string
	// subject tells the problems of a kind apart. It does not name a pod that may be replaced by another like it.
	subject string
	// unconfirmed problems are not published yet. One that was published lasts while it is unconfirmed.
	unconfirmed bool
	// due is when an unconfirmed problem becomes confirmed if nothing happens; zero for never.
	due    time.Time
	reason string
	pod    *corev1.Pod
	note   func() string
}

// The kinds of problems.
const (
	invalidAnnotation  = "invalid annotation"
	otherAnnotation    = "annotations that disagree"
	conflictingSources = "sources that disagree"
	notReady           = "not ready"
)

func invalidSize(pod *corev1.Pod, text string) problem {
	return problem{kind: invalidAnnotation, subject: shorten(text), reason: EventInvalidSize, pod: pod, note: func() string {
		return fmt.Sprintf("annotation %s of pod %s is %q: it must be a whole number, 1 or greater, and is ignored until it is",
			SizeAnnotation, pod.Name, shorten(text))
	}}
}

func otherSize(first *corev1.Pod, size int, other *corev1.Pod, otherSize int) problem {
	subject := fmt.Sprintf("%d, not %d", size, otherSize)
	return problem{kind: otherAnnotation, subject: subject, reason: EventSizeConflict, pod: other, note: func() string {
		return fmt.Sprintf("annotation %s of pod %s says %d, and that of pod %s says %d: %d counts, from the pod whose name comes first",
			SizeAnnotation, first.Name, size, other.Name, otherSize, size)
	}}
}

// conflicts returns the sources that disagree with the first. A conflict is confirmed when all pods there are run and the group
// is complete according to one of the sources: before that, workloads that make up a group may just not all be there.
func conflicts(sources []sizing, members []*corev1.Pod, running int) []problem {
	first := sources[0]
	complete := first.missing == 0
	var others []sizing
	var sizes []string
	for _, s := range sources[1:] {
		complete = complete || s.missing == 0
		if s.size != first.size {
			others = append(others, s)
			sizes = append(sizes, fmt.Sprintf("%d by %s", s.size, s.source))
		}
	}
	var problems []problem
	for _, other := range others {
		p := problem{
			kind: conflictingSources, subject: first.source + ", not " + other.source, unconfirmed: true,
			reason: EventSizeConflict, note: func() string {
				return fmt.Sprintf("the group has %d pods by %s, but %s: %d counts",
					first.size, first.source, strings.Join(sizes, " and "), first.size)
			},
		}
		if complete && running == len(members) && len(members) > 0 {
			p.unconfirmed, p.pod = false, members[0]
		}
		problems = append(problems, p)
	}
	return problems
}

// maxText is how much is kept of an annotation that is no size. The API server takes 256 KB.
const maxText = 64

// shorten cuts a text of which only the beginning matters to people.
func shorten(text string) string {
	const more = "..."
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText-len(more)], "") + more
}
