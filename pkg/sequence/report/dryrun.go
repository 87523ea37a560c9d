package report

import (
	"time"
)

// DryRun is what a sequence would have held since its dry run began.
type DryRun struct {
	Pods    []string // that would be held now, sorted
	Total   int      // these, and those that would have been held when their groups were released
	Longest time.Duration
}
