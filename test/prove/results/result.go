// Package results keeps what came of each seed, so that a run can be continued, and writes the page about it.
package results

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Result is what came of one seed.
type Result struct {
	Seed   uint64    `json:"seed"`
	Commit string    `json:"commit"`
	Began  time.Time `json:"began"`
	// Took is how long it took in all, Recovery from the last fault until nothing was wrong any more.
	Took     time.Duration `json:"took"`
	Recovery time.Duration `json:"recovery"`
	Steps    int           `json:"steps"`
	// Faults counts them by kind: verb and program.
	Faults map[string]int `json:"faults,omitempty"`
	// Bindings were judged by the referee, Excused of them only for a race; Asked is what had to be so at the end.
	Bindings int `json:"bindings"`
	Excused  int `json:"excused"`
	// Raced are pods of other schedulers that lost their gate within two seconds of an edit, or of a new sequence, that would have
	// held them.
	Raced int `json:"raced,omitempty"`
	Asked int `json:"asked"`
	// Restless are the objects that still changed when the judge stopped looking.
	Restless []string `json:"restlessObjects,omitempty"`
	// Violations are all that was wrong.
	Violations []string `json:"violations,omitempty"`
}

// Crash is what came of kills just before or just after one kind of write.
type Crash struct {
	Program  string        `json:"program"`
	Method   string        `json:"method"`
	Resource string        `json:"resource"`
	What     string        `json:"what"`
	After    bool          `json:"after"`
	Commit   string        `json:"commit"`
	Took     time.Duration `json:"took"`
	Kills    int           `json:"kills"`
	Rounds   int           `json:"rounds"`
	// Violations say how the end differs from that without kills.
	Violations []string `json:"violations,omitempty"`
}

// String sums the result up in one line.
func (c Crash) String() string {
	outcome := "the end is the same"
	if n := len(c.Violations); n > 0 {
		outcome = fmt.Sprintf("VIOLATED %d times", n)
	}
	return fmt.Sprintf("%s killed %s %s %s (%s), %d times in %d rounds and %s: %s", c.Program, when(c.After), c.Method, c.Resource, c.What,
		c.Kills, c.Rounds, c.Took.Round(time.Second), outcome)
}

func when(after bool) string {
	if after {
		return "after"
	}
	return "before"
}

// Store is a file with a line for each result.
type Store[T any] struct{ Path string }

// Load returns all results so far.
func (s Store[T]) Load() ([]T, error) {
	file, err := os.Open(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer func() { _ = file.Close() }()
	var all []T
	const longest = 16 << 20
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		var r T
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			continue // the last line of a run that was killed
		}
		all = append(all, r)
	}
	return all, lines.Err()
}

// Add appends a result.
func (s Store[T]) Add(r T) error {
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	file, err := os.OpenFile(s.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	_, err = file.Write(append(content, '\n'))
	return errors.Join(err, file.Close())
}

// String sums the result up in one line.
func (r Result) String() string {
	outcome := "kept"
	if n := len(r.Violations); n > 0 {
		outcome = fmt.Sprintf("VIOLATED %d times", n)
	}
	faults := sortedKeys(r.Faults)
	if len(faults) == 0 {
		faults = []string{"none"}
	}
	if len(r.Restless) > 0 {
		outcome += " but restless (" + strings.Join(r.Restless, ", ") + ")"
	}
	return fmt.Sprintf("seed %d: %s in %s; %d steps, %d bindings judged, %d things asked for, recovered in %s; faults: %s", r.Seed, outcome,
		r.Took.Round(time.Second), r.Steps, r.Bindings, r.Asked, r.Recovery.Round(100*time.Millisecond), strings.Join(faults, ", "))
}
