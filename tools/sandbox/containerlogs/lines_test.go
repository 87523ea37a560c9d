package containerlogs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// said is a line that a pod said so many seconds after noon.
func said(pod string, second float64, text string) Line {
	return Line{Time: noon.Add(time.Duration(second * float64(time.Second))), Node: "real-0", Pod: pod, Container: "main", Text: text}
}

func TestTooEarly(t *testing.T) {
	for name, test := range map[string]struct {
		first, second Lines
		want          []string
	}{
		"a pod that starts after all pods of the first group are ready": {
			first:  Lines{said("db-0", 0, "STARTED serve"), said("db-1", 0, "STARTED serve"), said("db-0", 1, "READY"), said("db-1", 2, "READY")},
			second: Lines{said("app", 2, "STARTED serve")},
		},
		"a pod that starts before one of them is ready": {
			first:  Lines{said("db-0", 1, "READY"), said("db-1", 2.5, "READY")},
			second: Lines{said("app", 2, "STARTED serve")},
			want:   []string{"app started at 12:00:02.000, 500ms before db-1 was ready"},
		},
		"a pod that starts although one of them never is ready": {
			first:  Lines{said("db-0", 1, "READY"), said("db-1", 1, "STARTED serve")},
			second: Lines{said("app", 2, "STARTED serve")},
			want:   []string{"app started, and db-1 was never ready"},
		},
		"a restart of the first group later": {
			first:  Lines{said("db", 1, "READY"), said("db", 3, "EXIT 1"), said("db", 4, "STARTED serve"), said("db", 5, "READY")},
			second: Lines{said("app", 2, "STARTED serve")},
		},
		"the second start of a pod whose first one was too early": {
			first:  Lines{said("db", 3, "READY")},
			second: Lines{said("app", 2, "STARTED serve"), said("app", 4, "STARTED serve")},
			want:   []string{"app started at 12:00:02.000, 1s before db was ready"},
		},
		"a first group that said nothing": {
			second: Lines{said("app", 2, "STARTED serve")},
			want:   []string{"no pod of the first group said anything"},
		},
		"a second group that never started": {
			first:  Lines{said("db", 1, "READY")},
			second: Lines{said("app", 2, "FAILED")},
			want:   []string{"no pod of the second group said STARTED"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, TooEarly(test.first, test.second))
		})
	}
}

func TestConditionsSelectLines(t *testing.T) {
	db, app := said("db-0", 1, "READY"), said("app-7f", 2, "STARTED serve")
	app.Node = "real-1"
	lines := Lines{db, app}
	assert.Equal(t, Lines{app}, lines.Where(Of("app-", "web-"), Saying(Started)))
	assert.Equal(t, Lines{app}, lines.Where(On("real-1")))
	assert.Equal(t, Lines{app}, lines.Where(Since(app.Time)))
	assert.Empty(t, lines.Where(Of("db-"), Saying(Started)))
	assert.Equal(t, []string{"app-7f", "db-0"}, lines.Pods())
	assert.Equal(t, "12:00:01.000 real-0 db-0/main[0] READY\n12:00:02.000 real-1 app-7f/main[0] STARTED serve\n", lines.String())
}
