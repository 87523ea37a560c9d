package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// ticksPerSecond is the unit of the kernel's accounts of processor time, the same on all architectures.
const ticksPerSecond = 100

// usage is the processor time that was used up to now.
type usage struct {
	at time.Time
	// all is that of everybody on this machine, ours that of the benchmark and of each process of its cluster.
	all  time.Duration
	ours map[int]time.Duration
}

// usageNow is that of the benchmark and of these components of its cluster. It is zero where the kernel does not tell.
func usageNow(cluster *controlplane.Cluster, components []string) usage {
	u := usage{at: time.Now(), ours: map[int]time.Duration{os.Getpid(): processTime(os.Getpid())}}
	content, err := os.ReadFile("/proc/stat")
	if err != nil {
		return u
	}
	first, _, _ := bytes.Cut(content, []byte("\n"))
	// user, nice, system, (idle, iowait,) irq, softirq, and what other machines on the same hardware took
	fields := strings.Fields(string(first))
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		if i < len(fields) {
			u.all += ticks(fields[i])
		}
	}
	for _, name := range components {
		if pid, err := cluster.PID(name); err == nil {
			u.ours[pid] = processTime(pid)
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

// busy returns how many processors were busy since, and how many of them with what is none of ours. What a process used
// that has ended meanwhile counts as none of ours.
func (u usage) busy(since usage) (all, others float64) {
	ours := time.Duration(0)
	for pid, used := range u.ours {
		ours += used - since.ours[pid]
	}
	took := float64(u.at.Sub(since.at))
	all = float64(u.all-since.all) / took
	return all, max(0, all-float64(ours)/took)
}

// busyWith returns how many processors were busy with one program since. It is 0 if the program began again meanwhile.
func (u usage) busyWith(since usage, cluster *controlplane.Cluster, program string) float64 {
	pid, err := cluster.PID(program)
	if _, known := since.ours[pid]; err != nil || !known {
		return 0
	}
	return float64(u.ours[pid]-since.ours[pid]) / float64(u.at.Sub(since.at))
}
