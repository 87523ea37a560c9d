package lint

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What the API server says of unknown fields and of values of a wrong type does not say what to write instead. This does.

// place is a value in an object, and its schema; nil if there is none.
type place struct {
	schema *schema.Structural
	value  any
}

// follow returns the place that a path leads to, such as spec.podGroups[0].name, and the object or list that has it. ok is false if
// the path leads nowhere.
func follow(root place, path string) (at, around place, ok bool) {
	at = root
	for path != "" {
		around = at
		switch value := at.value.(type) {
		case map[string]any:
			path = strings.TrimPrefix(path, ".")
			name := keyOf(value, path)
			if name == "" {
				return place{}, place{}, false
			}
			at, path = place{property(around.schema, name), value[name]}, path[len(name):]
		case []any:
			number, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
			i, err := strconv.Atoi(number)
			if err != nil || i < 0 || i >= len(value) {
				return place{}, place{}, false
			}
			at, path = place{value: value[i]}, rest
			if around.schema != nil {
				at.schema = around.schema.Items
			}
		default:
			return place{}, place{}, false
		}
	}
	return at, around, true
}

// keyOf returns the longest key that a path begins with: keys of labels have dots too.
func keyOf(object map[string]any, path string) string {
	longest := ""
	for key := range object {
		rest, found := strings.CutPrefix(path, key)
		if found && len(key) > len(longest) && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			longest = key
		}
	}
	return longest
}

