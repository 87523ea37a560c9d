package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticksPerSecond is the unit of the kernel's accounts of processor time, the same on all architectures.
const ticksPerSecond = 100

// usage is the processor time that was used up to now.
type usage struct {
	at time.Time
	// all is that of everybody on this machine, ours that of the cluster and of the benchmark.
	all, ours time.Duration
}

// processorTime is zero where the kernel does not tell.
func (t *testbed) processorTime() usage {
	u := usage{at: time.Now()}
	content, err := os.ReadFile("/proc/stat")
	if err != nil {
		return u
	}
	first, _, _ := bytes.Cut(content, []byte("\n"))
	// user, nice, system, (idle, iowait,) irq, softirq
	fields := strings.Fields(string(first))
	for _, i := range []int{1, 2, 3, 6, 7} {
		if i < len(fields) {
			u.all += ticks(fields[i])
		}
	}
	self := syscall.Rusage{}
	if syscall.Getrusage(syscall.RUSAGE_SELF, &self) == nil {
		u.ours = time.Duration(self.Utime.Nano() + self.Stime.Nano())
	}
	for _, name := range t.components {
		if pid, err := t.cluster.PID(name); err == nil {
			u.ours += processTime(pid)
		}
	}
	return u
}

// processTime is the processor time of one process.
func processTime(pid int) time.Duration {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may have spaces in it.
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	const user, system = 11, 12
	if len(fields) <= system {
		return 0
	}
	return ticks(fields[user]) + ticks(fields[system])
}

func ticks(text string) time.Duration {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second / ticksPerSecond
}

// busy says how many processors were busy since, and how many of them with what is none of ours.
func (u usage) busy(since usage) (all, others float64) {
	took := u.at.Sub(since.at)
	all = float64(u.all-since.all) / float64(took)
	return all, max(0, all-float64(u.ours-since.ours)/float64(took))
}
