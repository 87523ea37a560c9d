package schedulerperf

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

const (
	stopwatchName = "Stopwatch"
	// measuredNamespace holds the pods that are measured.
	measuredNamespace = "measured"
)

// stopwatch is a plugin that notes when pods were bound, and how much processor time was spent until then. scheduler_perf itself
// looks once a second, which is too coarse for differences of a hundredth. All variants have it.
type stopwatch struct {
	lock        sync.Mutex
	bound       int
	first, last reading
}

type reading struct {
	at time.Time
	// spent is the processor time of this process, which runs the scheduler and the API server, but not etcd.
	spent time.Duration
}

func read() reading {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(fmt.Sprintf("a process can always ask for its own usage: %v", err))
	}
	return reading{time.Now(), time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}
}

var _ fwk.PostBindPlugin = &stopwatch{}

func (w *stopwatch) plugin(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
	return w, nil
}

// Name returns the name of the plugin.
func (w *stopwatch) Name() string { return stopwatchName }

// PostBind notes the time.
func (w *stopwatch) PostBind(_ context.Context, _ fwk.CycleState, pod *corev1.Pod, _ string) {
	if pod.Namespace != measuredNamespace {
		return
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	w.last = read()
	if w.bound == 0 {
		w.first = w.last
	}
	w.bound++
}

// took returns the time from the first binding to the last one.
func (w *stopwatch) took() time.Duration { return w.last.at.Sub(w.first.at) }

// spent returns the processor time from the first binding to the last one.
func (w *stopwatch) spent() time.Duration { return w.last.spent - w.first.spent }
