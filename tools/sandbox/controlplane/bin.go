package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// binVariable names the environment variable that tells tests where the executables are.
const binVariable = "PODSEQUENCE_BIN"

// FindBin returns the directory of the executables for tests, which do not run from one: $PODSEQUENCE_BIN, or bin/
// of the module that the working directory belongs to.
func FindBin() (string, error) {
	dir := os.Getenv(binVariable)
	if dir == "" {
		root, err := moduleRoot()
		if err != nil {
			return "", fmt.Errorf("find bin directory: %w", err)
		}
		dir = filepath.Join(root, "bin")
	}
	if _, err := os.Stat(filepath.Join(dir, sandboxExecutable)); err != nil {
		return "", fmt.Errorf("find sandbox executable (run make build): %w", err)
	}
	return dir, nil
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find module: no go.mod above the working directory")
		}
		dir = parent
	}
}
