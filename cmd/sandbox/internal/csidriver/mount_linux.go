package csidriver

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mountOnce mounts the directory source at target, unless it is mounted there.
func mountOnce(source, target string) error {
	from, err := os.Stat(source)
	if err != nil {
		return err
	}
	to, err := os.Stat(target)
	if err != nil {
		return err
	}
	if os.SameFile(from, to) {
		return nil
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", source, target, err)
	}
	return nil
}

// unmount ends the mount at target. It is no error if there is none.
func unmount(target string) error {
	err := unix.Unmount(target, unix.MNT_DETACH)
	if err == nil || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return fmt.Errorf("unmount %s: %w", target, err)
}
