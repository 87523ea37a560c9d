// Package conditions compares conditions of objects with docs/conditions.md, which lists all that our kinds have. Only tests import it.
package conditions

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/test/harness/book"
)

// page is where the tables are.
const page = "docs/conditions.md"

// The headings of the tables.
const (
	OfSequences       = "PodSequence and ClusterPodSequence"
	OfNodes           = "Nodes of a sequence"
	OfSequentialJobs  = "SequentialJob"
	OfCoordinations   = "DeploymentCoordination"
	always, whileTrue = "always", "while true"
)

// Row is what the documentation says of one type of condition.
type Row struct {
	Type, Means, There, Polarity string
	// True and False are the reasons that it has then.
	True, False []string
}

// quoted is a word of code in a cell.
var quoted = regexp.MustCompile("`([A-Za-z]+)`")

// Table returns the rows below a heading.
func Table(t testing.TB, heading string) []Row {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot(t), page))
	require.NoError(t, err)
	parsed, err := book.Parse(page, string(text))
	require.NoError(t, err)
	var rows []Row
	below := false
	for _, line := range parsed.Lines {
		if strings.HasPrefix(line.Text, "#") {
			below = strings.TrimLeft(line.Text, "# ") == heading
			continue
		}
		cells := strings.Split(strings.Trim(line.Text, "| "), "|")
		if !below || !strings.HasPrefix(line.Text, "| `") {
			continue
		}
		for len(cells) < 6 { // the last one is empty
			cells = append(cells, "")
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, Row{
			Type: strings.Trim(cells[0], "`"), Means: cells[1], There: cells[2], Polarity: cells[3], True: words(cells[4]), False: words(cells[5]),
		})
	}
	require.NotEmpty(t, rows, "%s has no table of %s", page, heading)
	return rows
}

func words(cell string) (words []string) {
	for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
		words = append(words, match[1])
	}
	return words
}

// moduleRoot is the folder of the module that the test belongs to.
func moduleRoot(t testing.TB) string {
	t.Helper()
	directory, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(directory, page)); err == nil {
			return directory
		}
		require.NotEqual(t, filepath.Dir(directory), directory, "no %s above the test", page)
		directory = filepath.Dir(directory)
	}
}

// CheckObject fails the test unless the documentation lists all conditions of an object of ours, with their reasons, and the object has
// all that the documentation promises. An object without conditions passes: the controller has not seen it yet.
func CheckObject(t testing.TB, object any) {
	t.Helper()
	of := OfSequences
	switch kind := reflect.Indirect(reflect.ValueOf(object)).Type().Name(); kind {
	case OfSequentialJobs, OfCoordinations:
		of = kind
	}
	status := reflect.Indirect(reflect.ValueOf(object)).FieldByName("Status")
	Check(t, of, status.FieldByName("Conditions").Interface().([]metav1.Condition))
}

// Check is CheckObject for conditions that the table below a heading lists.
func Check(t testing.TB, heading string, of []metav1.Condition) {
	t.Helper()
	if len(of) == 0 {
		return
	}
	rows := Table(t, heading)
	for _, c := range of {
		i := slices.IndexFunc(rows, func(r Row) bool { return r.Type == c.Type })
		if !assert.GreaterOrEqual(t, i, 0, "%s does not list the condition %s of %s", page, c.Type, heading) {
			continue
		}
		reasons := rows[i].True
		if c.Status != metav1.ConditionTrue {
			reasons = rows[i].False
		}
		assert.Contains(t, reasons, c.Reason, "%s lists other reasons of %s=%s of %s", page, c.Type, c.Status, heading)
	}
	for _, r := range rows {
		c := meta.FindStatusCondition(of, r.Type)
		switch {
		case r.There == always:
			assert.NotNil(t, c, "%s says that %s always has the condition %s", page, heading, r.Type)
		case strings.HasPrefix(r.There, whileTrue) && c != nil:
			assert.Equal(t, metav1.ConditionTrue, c.Status, "%s says that %s has the condition %s only while it is true", page, heading, r.Type)
		}
	}
}
