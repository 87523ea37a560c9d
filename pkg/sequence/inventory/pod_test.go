package inventory

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestATimestampIsTheTimeOfTheAPI(t *testing.T) {
	for name, test := range map[string]struct{ time, want time.Time }{
		"none":                     {},
		"a second":                 {time: time.Unix(1_800_000_000, 0)},
		"a clock that was not set": {time: time.Unix(0, 0), want: time.Unix(1, 0)},
		"the last year":            {time: time.Date(2105, 12, 31, 23, 59, 59, 0, time.UTC)},
		"before the zero time":     {time: time.Unix(math.MinInt32*1_000_000, 0), want: time.Unix(1, 0)},
		"after the last year":      {time: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), want: time.Date(2106, 1, 1, 0, 0, 0, 0, time.UTC)},
		"less than a second":       {time: time.Unix(1_800_000_000, 1), want: time.Unix(1_800_000_000, 0)},
		"a time in another region": {time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))},
	} {
		t.Run(name, func(t *testing.T) {
			want := test.want
			if want.IsZero() {
				want = test.time
			}
			got := TimestampOf(test.time).Time()
			assert.True(t, want.Equal(got), "%s, want %s", got, want)
			assert.Equal(t, want.IsZero(), got.IsZero())
			assert.Equal(t, TimestampOf(test.time), TimestampOf(got))
		})
	}
}
