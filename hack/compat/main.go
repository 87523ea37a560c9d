// compat runs the stories of all features on a control plane of another Kubernetes release, and writes what works into
// docs/compatibility.md. `make compat K8S=1.34` builds the control plane and calls it:
//
//	go run ./hack/compat -control-plane bin/compat/1.34 v1.34.4
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	controlPlane := flag.String("control-plane", "", "`DIRECTORY` of the programs of the release; those that the sandbox has if empty")
	some := flag.String("features", "", "`REGEXP` of the features to look at; the results of others are kept")
	page := flag.Bool("page", false, "write docs/compatibility.md from the results that there are, and run nothing")
	flag.Parse()
	if err := compat(flag.Arg(0), *controlPlane, *some, *page); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func compat(release, controlPlane, some string, pageOnly bool) error {
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
	var tried []feature
	for _, f := range features {
		if wanted.MatchString(f.name) && minor >= f.since {
			tried = append(tried, f)
		}
	}
	passed, err := try(tried, minor, controlPlane)
	if err != nil {
		return err
	}
	var failed []string
	for _, f := range tried {
		works := f.works(passed)
		if results.Features[f.name] = works; !works {
			failed = append(failed, f.name)
		}
		fmt.Printf("%-5t %s\n", works, f.name)
	}
	if err := results.write(minor); err != nil {
		return err
	}
	if err := writePage(); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("do not work with Kubernetes %s: %s", release, strings.Join(failed, "; "))
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
