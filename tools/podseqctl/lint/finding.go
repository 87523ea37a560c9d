// Package lint checks sequences before they do harm: by the rules of the shipped CustomResourceDefinitions, evaluated by the
// library of the API server, and by what only the engine can say about them together with the workloads that they order.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Severity says how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	Error   Severity = "Error"   // the API server refuses it, or pods wait permanently
	Warning Severity = "Warning" // it hardly does what was meant
	Note    Severity = "Note"    // good to know
)

// Finding is one thing to look at.
type Finding struct {
	// Source is the file; empty for what is in the cluster.
	Source string `json:"source,omitempty"`
	// Object names the object, such as: PodSequence shop/backend.
	Object   string   `json:"object"`
	Severity Severity `json:"severity"`
	// Rule is one word that names the rule.
	Rule string `json:"rule"`
	// Message says what is wrong, and the fix.
	Message string `json:"message"`
}

// neverStart ends the message about things that wait for each other.
const neverStart = "none of them ever starts"

// IsCircle reports whether the finding is that things wait for each other.
func (f Finding) IsCircle() bool { return strings.Contains(f.Message, neverStart) }

// Findings are several.
type Findings []Finding

func (f *Findings) add(source, object string, severity Severity, rule, format string, args ...any) {
	*f = append(*f, Finding{source, object, severity, rule, fmt.Sprintf(format, args...)})
}

// Duplicate says that an object of our kinds stands in first already.
func Duplicate(source, first string, object *unstructured.Unstructured) Finding {
	return Finding{source, Name(object), Error, "Duplicate", fmt.Sprintf("it is in %s as well, which is checked; the one that is applied last replaces "+
		"the other: rename or remove one of them", first)}
}

// Count returns how many have a severity.
func (f Findings) Count(severity Severity) int {
	count := 0
	for _, each := range f {
		if each.Severity == severity {
			count++
		}
	}
	return count
}

// Summary says how many there are of each severity.
func (f Findings) Summary() string {
	return fmt.Sprintf("%s, %s, %s", count(f.Count(Error), "error"), count(f.Count(Warning), "warning"), count(f.Count(Note), "note"))
}

// Sort sorts by file and object, the worst first, and drops what is said twice.
func (f Findings) Sort() Findings {
	rank := func(s Severity) int { return slices.Index([]Severity{Error, Warning, Note}, s) }
	slices.SortStableFunc(f, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Object, b.Object), cmp.Compare(rank(a.Severity), rank(b.Severity)),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(f)
}
