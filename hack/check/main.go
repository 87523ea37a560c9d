// Check is what to run before each commit: `make check`. It looks only at what changed.
//
//	go run ./hack/check           # formatting, lint, and the short tests of changed packages and of those that import them
//	go run ./hack/check -modules  # the directories of the Go modules that changed, for `make verify`
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	base := flag.String("base", "", "`COMMIT` since which to look; by default where this branch left origin/main, or HEAD~1 if nothing came after that")
	modules := flag.Bool("modules", false, "only print the directories of the modules that changed")
	flag.Parse()
	if err := run(*base, *modules); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// errFailed is the end of a check that has printed what is wrong.
var errFailed = errors.New("the check failed, see above")

func run(base string, modulesOnly bool) error {
	began := time.Now()
	base, err := since(base)
	if err != nil {
		return err
	}
	files, err := changedFiles(base)
	if err != nil {
		return err
	}
	byModule := byModule(files)
	if modulesOnly {
		for _, module := range slices.Sorted(maps.Keys(byModule)) {
			fmt.Println(module)
		}
		return nil
	}
	fmt.Printf("check: %d files changed since %.8s\n", len(files), base)
	ok := formatted(files)
	for _, module := range slices.Sorted(maps.Keys(byModule)) {
		passed, err := checkModule(module, byModule[module], base)
		if err != nil {
			return err
		}
		ok = ok && passed
	}
	fmt.Printf("check: took %s\n", time.Since(began).Round(time.Second))
	if !ok {
		return errFailed
	}
	return nil
}

// formatted reports whether the changed Go files are, and the changed scripts can be parsed.
func formatted(files []string) bool {
	ok := true
	for _, file := range files {
		switch {
		case strings.HasSuffix(file, ".go"):
			if output, err := output("gofmt", "-l", file); err != nil || output != "" {
				fmt.Printf("not formatted: run gofmt -w %s\n", file)
				ok = false
			}
		case strings.HasSuffix(file, ".sh"), file == ".ci/run":
			ok = shows("bash", "-n", file) && ok
		}
	}
	return ok
}

// checkModule lints what changed in a module, and runs the short tests of the packages that the changes reach.
func checkModule(module string, files []string, base string) (ok bool, err error) {
	all, err := packagesOf(module)
	if err != nil {
		return false, err
	}
	reached := reachedBy(files, all)
	if len(reached.changed) == 0 {
		return true, nil
	}
	if n := len(reached.onControlPlane); n > 0 {
		fmt.Printf("check: left out %d packages of module %s that need a control plane: `make test` runs the most important of their tests\n", n, module)
	}
	fmt.Printf("check: linting %d packages and testing %d packages of module %s\n", len(reached.changed), len(reached.tested), module)
	root, err := os.Getwd()
	if err != nil {
		return false, err
	}
	lint := []string{"-C", module, "tool", "-modfile=" + filepath.Join(root, "hack/tools/go.mod"), "golangci-lint", "run",
		"--config", filepath.Join(root, ".golangci.yaml"), "--new-from-rev=" + base, "--whole-files"}
	for _, directory := range reached.changed {
		relative, err := filepath.Rel(module, directory)
		if err != nil {
			return false, err
		}
		lint = append(lint, "./"+relative)
	}
	ok = shows("go", lint...)
	if len(reached.tested) > 0 {
		// Tests import a loader of Go plugins, Kustomize's, so that by default the C compiler's linker takes part: twice the work.
		test := []string{"-C", module, "test", "-short", "-vet=off", "-ldflags=-linkmode=internal"}
		ok = shows("go", append(test, reached.tested...)...) && ok
	}
	return ok, nil
}

// shows runs a command whose output people see, and reports whether it succeeded.
func shows(name string, args ...string) bool {
	command := exec.Command(name, args...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command.Run() == nil
}

// output runs a command, and returns what it prints without the last line break.
func output(name string, args ...string) (string, error) {
	text, err := exec.Command(name, args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("run %s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimRight(string(text), "\n"), nil
}
