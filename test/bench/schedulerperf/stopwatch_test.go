package schedulerperf

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

const (
	stopwatchName = "Stopwatch"
	// measuredNamespace has the pods that are measured.
	measuredNamespace = "measured"
)

// stopwatch is a plugin that notes when pods were bound. scheduler_perf itself looks once a second, which is too coarse for
// differences of a hundredth. All variants have it.
type stopwatch struct {
	lock        sync.Mutex
	bound       int
	first, last time.Time
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
	w.last = time.Now()
	if w.bound == 0 {
		w.first = w.last
	}
	w.bound++
}

// took returns the time from the first binding to the last one.
func (w *stopwatch) took() time.Duration { return w.last.Sub(w.first) }
