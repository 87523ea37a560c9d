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
// Unless detached, the component is killed when its parent dies.
func processAttributes(detach bool) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setsid: true}
	if !detach {
		attributes.Pdeathsig = syscall.SIGKILL
	}
	return attributes
}

// processStartTime returns when a running process was started, in clock ticks since the machine was.
// A process that has ended but was not reaped yet does not count as running.
func processStartTime(pid int) (uint64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read state of process: %w", err)
	}
	// The second field is the program's name in parentheses and may itself hold spaces and parentheses.
	_, rest, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	fields := bytes.Fields(rest)
	const state, startTime = 0, 19 // the third and the 22nd field of the line
	if !found || len(fields) <= startTime {
		return 0, errors.New("read state of process: too few fields")
	}
	if s := string(fields[state]); s == "Z" || s == "X" {
		return 0, os.ErrProcessDone
	}
	ticks, err := strconv.ParseUint(string(fields[startTime]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read start time of process: %w", err)
	}
	return ticks, nil
}
