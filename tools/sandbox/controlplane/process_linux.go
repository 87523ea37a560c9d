package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// processAttributes keep the terminal's signals away from a component, so that Ctrl-C leads to an ordered shutdown.
// Unless detached, the component is killed when its parent dies. What runs real nodes is asked to end: it has to remove their cgroups.
func processAttributes(name string, detach bool) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setsid: true}
	switch {
	case detach:
	case name == RealNodes:
		attributes.Pdeathsig = syscall.SIGTERM
	default:
		attributes.Pdeathsig = syscall.SIGKILL
	}
	return attributes
}

// processStartTime returns when a running process was started, in clock ticks since the machine was.
// A process that has ended but was not reaped yet does not count as running. One whose first thread has ended still runs
// as long as it has others: until the last is gone, so are not its sockets, and nobody else can have its port.
func processStartTime(pid int) (uint64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read state of process: %w", err)
	}
	// The second field is the program's name in parentheses and may itself hold spaces and parentheses.
	_, rest, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	fields := bytes.Fields(rest)
	const state, threads, startTime = 0, 17, 19 // the third, the 20th and the 22nd field of the line
	if !found || len(fields) <= startTime {
		return 0, errors.New("read state of process: too few fields")
	}
	if s := string(fields[state]); s == "X" || s == "Z" && (string(fields[threads]) == "0" || string(fields[threads]) == "1") {
		return 0, os.ErrProcessDone
	}
	ticks, err := strconv.ParseUint(string(fields[startTime]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read start time of process: %w", err)
	}
	return ticks, nil
}
