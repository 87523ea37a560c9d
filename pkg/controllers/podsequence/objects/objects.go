// Package objects judges whether an object is as a group of a sequence requires. It is pure: it knows no client and no clock. When an
// object gives no clear answer, it counts as not satisfied: to wait longer does no harm that starting too early would not do.
//
// What Current means is decided by kstatus' own library, as in Flux and kpt, with two additions. Kstatus looks at the
// observedGeneration of a status and not at that of a condition, which is all that a Certificate has: Ready of an older generation does
// not make an object Current. And kstatus takes an object of which it knows nothing for Current as soon as it exists. That is right for a
// ConfigMap, and wrong for a Certificate that its controller has not seen yet. So an object that may have a status is not Current before
// it has one:
//
//   - A kind whose resource has a subresource status, as discovery lists it, needs a status that is not empty.
//   - Kinds for which kstatus has rules of its own are judged by these alone, since they look at status themselves. But those whose
//     controllers always write status.observedGeneration need that: an empty status of these looks finished.
//   - A kind without the subresource, such as ConfigMap or Secret, is Current when it exists.
package objects

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/printable"
)

// maxMessage is how many characters a message may have that comes from an object.
const maxMessage = 200

// Verdict says whether an object is as required.
type Verdict struct {
	Satisfied bool
	// Since is when the object became so according to its condition; zero if the object does not say.
	Since time.Time
	// Message says what is missing, if possible in the object's own words; empty if nothing is.
	Message string
}

// Judge says whether the object is as until requires: Current, Exists, or the type of a condition that must be True. With hasStatus the
// kind has a subresource status. Since is never later than now.
func Judge(object *unstructured.Unstructured, until string, hasStatus bool, now time.Time) Verdict {
	if object.GetDeletionTimestamp() != nil {
		return Verdict{Message: "it is being deleted"}
	}
	switch until {
	case v1alpha1.UntilExists:
		return Verdict{Satisfied: true}
	case v1alpha1.UntilCurrent, "":
		return judgeCurrent(object, hasStatus)
	}
	return judgeCondition(object, until, now)
}

// observed are kinds with rules in kstatus whose status is complete only with an observedGeneration, which the rules do not ask for.
var observed = sets.New(
	schema.GroupKind{Group: "apps", Kind: "Deployment"},
	schema.GroupKind{Group: "apps", Kind: "StatefulSet"},
	schema.GroupKind{Group: "apps", Kind: "ReplicaSet"},
	schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"},
)

func judgeCurrent(object *unstructured.Unstructured, hasStatus bool) Verdict {
	// Before kstatus: it stops at objects whose status has another form than it expects.
	hasRules := status.GetLegacyConditionsFn(object) != nil
	if hasStatus && !hasRules && len(statusOf(object)) == 0 {
		return Verdict{Message: "it has no status yet"}
	}
	if _, isSet := generationIn(statusOf(object)); !isSet && observed.Has(object.GroupVersionKind().GroupKind()) {
		return Verdict{Message: "it has no status.observedGeneration yet"}
	}
	result, err := status.Compute(object)
	switch {
	case err != nil:
		return Verdict{Message: Line("its status cannot be read: " + err.Error())}
	case result.Status == status.CurrentStatus:
		if ready := conditionOf(object, "Ready"); !hasRules && ready != nil {
			if generation, isSet := generationIn(ready); isSet && generation < object.GetGeneration() {
				return Verdict{Message: ofOlder("Ready", generation, object)}
			}
		}
		return Verdict{Satisfied: true}
	}
	reason, message := "", result.Message
	for _, condition := range result.Conditions {
		if reason == "" {
			reason = condition.Reason
		}
	}
	return Verdict{Message: Line(result.Status.String() + said(reason, message))}
}

func judgeCondition(object *unstructured.Unstructured, conditionType string, now time.Time) Verdict {
	condition := conditionOf(object, conditionType)
	if condition == nil {
		return Verdict{Message: Line("it has no condition " + conditionType + " yet")}
	}
	if state := text(condition, "status"); state != "True" {
		return Verdict{Message: Line(conditionType + " is " + state + said(text(condition, "reason"), text(condition, "message")))}
	}
	generation, isSet := generationIn(condition)
	if !isSet {
		generation, isSet = generationIn(statusOf(object))
	}
	if isSet && generation < object.GetGeneration() {
		return Verdict{Message: ofOlder(conditionType, generation, object)}
	}
	return Verdict{Satisfied: true, Since: transition(object, condition, now)}
}

// ofOlder says that a condition is True for an older generation of the object.
func ofOlder(conditionType string, generation int64, object *unstructured.Unstructured) string {
	return Line(conditionType + " is True for generation " + strconv.FormatInt(generation, 10) +
		", and the object has generation " + strconv.FormatInt(object.GetGeneration(), 10))
}

// transition is when the condition became True; zero if it does not say, or names a time that cannot be right because it is to come.
func transition(object *unstructured.Unstructured, condition map[string]any, now time.Time) time.Time {
	at, err := time.Parse(time.RFC3339, text(condition, "lastTransitionTime"))
	if err != nil || at.After(now) {
		return time.Time{}
	}
	if created := object.GetCreationTimestamp().Time; at.Before(created) {
		return created // a backup was restored, say: what happened before concerns another object
	}
	return at
}

func conditionOf(object *unstructured.Unstructured, conditionType string) map[string]any {
	conditions, _ := statusOf(object)["conditions"].([]any)
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && text(condition, "type") == conditionType {
			return condition
		}
	}
	return nil
}

// statusOf is the status of the object; empty if it has none, or one that is no map.
func statusOf(object *unstructured.Unstructured) map[string]any {
	found, _ := object.Object["status"].(map[string]any)
	return found
}

// generationIn is the observedGeneration of a condition or a status. Zero is what programs write that do not set it.
func generationIn(fields map[string]any) (generation int64, isSet bool) {
	switch value := fields["observedGeneration"].(type) {
	case int64:
		return value, value != 0
	case float64:
		return int64(value), value != 0
	case string: // some kinds, such as Argo Rollouts, have it as text
		generation, err := strconv.ParseInt(value, 10, 64)
		return generation, err == nil && generation != 0
	}
	return 0, false
}

func text(fields map[string]any, key string) string {
	value, _ := fields[key].(string)
	return value
}

// said is what an object says, to be appended.
func said(reason, message string) string {
	appended := ""
	for _, part := range []string{reason, message} {
		if part != "" {
			appended += ": " + part
		}
	}
	return appended
}

// Line makes a message safe to print, and cuts it after 200 characters.
func Line(message string) string {
	// What is cut off need not be made safe: a message may be as large as an object.
	safe := []rune(printable.Line(first(message, maxMessage+1)))
	if len(safe) > maxMessage {
		safe = append(safe[:maxMessage-1], '…')
	}
	return string(safe)
}

// first returns the first characters of a text.
func first(message string, n int) string {
	for i := range message {
		if n--; n < 0 {
			return message[:i]
		}
	}
	return message
}
