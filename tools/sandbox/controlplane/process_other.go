//go:build unix && !linux

package controlplane

import (
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// processAttributes keep the terminal's signals away from a component, so that Ctrl-C leads to an ordered shutdown.
// Components outlive a killed parent here, as only Linux has a parent-death signal; "sandbox down" ends them.
func processAttributes(string, bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// processStartTime returns a number that tells a running process from others that had the same ID.
// A process that has ended but was not reaped yet does not count as running.
func processStartTime(pid int) (uint64, error) {
	output, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, fmt.Errorf("read state of process: %w", err)
	}
	state, started, _ := strings.Cut(strings.TrimSpace(string(output)), " ")
	if strings.HasPrefix(state, "Z") {
		return 0, os.ErrProcessDone
	}
	hash := fnv.New64a()
	hash.Write([]byte(strings.TrimSpace(started)))
	return hash.Sum64(), nil
}
