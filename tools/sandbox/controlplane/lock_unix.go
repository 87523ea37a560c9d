//go:build unix

package controlplane

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile takes an exclusive lock, which the system gives back if its holder dies. It does not wait.
func lockFile(path string) (release func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		_ = file.Close()
		return nil, errors.New("another process is starting or stopping this sandbox")
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("take lock: %w", err)
	}
	return func() { _ = file.Close() }, nil
}
