// compat runs the stories of all features on a control plane of another Kubernetes release, and writes what works into
// docs/versions.md. `make compat K8S=1.34` builds the control plane and calls it:
//
//	go run ./test/compat -control-plane bin/compat/1.34 v1.34.4
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// outDirectory is where compiled tests are, and what they print.
const outDirectory = "bin/compat/tests"

func main() {
	controlPlane := flag.String("control-plane", "", "`DIRECTORY` with the control plane programs of the release; if empty, those of the sandbox")
	some := flag.String("features", "", "test only the features that match this `REGEXP`; results of the others are kept")
	commit := flag.String("commit", "", "`COMMIT` that is tried, for the page")
	page := flag.Bool("page", false, "only write docs/versions.md from the stored results")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := compat(ctx, flag.Arg(0), *commit, *controlPlane, *some, *page)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func compat(ctx context.Context, release, commit, controlPlane, some string, pageOnly bool) error {
	if pageOnly {
		return writePage()
	}
	wanted, err := regexp.Compile(some)
	if err != nil {
		return fmt.Errorf("read -features: %w", err)
	}
	minor, err := minorOf(release)
	if err != nil {
		return err
	}
	results, err := readResults(minor)
	if err != nil {
		return err
	}
	if results.Release != release {
		results = newResults(release) // those of another patch release prove nothing
	}
	if some == "" || results.Commit == "" {
		results.Commit = commit
	}
	var tried []feature
	for _, f := range features {
		if wanted.MatchString(f.name) && minor >= f.since {
			tried = append(tried, f)
		}
	}
	record := newRecord(minor, results, tried)
	t := &trial{release: release, minor: minor, controlPlane: controlPlane, out: outDirectory, record: record}
	if err := t.run(ctx, tried); err != nil {
		return err
	}
	if len(record.failed) > 0 {
		return fmt.Errorf("do not work with Kubernetes %s: %s", release, strings.Join(record.failed, "; "))
	}
	return nil
}

// minorOf is 34 of v1.34.4.
func minorOf(release string) (int, error) {
	parts := strings.Split(strings.TrimPrefix(release, "v"), ".")
	if len(parts) != 3 || parts[0] != "1" {
		return 0, fmt.Errorf("release %q is not of the form v1.MINOR.PATCH", release)
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0, fmt.Errorf("release %q is not of the form v1.MINOR.PATCH: %w", release, err)
	}
	return minor, nil
}
