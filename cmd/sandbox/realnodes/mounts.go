//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"example.com/podsequence/tools/sandbox/realnode"
)

// mountNode turns what this process sees of the machine into what a node sees.
func mountNode(config *realnode.Config, node realnode.Node) error {
	// Nothing that is mounted from here on is seen by the machine.
	if err := mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	// They may be below a directory that is about to be hidden.
	bin, err := os.Open(config.Bin)
	if err != nil {
		return fmt.Errorf("open programs of the node: %w", err)
	}
	defer func() { _ = bin.Close() }()
	disk, err := os.Open(config.Disk(node))
	if err != nil {
		return fmt.Errorf("open disk of the node: %w", err)
	}
	defer func() { _ = disk.Close() }()
	for _, dir := range []string{"/run", "/tmp", "/opt"} {
		if err := mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
			return err
		}
	}
	if err := os.Chmod("/tmp", 0o1777|fs.ModeSticky); err != nil {
		return fmt.Errorf("make /tmp: %w", err)
	}
	for file, dir := range map[*os.File]string{bin: nodeBin, disk: nodeDisk} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make directory of the node: %w", err)
		}
		if err := bind("/proc/self/fd/"+strconv.Itoa(int(file.Fd())), dir); err != nil {
			return err
		}
	}
	for from, to := range map[string]string{"lib": "/var/lib", "log": "/var/log"} {
		if err := bind(filepath.Join(nodeDisk, from), to); err != nil {
			return err
		}
	}
	if err := hideMachine(); err != nil {
		return err
	}
	if err := mountCgroups(); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(node.Name)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	// Containers may ask for what is mounted later, and for others to see what they mount.
	return mount("", "/", "", unix.MS_SHARED|unix.MS_REC, "")
}

// hideMachine mounts files of the node over those that would show the machine, or change it.
func hideMachine() error {
	files := map[string]string{
		"/etc/machine-id":                 "etc/machine-id",
		"/proc/sys/kernel/random/boot_id": "etc/proc/boot_id",
	}
	for name := range sysctls {
		files["/proc/sys/"+name] = "etc/proc/" + filepath.Base(name)
	}
	for to, from := range files {
		if _, err := os.Stat(to); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := bind(filepath.Join(nodeDisk, from), to); err != nil {
			return err
		}
	}
	// Where kubelet looks if there is no /etc/machine-id.
	id, err := os.ReadFile(filepath.Join(nodeDisk, "etc/machine-id"))
	if err != nil {
		return fmt.Errorf("read ID of the node: %w", err)
	}
	if err := os.MkdirAll("/var/lib/dbus", 0o755); err != nil {
		return fmt.Errorf("write ID of the node: %w", err)
	}
	if err := os.WriteFile("/var/lib/dbus/machine-id", id, 0o644); err != nil {
		return fmt.Errorf("write ID of the node: %w", err)
	}
	return nil
}

const cgroupRoot = "/sys/fs/cgroup"

// mountCgroups mounts the node's own cgroups as the roots of all hierarchies.
func mountCgroups() error {
	hierarchies, err := realnode.Hierarchies()
	if err != nil {
		return err
	}
	// What is mounted here now has the machine's.
	for _, h := range slices.Backward(hierarchies) {
		if err := unix.Unmount(h.Mount, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", h.Mount, err)
		}
	}
	if realnode.Unified(hierarchies) {
		return mountUnified()
	}
	if err := mount("tmpfs", cgroupRoot, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755"); err != nil {
		return err
	}
	for _, h := range hierarchies {
		if err := os.MkdirAll(h.Mount, 0o755); err != nil {
			return fmt.Errorf("make directory for cgroups: %w", err)
		}
		system := "cgroup"
		if h.V2 {
			system = "cgroup2"
		}
		if err := mount(system, h.Mount, system, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, h.Options); err != nil {
			return err
		}
	}
	return nil
}

// mountUnified mounts the one hierarchy of version 2. A cgroup whose children have controllers must have no processes of its own.
func mountUnified() error {
	if err := mount("cgroup2", cgroupRoot, "cgroup2", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	leaf := filepath.Join(cgroupRoot, "init")
	if err := os.MkdirAll(leaf, 0o755); err != nil {
		return fmt.Errorf("make cgroup: %w", err)
	}
	if err := os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte("1"), 0o644); err != nil {
		return fmt.Errorf("enter cgroup: %w", err)
	}
	return realnode.EnableControllers(cgroupRoot)
}

func bind(from, to string) error {
	return mount(from, to, "", unix.MS_BIND, "")
}

func mount(source, target, system string, flags uintptr, options string) error {
	if err := unix.Mount(source, target, system, flags, options); err != nil {
		return fmt.Errorf("mount %s on %s: %w", source, target, err)
	}
	return nil
}
