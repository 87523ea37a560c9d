package timeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSpan(t *testing.T) {
	for name, test := range map[string]struct {
		duration time.Duration
		want     string
	}{
		"nothing":                            {0, "0s"},
		"seconds":                            {9 * time.Second, "9s"},
		"parts of a second are rounded":      {12*time.Second + 575*time.Millisecond, "13s"},
		"a whole minute":                     {time.Minute, "1m"},
		"minutes and seconds":                {12*time.Minute + 35*time.Second, "12m35s"},
		"a whole hour":                       {time.Hour, "1h"},
		"hours have no seconds":              {time.Hour + 5*time.Minute + 10*time.Second, "1h5m"},
		"days have no minutes":               {50*time.Hour + 29*time.Minute, "2d2h"},
		"whole days":                         {72 * time.Hour, "3d"},
		"almost a minute":                    {59*time.Second + 900*time.Millisecond, "1m"},
		"almost an hour":                     {59*time.Minute + 59*time.Second + 900*time.Millisecond, "1h"},
		"almost a day":                       {23*time.Hour + 59*time.Minute + 50*time.Second, "1d"},
		"before the beginning of a timeline": {-90 * time.Second, "-1m30s"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, span(test.duration)) })
	}
}
