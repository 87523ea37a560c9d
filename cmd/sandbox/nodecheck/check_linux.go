// Package nodecheck finds out whether this machine can have real nodes. It tries what they need, in namespaces that end with the trial.
package nodecheck

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"example.com/podsequence/tools/sandbox/realnode"
)

// Check returns what is in the way of real nodes whose disks are below a directory, which need not exist yet.
func Check(dir string) error {
	if os.Geteuid() != 0 {
		return errors.New("real nodes need root: run this as root")
	}
	if err := checkCgroups(); err != nil {
		return err
	}
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread, and its namespaces, end with the goroutine
		result <- tryNamespaces(dir)
	}()
	return <-result
}

// checkCgroups finds out whether nodes can have cgroups of their own without a change to those of the machine.
func checkCgroups() error {
	hierarchies, err := realnode.Hierarchies()
	if err != nil {
		return err
	}
	has := map[string]bool{}
	if realnode.Unified(hierarchies) {
		const file = "/sys/fs/cgroup/cgroup.subtree_control"
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read cgroup controllers: %w", err)
		}
		for _, controller := range strings.Fields(string(content)) {
			has[controller] = true
		}
		for _, controller := range realnode.Controllers() {
			if !has[controller] {
				return fmt.Errorf("%s lacks %s, which real nodes need; the sandbox does not change it", file, controller)
			}
		}
	} else {
		for _, h := range hierarchies {
			for controller := range strings.SplitSeq(h.Options, ",") {
				has[controller] = true
			}
		}
		for _, controller := range slices.Concat(realnode.Controllers(), []string{"cpuacct", "devices", "freezer"}) {
			if !has[controller] {
				return fmt.Errorf("no cgroup hierarchy below /sys/fs/cgroup has %s, which real nodes need", controller)
			}
		}
	}
	name := realnode.CgroupName(fmt.Sprint("check", os.Getpid()))
	if err := errors.Join(realnode.MakeCgroup(name), realnode.RemoveCgroup(name)); err != nil {
		return fmt.Errorf("real nodes need cgroups of their own: %w", err)
	}
	return nil
}

func tryNamespaces(dir string) error {
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWCGROUP
	if err := unix.Unshare(namespaces); err != nil {
		return fmt.Errorf("real nodes need namespaces of their own: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("real nodes need mounts of their own: %w", err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("real nodes need mounts of their own: %w", err)
	}
	if err := unix.Mount("/run", "/proc/sys/kernel/random", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("real nodes hide the machine's settings by mounts over /proc/sys: %w", err)
	}
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "check"}}); err != nil {
		return fmt.Errorf("real nodes need a network bridge: %w", err)
	}
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "check0"}, PeerName: "check1"}); err != nil {
		return fmt.Errorf("real nodes need virtual Ethernet links: %w", err)
	}
	return tryOverlay(dir)
}

// tryOverlay mounts layers of a container where the nodes' disks will be.
func tryOverlay(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("resolve directory: %w", err)
	}
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			break
		}
		dir = filepath.Dir(dir)
	}
	trial, err := os.MkdirTemp(dir, ".node-check-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(trial) }()
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(trial, name), 0o700); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	merged := filepath.Join(trial, "merged")
	options := fmt.Sprintf("lowerdir=%s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", trial)
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		return fmt.Errorf("containers need overlayfs, which cannot be mounted in %s: %w", dir, err)
	}
	if err := unix.Unmount(merged, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount overlayfs: %w", err)
	}
	return nil
}
