package writes

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// volatile are the fields of a status that no two runs have alike. So are times.
var volatile = []string{"uid", "observedUID", "discardedJob", "usedSeconds", "generation", "message", "hash", "templateHash"}

func ownedName(object metav1.Object) string {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return "of " + owner.Kind + " " + owner.Name
	}
	return object.GetName()
}

// line is a kind, a name, and what is true.
type line []string

func (l *line) add(is bool, format string, args ...any) {
	if is {
		*l = append(*l, fmt.Sprintf(format, args...))
	}
}

// stable is a value of a status without what no two runs have alike.
func stable(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, field := range v {
			if text, isText := field.(string); slices.Contains(volatile, key) || key == "observedGeneration" || isText && isTime(text) {
				continue
			}
			if passes, isMap := field.(map[string]any); key == "passes" && isMap {
				field = slices.Collect(maps.Values(passes)) // by hashes, which name the namespace
			}
			kept[key] = stable(field)
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i := range v {
			kept[i] = stable(v[i])
		}
		return kept
	}
	return value
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}
