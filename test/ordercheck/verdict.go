package ordercheck

import (
	"fmt"
	"strings"
)

// The exit codes of a verdict.
const (
	ExitClean      = 0
	ExitViolation  = 1
	ExitIncomplete = 2
)

// Verdict is what the referee has to say about everything up to one resource version.
type Verdict struct {
	// ResourceVersion is up to where the verdict reaches.
	ResourceVersion string `json:"resourceVersion"`
	// Violations are the pods bound before their turn, in order.
	Violations []Violation `json:"violations"`
	// FalseRecords are the records in statuses that say of an object what it never was, in order.
	FalseRecords []FalseRecord `json:"falseRecords,omitempty"`
	// Incomplete says why something may have been missed or could not be judged; a verdict with it is never clean.
	Incomplete []string `json:"incomplete,omitempty"`
	// Bindings counts the bindings judged: those of governed members.
	Bindings int `json:"bindings"`
	// Sequences counts the PodSequences seen.
	Sequences int `json:"sequences"`
	// Events counts the changes replayed.
	Events int `json:"events"`
	// BoundBefore counts governed members that were bound when the watch began, which nobody can judge.
	BoundBefore int `json:"boundBefore"`
	// AssumedPasses counts groups that the referee did not see satisfied but believes to be passed, because the status of
	// their sequence said so when the watch began.
	AssumedPasses int `json:"assumedPasses"`
	// Excused counts bindings that only the race allowance excuses.
	Excused int `json:"excused"`
	// Records counts the records of objects that were found true.
	Records int `json:"records,omitempty"`
	// UncheckedRecords says of which records of objects the referee could not find out whether they were true, and why. It believed them.
	UncheckedRecords []string `json:"uncheckedRecords,omitempty"`
}

// Clean says that all was seen and all was right.
func (v Verdict) Clean() bool {
	return v.ExitCode() == ExitClean
}

// ExitCode is what a program that asked for the verdict should exit with. A violation seen stays one, whatever else
// was missed.
func (v Verdict) ExitCode() int {
	switch {
	case len(v.Violations) > 0 || len(v.FalseRecords) > 0:
		return ExitViolation
	case len(v.Incomplete) > 0:
		return ExitIncomplete
	}
	return ExitClean
}

// String returns a line for each violation, one for each reason why the verdict is incomplete, and a closing line.
func (v Verdict) String() string {
	var out strings.Builder
	for _, violation := range v.Violations {
		fmt.Fprintf(&out, "violation: %s\n", violation)
	}
	for _, record := range v.FalseRecords {
		fmt.Fprintf(&out, "violation: %s\n", record)
	}
	for _, reason := range v.Incomplete {
		fmt.Fprintf(&out, "incomplete: %s\n", reason)
	}
	fmt.Fprintf(&out, "judged %s of %s over %s: %s", count(v.Bindings, "binding"), count(v.Sequences, "sequence"),
		count(v.Events, "event"), count(len(v.Violations)+len(v.FalseRecords), "violation"))
	for _, remark := range []string{
		remark(v.BoundBefore, "pod bound before the watch began", "pods bound before the watch began"),
		remark(v.AssumedPasses, "pass assumed", "passes assumed"),
		remark(v.Excused, "binding excused as racing with its sequence", "bindings excused as racing with their sequence"),
		remark(len(v.UncheckedRecords), "record of an object believed unchecked", "records of objects believed unchecked"),
	} {
		out.WriteString(remark)
	}
	if len(v.Incomplete) > 0 {
		out.WriteString("; incomplete, so this is no clean verdict")
	}
	return out.String()
}

func remark(n int, one, many string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; 1 " + one
	}
	return fmt.Sprintf("; %d %s", n, many)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// include adds an audit to the verdict.
func (v *Verdict) include(a audit) {
	switch {
	case a.holds:
		v.Records++
	case a.unclear != "":
		v.UncheckedRecords = append(v.UncheckedRecords, fmt.Sprintf("%s %s at resource version %s, %s: %s",
			a.sequence.kind, a.sequence, a.revision, callObject(a.of), a.unclear))
	default:
		v.FalseRecords = append(v.FalseRecords, FalseRecord{
			Kind: a.sequence.kind, Sequence: a.sequence.String(), Object: a.of, UID: a.uid,
			ResourceVersion: a.revision.String(), Time: a.arrived, Versions: a.versions,
		})
	}
}
