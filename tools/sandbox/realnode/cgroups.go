package realnode

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Hierarchy is a mounted cgroup file system.
type Hierarchy struct {
	// Mount is where it is mounted.
	Mount string
	// V2 says that it is the one of version 2.
	V2 bool
	// Options are those to mount a hierarchy of version 1 with, such as "cpu,cpuacct".
	Options string
}

// CgroupName is the name of the cgroup of all nodes of the sandbox in a directory. No other sandbox has the same.
func CgroupName(dir string) string {
	return fmt.Sprintf("podsequence-%x", sha256.Sum256([]byte(dir)))[:len("podsequence-")+12]
}

// Hierarchies lists the cgroup hierarchies of this machine.
func Hierarchies() ([]Hierarchy, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	return parseMounts(string(mounts)), nil
}

// parseMounts finds cgroup hierarchies in what proc_pid_mountinfo(5) describes.
func parseMounts(mounts string) []Hierarchy {
	var hierarchies []Hierarchy
	for line := range strings.Lines(mounts) {
		// After " - " are type, source and options of the file system.
		before, after, _ := strings.Cut(line, " - ")
		mount, system := strings.Fields(before), strings.Fields(after)
		if len(mount) < 5 || len(system) < 3 || !strings.HasPrefix(mount[4], "/sys/fs/cgroup") {
			continue
		}
		switch system[0] {
		case "cgroup2":
			hierarchies = append(hierarchies, Hierarchy{Mount: mount[4], V2: true})
		case "cgroup":
			options := slices.DeleteFunc(strings.Split(system[2], ","), func(option string) bool {
				return slices.Contains([]string{"rw", "ro", "xattr", "clone_children", "noprefix"}, option) || strings.HasPrefix(option, "release_agent=")
			})
			hierarchies = append(hierarchies, Hierarchy{Mount: mount[4], Options: strings.Join(options, ",")})
		}
	}
	return hierarchies
}

// Unified reports whether the machine has cgroups of version 2 only.
func Unified(hierarchies []Hierarchy) bool {
	return len(hierarchies) == 1 && hierarchies[0].V2
}

// Controllers are those that kubelet needs.
func Controllers() []string {
	return []string{"cpu", "cpuset", "memory", "pids"}
}

// MakeCgroup makes a cgroup, and those above it, in each hierarchy.
func MakeCgroup(name string) error {
	hierarchies, err := Hierarchies()
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		dir := h.Mount
		for part := range strings.SplitSeq(name, "/") {
			above := dir
			dir = filepath.Join(dir, part)
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("make cgroup: %w", err)
			}
			if err := prepare(h, hierarchies, above, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// prepare gives a new cgroup what processes in it need.
func prepare(h Hierarchy, all []Hierarchy, above, dir string) error {
	if h.V2 {
		if !Unified(all) || above == h.Mount {
			return nil // Check made sure that the machine's own cgroup has the controllers.
		}
		return EnableControllers(above)
	}
	if !slices.Contains(strings.Split(h.Options, ","), "cpuset") {
		return nil
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		content, err := os.ReadFile(filepath.Join(above, file))
		if err != nil {
			return fmt.Errorf("read processors of cgroup: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o644); err != nil {
			return fmt.Errorf("give processors to cgroup: %w", err)
		}
	}
	return nil
}

// EnableControllers lets the cgroups below one of version 2 have controllers.
func EnableControllers(dir string) error {
	for _, controller := range Controllers() {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0o644); err != nil {
			return fmt.Errorf("enable cgroup controller %s: %w", controller, err)
		}
	}
	return nil
}

// JoinCgroup puts a process into a cgroup of each hierarchy.
func JoinCgroup(name string, pid int) error {
	hierarchies, err := Hierarchies()
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		file := filepath.Join(h.Mount, name, "cgroup.procs")
		if err := os.WriteFile(file, []byte(strconv.Itoa(pid)), 0o644); err != nil {
			return fmt.Errorf("put process into cgroup: %w", err)
		}
	}
	return nil
}

// removalPatience is how long RemoveCgroup waits for processes that have been killed, and removalPause between two attempts. The kernel
// tells nobody when the last one has gone.
const (
	removalPatience = 30 * time.Second
	removalPause    = 20 * time.Millisecond
)

// RemoveCgroup removes a cgroup, and those below it, from each hierarchy. Its processes must have ended, or be about to: it waits for them.
func RemoveCgroup(name string) error {
	hierarchies, err := Hierarchies()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(removalPatience)
	for {
		var errs []error
		for _, h := range hierarchies {
			errs = append(errs, removeTree(filepath.Join(h.Mount, name)))
		}
		err := errors.Join(errs...)
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(removalPause)
	}
}

// removeTree removes the directories of a cgroup from below.
func removeTree(top string) error {
	var dirs []string
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return nil // What is gone by now need not be removed.
	})
	errs := []error{err}
	for _, dir := range slices.Backward(dirs) {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove cgroup: %w", err))
		}
	}
	return errors.Join(errs...)
}