func property(s *schema.Structural, name string) *schema.Structural {
	if s == nil {
		return nil
	}
	if known, ok := s.Properties[name]; ok {
		return &known
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// unknownField says what to do about a field that does not exist.
func unknownField(root place, path string) *field.Error {
	const noSuchField = "there is no such field: "
	err := field.Forbidden(field.NewPath(path), noSuchField+"correct its name, or remove it")
	at, around, ok := follow(root, path)
	if !ok || around.schema == nil {
		return err
	}
	name := path[strings.LastIndexAny(path, ".]")+1:]
	object, _ := around.value.(map[string]any)
	if meant := similarField(name, around.schema, object); meant != "" {
		known := around.schema.Properties[meant]
		if seconds, isNumber := at.value.(int64); isNumber && isDuration(&known) {
			meant = fmt.Sprintf("%s: %ds", meant, seconds)
		}
		err.Detail = noSuchField + "did you mean " + meant + "?"
	} else if parents := parentsOf(root.schema, "", name); len(parents) == 1 {
		err.Detail = fmt.Sprintf("there is no such field here: it belongs to %s", parents[0])
	}
	return err
}

// aliases are other names that people give to our fields, in lower case, and the fields that they mean.
var aliases = map[string][]string{
	"selector": {"podSelector", "labelSelector"}, "labelselector": {"podSelector"}, "labels": {"podSelector", "labelSelector", "matchLabels"},
	"matchlabels": {"podSelector", "labelSelector"}, "names": {"pods"}, "podnames": {"pods"}, "members": {"pods"},
	"groups": {"podGroups"}, "steps": {"podGroups", "containers"}, "stages": {"podGroups"}, "jobs": {"containers"},
	"after": {"dependsOn"}, "needs": {"dependsOn"}, "requires": {"dependsOn"}, "dependencies": {"dependsOn"}, "waitfor": {"dependsOn"},
	"timeoutseconds": {"timeout", "rolloutTimeoutSeconds"}, "deadline": {"timeout"},
	"delay": {"waitDuration"}, "delayseconds": {"waitDuration"}, "wait": {"waitDuration"}, "waitseconds": {"waitDuration"},
	"minready": {"minAvailable"}, "minreplicas": {"minAvailable"}, "minmember": {"minAvailable"}, "quorum": {"minAvailable"},
	"replicas": {"expectedPods"}, "gate": {"schedulingGateName"}, "schedulinggate": {"schedulingGateName"},
	"targetnamespace": {"namespace"}, "paused": {"suspend"}, "mode": {"enforcementMode"}, "condition": {"requiredStatus", "requiredCondition"}, "conditiontype": {"requiredCondition"},
}

// similarField returns the field that somebody meant by a name that no field has; empty if unknown. It is none that the object has.
func similarField(name string, s *schema.Structural, object map[string]any) string {
	isFree := func(candidate string) bool {
		_, known := s.Properties[candidate]
		_, taken := object[candidate]
		return known && !taken
	}
	wanted := strings.ToLower(name)
	for _, candidate := range aliases[wanted] {
		if isFree(candidate) {
			return candidate
		}
	}
	if candidate := nearest(wanted, slices.Sorted(maps.Keys(s.Properties))); isFree(candidate) {
		return candidate
	}
	return ""
}

// nearest returns the candidate that differs least from a word, without regard to case; empty if all differ in more than every third
// letter.
func nearest(word string, candidates []string) string {
	best, least := "", len(word)/3+1
	for _, candidate := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance is the number of letters to insert, remove, replace or swap with the next one that make one word of the other.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(replaced, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// parentsOf returns the paths of all that has a field of this name, without what only the cluster writes.
func parentsOf(s *schema.Structural, path, name string) []string {
	if s == nil {
		return nil
	}
	var parents []string
	if _, ok := s.Properties[name]; ok && path != "" {
		parents = append(parents, path)
	}
	for _, child := range slices.Sorted(maps.Keys(s.Properties)) {
		if path == "" && (child == "metadata" || child == "status") {
			continue
		}
		known := s.Properties[child]
		parents = append(parents, parentsOf(&known, strings.TrimPrefix(path+"."+child, "."), name)...)
	}
	return append(parents, parentsOf(s.Items, path+"[]", name)...)
}

// explainValue completes an error about a value by what to write instead, if that is known.
func explainValue(root place, err *field.Error) {
	if err.Type != field.ErrorTypeTypeInvalid && err.Type != field.ErrorTypeInvalid {
		return
	}
	at, _, ok := follow(root, err.Field)
	if !ok || at.schema == nil {
		return
	}
	if text, isString := at.value.(string); isString && isDuration(at.schema) {
		if meant := durationMeant(text); meant != "" {
			err.Detail += ": write " + meant
		}
	} else if detail := typeDetail(at); err.Type == field.ErrorTypeTypeInvalid && detail != "" {
		err.BadValue, err.Detail = at.value, detail
	}
}

// typeDetail says how to write a value that has the wrong type; empty if unknown.
func typeDetail(at place) string {
	switch value := at.value.(type) {
	case int64, float64:
		switch {
		case isDuration(at.schema):
			return fmt.Sprintf("must be a duration with its unit: write %vs", value)
		case at.schema.Type == "string":
			return fmt.Sprintf("must be a string: write \"%v\", in quotes", value)
		}
	case bool:
		if at.schema.Type == "string" {
			return fmt.Sprintf("must be a string: write \"%t\", in quotes", value)
		}
	case string:
		_, notNumber := strconv.Atoi(value)
		switch {
		case at.schema.Type == "boolean":
			return "must be true or false, without quotes"
		case at.schema.Type == "integer" && notNumber == nil:
			return fmt.Sprintf("must be a number: write %s, without quotes", value)
		case at.schema.Type == "array" && at.schema.Items.Type == "string":
			return fmt.Sprintf("must be a list: write [%s]", value)
		}
	}
	return ""
}

// isDuration reports whether a value is a duration, such as 1h30m.
func isDuration(s *schema.Structural) bool {
	isAbout := func(rule apiextensionsv1.ValidationRule) bool { return strings.Contains(rule.Rule, "duration(self)") }
	return slices.ContainsFunc(s.XValidations, isAbout)
}

var numberAndUnit = regexp.MustCompile(`^([0-9]{1,6}) *([a-z]*)$`)

// units are what people write after a number, and the unit that it means.
var units = map[string]string{
	"": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s", "min": "m", "mins": "m", "minute": "m", "minutes": "m",
	"hour": "h", "hours": "h", "hr": "h", "hrs": "h", "s": "s", "m": "m", "h": "h",
}

// durationMeant returns the duration that somebody meant, such as 5m for "5 minutes"; empty if unknown.
func durationMeant(text string) string {
	parts := numberAndUnit.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if parts == nil {
		return ""
	}
	if number, err := strconv.Atoi(parts[1]); err == nil && slices.Contains([]string{"d", "day", "days"}, parts[2]) {
		return fmt.Sprintf("%dh", 24*number)
	}
	if unit := units[parts[2]]; unit != "" {
		return parts[1] + unit
	}
	return ""
}
