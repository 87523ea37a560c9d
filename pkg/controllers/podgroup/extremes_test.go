package podgroup

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/internal/podgroups"
)

// TestExtremeNumbersKeepAGroupUnready sees that no sum of sizes, however large, looks like one that is reached.
func TestExtremeNumbersKeepAGroupUnready(t *testing.T) {
	for _, size := range []string{"", "2147483647", "2147483648", "-2147483648", "9223372036854775807", "1e9"} {
		for _, minimum := range []int32{0, math.MaxInt32} {
			for _, desired := range []int{math.MinInt32, -1, 0, math.MaxInt32} {
				t.Run(fmt.Sprintf("size %q, minimum %d, desired %d", size, minimum, desired), func(t *testing.T) {
					edits := []podEdit{inCoscheduling("gang"), inNative("gang"), ownedBy("job")}
					if size != "" {
						edits = append(edits, sized(size))
					}
					w := worldOf(pod("a", edits...), pod("b", inCoscheduling("other"), ownedBy("other"))).
						minimum(podgroups.Coscheduling, "gang", minimum).minimum(podgroups.Coscheduling, "other", minimum).
						minimum(podgroups.Native, "gang", minimum).
						workload("job", desired).workload("other", desired, func(w *workload) { w.succeeded = math.MaxInt32 })
					d := decide(w)
					if size == "2147483647" || minimum > 0 || desired > 1 {
						assert.Empty(t, d.label)
						assert.NotEmpty(t, d.why)
					}
				})
			}
		}
	}
}
