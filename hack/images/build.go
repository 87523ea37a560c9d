package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// program is one of our programs.
type program struct {
	name string
	// main is its package, relative to the sources.
	main string
	// suffix is what the name of its image ends with.
	suffix string
	about  string
}

// builder builds programs so that two builds of the same sources are the same, in whichever directory they are.
type builder struct {
	// source is the directory of the module.
	source string
	// ldflags are the linker's flags.
	ldflags string
	// out is where programs are put.
	out string
	// wrapper, if set, runs the compiler and says that it is at work.
	wrapper string
}

// build builds a program, and returns what its image consists of and the inventory of what it was built from.
func (b *builder) build(ctx context.Context, p program, platform string) (*contents, *inventory, error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok || goos != "linux" {
		return nil, nil, fmt.Errorf("platform %q: must be linux/ARCHITECTURE, such as linux/amd64", platform)
	}
	executable := filepath.Join(b.out, goarch, p.name)
	command := []string{"go", "build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", b.ldflags, "-o", executable, p.main}
	if b.wrapper != "" {
		command = append([]string{b.wrapper, "building " + p.name + " for " + platform}, command...)
	}
	if err := b.run(ctx, platform, command...); err != nil {
		return nil, nil, fmt.Errorf("build %s for %s: %w", p.name, platform, err)
	}
	licenses, err := b.licenses(ctx, p, platform)
	if err != nil {
		return nil, nil, err
	}
	base, err := baseFiles()
	if err != nil {
		return nil, nil, err
	}
	binary, err := os.ReadFile(executable)
	if err != nil {
		return nil, nil, fmt.Errorf("read program: %w", err)
	}
	inventory, err := takeInventory(executable, licenses)
	if err != nil {
		return nil, nil, err
	}
	return &contents{
		base:     base,
		licenses: licenses.files(),
		program:  []file{{path: p.name, mode: 0o755, content: binary}},
	}, inventory, nil
}

// environment is the same for all who build: a static program, for any processor of its architecture.
func environment(platform string) []string {
	goos, goarch, _ := strings.Cut(platform, "/")
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch, "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off")
}

func (b *builder) run(ctx context.Context, platform string, command ...string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = b.source, environment(platform)
	// The wrapper then ends the compiler.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if b.wrapper != "" {
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	}
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return nil
}

// licenses returns those of all that a program is built from.
func (b *builder) licenses(ctx context.Context, p program, platform string) (licenses, error) {
	packages, err := b.list(ctx, platform, p.main)
	if err != nil {
		return nil, fmt.Errorf("list what %s is built from: %w", p.name, err)
	}
	found, err := collectLicenses(packages)
	if err != nil {
		return nil, fmt.Errorf("licences of %s: %w", p.name, err)
	}
	return found, nil
}

// list returns the packages that a program is built from.
func (b *builder) list(ctx context.Context, platform, main string) ([]goPackage, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=ImportPath,Dir,Standard,Module", main)
	cmd.Dir, cmd.Env = b.source, environment(platform)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, &problems)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("decode what go list says: %w", err)
		}
		packages = append(packages, p)
	}
}

// writeNotices writes into one file the licences of all that a program is built from, on any of the platforms: what comes without an image
// must have them too.
func (b *builder) writeNotices(ctx context.Context, file string, p program, platforms []string) error {
	all := licenses{}
	for _, platform := range platforms {
		found, err := b.licenses(ctx, p, platform)
		if err != nil {
			return err
		}
		for module, texts := range found {
			if all[module] == nil {
				all[module] = map[string][]byte{}
			}
			maps.Copy(all[module], texts)
		}
	}
	if err := os.WriteFile(file, all.notices(p.name), 0o644); err != nil {
		return fmt.Errorf("write licences: %w", err)
	}
	return nil
}
