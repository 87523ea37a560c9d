package main

import "fmt"

// outcomes say of tests that ended whether they passed, by the directory that they are in.
type outcomes map[string]map[string]bool

// record keeps what is known of features, and writes it when it becomes known: a run that is cut off loses nothing.
type record struct {
	minor   int
	results *results
	tests   outcomes
	// open are the features of which nothing is known yet.
	open []feature
	// failed are the names of those that do not work.
	failed []string
}

func newRecord(minor int, results *results, features []feature) *record {
	return &record{minor: minor, results: results, tests: outcomes{}, open: features}
}

// ended takes the end of a test down.
func (r *record) ended(directory, test string, passed bool) error {
	if r.tests[directory] == nil {
		r.tests[directory] = map[string]bool{}
	}
	r.tests[directory][test] = passed
	if !passed {
		fmt.Printf("      test/%s: %s failed\n", directory, test)
	}
	return r.settle()
}

// closed says that no more of these tests will end: those that did not end failed.
func (r *record) closed(tests run) error {
	for _, test := range tests.tests {
		if _, over := r.tests[tests.directory][test]; !over {
			if err := r.ended(tests.directory, test, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle writes what has become known.
func (r *record) settle() error {
	var open []feature
	for _, f := range r.open {
		works, known := f.outcome(r.tests)
		if !known {
			open = append(open, f)
			continue
		}
		r.results.Features[f.name] = works
		if !works {
			r.failed = append(r.failed, f.name)
		}
		fmt.Printf("%-5t %s\n", works, f.name)
	}
	if len(open) == len(r.open) {
		return nil
	}
	r.open = open
	if err := r.results.write(r.minor); err != nil {
		return err
	}
	return writePage()
}
