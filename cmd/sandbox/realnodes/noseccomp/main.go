// Noseccomp runs the runc beside it, without the seccomp profiles of containers: kubelet gives one to each pod's sandbox, and a runc
// that is built without libseccomp refuses it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	if i := slices.Index(os.Args, "--bundle"); i > 0 && i+1 < len(os.Args) {
		if err := dropProfile(filepath.Join(os.Args[i+1], "config.json")); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find runc: %w", err)
	}
	runc := filepath.Join(filepath.Dir(self), "runc")
	if err := syscall.Exec(runc, append([]string{runc}, os.Args[1:]...), os.Environ()); err != nil {
		return fmt.Errorf("run %s: %w", runc, err)
	}
	return nil
}

// dropProfile removes the seccomp profile from the specification of a container, and keeps everything else as it is.
func dropProfile(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read specification of container: %w", err)
	}
	var spec, linux map[string]json.RawMessage
	if err := json.Unmarshal(content, &spec); err != nil {
		return fmt.Errorf("decode specification of container: %w", err)
	}
	if err := json.Unmarshal(spec["linux"], &linux); err != nil {
		return fmt.Errorf("decode specification of container: %w", err)
	}
	if _, ok := linux["seccomp"]; !ok {
		return nil
	}
	delete(linux, "seccomp")
	if spec["linux"], err = json.Marshal(linux); err != nil {
		return fmt.Errorf("encode specification of container: %w", err)
	}
	if content, err = json.Marshal(spec); err != nil {
		return fmt.Errorf("encode specification of container: %w", err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return fmt.Errorf("write specification of container: %w", err)
	}
	return nil
}
