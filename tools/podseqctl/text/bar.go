package text

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// barWidth is the number of characters of a bar.
const barWidth = 10

// Bar draws how much of a whole is done, such as [#####.....] 1/2. More than the whole counts as the whole.
func Bar(done, whole int) string {
	filled := 0
	switch {
	case whole <= 0:
		if done > 0 {
			filled = barWidth
		}
	default:
		filled = barWidth * min(max(done, 0), whole) / whole
	}
	return fmt.Sprintf("[%s%s] %d/%d", strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), done, whole)
}

// Age says how long ago something was, as kubectl does; a dash if it never was.
func Age(at, now time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(0, now.Sub(at)))
}

// Names lists the first few names, and counts the others.
func Names(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
