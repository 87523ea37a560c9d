package timeline

import (
	"fmt"
	"time"
)

// span writes a duration with its two largest units: what took hours is not told to the second. Zeros at its end are left out.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 0 {
		return "-" + span(-d)
	}
	if d = d.Round(time.Second); d < time.Minute {
		return d.String()
	}
	if d < time.Hour {
		return units(d, time.Minute, "m", time.Second, "s")
	}
	if d = d.Round(time.Minute); d < day {
		return units(d, time.Hour, "h", time.Minute, "m")
	}
	return units(d.Round(time.Hour), day, "d", time.Hour, "h")
}

// units writes how many of a large unit there are, and how many of a small one remain.
func units(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	whole := fmt.Sprintf("%d%s", d/large, largeName)
	if rest := d % large / small; rest > 0 {
		whole += fmt.Sprintf("%d%s", rest, smallName)
	}
	return whole
}
