// Package containerlogs reads what containers on real nodes said, and judges the order of pods by it. It asks no API: neither a
// kubelet nor a program of PodSequence wrote these lines.
package containerlogs

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The words that the program cmd/sandbox/workload begins its lines with.
const (
	Started = "STARTED"
	Ready   = "READY"
	Exit    = "EXIT"
	Stopped = "STOPPED"
)

// Line is a line of one container.
type Line struct {
	// Time is the one that the program printed or, if it printed none, the one at which the container runtime read the line.
	Time time.Time
	// Node, Namespace, Pod, UID and Container name the container. Restart counts its starts before this one.
	Node, Namespace, Pod, UID, Container string
	Restart                              int
	// Text is the line without its time.
	Text string
}

// Is reports whether the line begins with the word.
func (l Line) Is(word string) bool {
	first, _, _ := strings.Cut(l.Text, " ")
	return first == word
}

// String is the line as people read it.
func (l Line) String() string {
	return fmt.Sprintf("%s %s %s/%s[%d] %s", l.Time.UTC().Format("15:04:05.000"), l.Node, l.Pod, l.Container, l.Restart, l.Text)
}

// Lines are sorted by time.
type Lines []Line

// String is the merged log.
func (ls Lines) String() string {
	var b strings.Builder
	for _, l := range ls {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}

// Where returns the lines of which all conditions hold.
func (ls Lines) Where(conditions ...Condition) Lines {
	var found Lines
	for _, l := range ls {
		if !slices.ContainsFunc(conditions, func(holds Condition) bool { return !holds(l) }) {
			found = append(found, l)
		}
	}
	return found
}

// Pods are the names of the pods that said something, sorted.
func (ls Lines) Pods() []string {
	var names []string
	for _, l := range ls {
		names = append(names, l.Pod)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Condition selects lines.
type Condition func(Line) bool

// Of selects the lines of pods whose names begin with one of the prefixes: all pods of an owner.
func Of(prefixes ...string) Condition {
	return func(l Line) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(l.Pod, prefix) })
	}
}

// On selects the lines of pods on a node.
func On(node string) Condition { return func(l Line) bool { return l.Node == node } }

// Saying selects the lines that begin with the word.
func Saying(word string) Condition { return func(l Line) bool { return l.Is(word) } }

// Since selects the lines at and after a time.
func Since(t time.Time) Condition { return func(l Line) bool { return !l.Time.Before(t) } }

// TooEarly returns what is wrong if every pod of the second group should have started only after all pods of the first
// were ready: it names each STARTED line of the second that comes before the first READY line of a pod of the first. A group without
// lines is wrong, too.
func TooEarly(first, second Lines) []string {
	if len(first) == 0 {
		return []string{"no pod of the first group said anything"}
	}
	starts := second.Where(Saying(Started))
	if len(starts) == 0 {
		return []string{"no pod of the second group said " + Started}
	}
	var wrong []string
	for _, pod := range first.Pods() {
		ready := first.Where(func(l Line) bool { return l.Pod == pod }, Saying(Ready))
		for _, start := range starts {
			switch {
			case len(ready) == 0:
				wrong = append(wrong, fmt.Sprintf("%s started, and %s was never ready", start.Pod, pod))
			case start.Time.Before(ready[0].Time):
				wrong = append(wrong, fmt.Sprintf("%s started at %s, %s before %s was ready", start.Pod,
					start.Time.UTC().Format("15:04:05.000"), ready[0].Time.Sub(start.Time), pod))
			}
		}
	}
	return wrong
}
