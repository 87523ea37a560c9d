package integration

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

var (
	podCount  = flag.Int("many-pods", 50_000, "number of pods of BenchmarkManyPods")
	podsPause = flag.Duration("many-pods-pause", 10*time.Second, "time for which BenchmarkManyPods leaves a program alone before it measures it, such as 10s")
)

// BenchmarkManyPods measures what pods cost our programs that run, or that have ended and are still there, and what they cost the
// scheduler without the plugin: kube-scheduler's own informer leaves out those that have ended, whereas the engine must know who has
// completed. One in fifty is in the namespace of the one PodSequence, and in a group of it. Run it with
//
//	go test -run '^$' -bench ManyPods -benchtime 3x -timeout 30m ./test/integration/
//
// and to try it, with -many-pods=1000 at the end.
func BenchmarkManyPods(b *testing.B) {
	for _, pods := range []struct {
		name   string
		status func(*corev1.Pod) corev1.PodStatus
	}{{"running", running}, {"ended", succeeded}} {
		b.Run(pods.name, func(b *testing.B) { benchmarkManyPods(b, pods.status) })
	}
}

func benchmarkManyPods(b *testing.B, status func(*corev1.Pod) corev1.PodStatus) {
	// Without a controller-manager, which removes terminal pods, and without anybody else who would watch them and take
	// part of the two processors.
	env := startCluster(b, controlplane.Options{Components: []string{
		controlplane.Etcd, controlplane.APIServer, controlplane.PodSequenceScheduler, controlplane.PodSequenceController,
	}})
	s := newBenchmark(b, env)
	require.NoError(b, s.Cluster.Kill(s.Ctx, controlplane.PodSequenceController))
	begin := time.Now()
	s.createPlaced(*podCount, status)
	b.Logf("created %d pods in %s", *podCount, time.Since(begin).Round(time.Second))

	on, off := filepath.Join(b.TempDir(), "with-plugin.yaml"), filepath.Join(b.TempDir(), "without-plugin.yaml")
	profiled(b, s.schedulerConfig(), on, func(map[string]any) {})
	profiled(b, s.schedulerConfig(), off, func(config map[string]any) {
		config["profiles"] = []any{map[string]any{"schedulerName": ourScheduler}}
	})
	const (
		scheduler, controller = controlplane.PodSequenceScheduler, controlplane.PodSequenceController
		synced                = "podsequence_engine_synced"
	)
	for _, variant := range []struct {
		name, program string
		config        string // of the scheduler
		sequence      bool
		metric        string // that is there once the program knows all
	}{
		{name: "plugin-off", program: scheduler, config: off, metric: "go_goroutines"},
		{name: "plugin-on-no-sequence", program: scheduler, config: on, metric: synced},
		{name: "plugin-on-one-sequence", program: scheduler, config: on, sequence: true, metric: synced},
		{name: "controller-no-sequence", program: controller, metric: synced},
		{name: "controller-one-sequence", program: controller, sequence: true, metric: synced},
	} {
		b.Run(variant.name, func(b *testing.B) {
			if variant.sequence {
				sequence := s.sequence("import").Label("Import", "tier", "import").Pods("Application", "app").Obj()
				s.Create(sequence)
				b.Cleanup(func() { require.NoError(b, s.API.Delete(s.Ctx, sequence)) })
			}
			var args []string
			if variant.config != "" {
				args = append(args, "--config="+variant.config)
			}
			// Metrics of all of them are read, as users do: what compresses the answer stays in memory, more than a megabyte.
			ready := func() bool {
				return s.status(scheduler, "/readyz") == http.StatusOK && s.Cluster.Metric(s, scheduler, variant.metric) >= 1
			}
			if variant.program == controller { // it is ready when StartComponent returns
				ready = func() bool { return s.Cluster.Metric(s, controller, variant.metric) >= 1 }
			}
			var all []startCost
			for b.Loop() {
				all = append(all, s.startProgram(b, variant.program, ready, args...))
			}
			for unit, of := range map[string]func(startCost) float64{
				"s-until-synced":        func(c startCost) float64 { return c.synced.Seconds() },
				"cpu-s-until-synced":    func(c startCost) float64 { return c.syncedCPU },
				"cpu-s-after-10s":       func(c startCost) float64 { return c.startCPU },
				"cpu-s-idle-10s":        func(c startCost) float64 { return c.idleCPU },
				"peak-MiB":              func(c startCost) float64 { return c.peak },
				"resident-MiB":          func(c startCost) float64 { return c.resident },
				"live-heap-MiB":         func(c startCost) float64 { return c.heap },
				"resident-after-gc-MiB": func(c startCost) float64 { return c.collected },
			} {
				b.ReportMetric(median(all, of), unit)
			}
		})
	}
}

// startCost is what a program took to start, in seconds and MiB.
type startCost struct {
	synced                       time.Duration
	syncedCPU, startCPU, idleCPU float64 // until synced, until 10 s later, and in the 10 s after that
	peak, resident               float64 // until and at 10 s after it was synced
	heap                         float64 // of objects in use; of the scheduler, by a garbage collection after that
	collected                    float64 // resident when the runtime has had 10 s to return what was collected
}

// startProgram starts a program of ours anew and looks at what it takes.
func (s *story) startProgram(b *testing.B, program string, ready func() bool, args ...string) startCost {
	b.Helper()
	// By default long enough for what a start leaves behind, and a figure of its own to compare with.
	while := *podsPause
	cost := startCost{}
	if _, err := s.Cluster.PID(program); err == nil {
		require.NoError(b, s.Cluster.Kill(s.Ctx, program))
	}
	begin := time.Now()
	require.NoError(b, s.Cluster.StartComponent(s.Ctx, program, args...))
	for poll := time.NewTicker(25 * time.Millisecond); !ready(); <-poll.C {
		require.Less(b, time.Since(begin), 2*cluster.Patience, "%s knows all it must know", program)
	}
	cost.synced = time.Since(begin)

	pid, err := s.Cluster.PID(program)
	require.NoError(b, err)
	cost.syncedCPU = cluster.ProcessorTime(b, pid).Seconds()
	<-time.After(while)
	cost.startCPU = cluster.ProcessorTime(b, pid).Seconds()
	cost.peak, cost.resident = memory(b, pid, "VmHWM:"), memory(b, pid, "VmRSS:")
	<-time.After(while)
	cost.idleCPU = cluster.ProcessorTime(b, pid).Seconds() - cost.startCPU
	if program == controlplane.PodSequenceScheduler { // the controller has no such endpoint
		s.Cluster.Fetch(s, program, "/debug/pprof/heap?gc=1") // collects garbage
	}
	cost.heap = s.Cluster.Metric(s, program, "go_memstats_heap_alloc_bytes") / (1 << 20)
	<-time.After(while)
	cost.collected = memory(b, pid, "VmRSS:")
	b.Logf("%+v", cost)
	return cost
}

// createPlaced creates pods that have a node: ten of each Job, spread over fifty namespaces.
func (s *story) createPlaced(count int, status func(*corev1.Pod) corev1.PodStatus) {
	s.Helper()
	namespaces := []string{s.Namespace}
	for i := range 49 {
		name := fmt.Sprintf("other-%d", i)
		s.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		namespaces = append(namespaces, name)
	}
	for _, name := range namespaces {
		s.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "default"}})
	}
	s.atOnce(count, func(i int) error {
		namespace := i % len(namespaces)
		job := fmt.Sprintf("import-%d-%d", namespace, i/(10*len(namespaces)))
		pod := st.MakePod().Namespace(namespaces[namespace]).Name(fmt.Sprintf("import-%d", i)).Node(fmt.Sprintf("node-%d", i%4)).
			Container("example.com/import").Labels(map[string]string{"tier": "import", batchv1.JobNameLabel: job, batchv1.ControllerUidLabel: job}).Obj()
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "batch/v1", Kind: "Job", Name: job, UID: types.UID(job), Controller: new(true), BlockOwnerDeletion: new(true),
		}}
		if err := s.API.Create(s.Ctx, pod); err != nil {
			return err
		}
		pod.Status = status(pod)
		return s.API.Status().Update(s.Ctx, pod)
	})
}

// succeeded is the status that a kubelet gives a pod whose container has done its work.
func succeeded(pod *corev1.Pod) corev1.PodStatus {
	now := metav1.Now()
	status := corev1.PodStatus{
		Phase: corev1.PodSucceeded, QOSClass: pod.Status.QOSClass, StartTime: &now,
		HostIP: "10.0.0.1", HostIPs: []corev1.HostIP{{IP: "10.0.0.1"}}, PodIP: "10.244.0.1", PodIPs: []corev1.PodIP{{IP: "10.244.0.1"}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image, ImageID: "sha256:" + strings.Repeat("0", 64),
			ContainerID: "containerd://" + strings.Repeat("0", 64), Started: new(false),
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now}},
		}},
	}
	for conditionType, is := range map[corev1.PodConditionType]corev1.ConditionStatus{
		corev1.PodReadyToStartContainers: corev1.ConditionFalse, corev1.PodInitialized: corev1.ConditionTrue, corev1.PodReady: corev1.ConditionFalse,
		corev1.ContainersReady: corev1.ConditionFalse, corev1.PodScheduled: corev1.ConditionTrue,
	} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: conditionType, Status: is, Reason: "PodCompleted", LastTransitionTime: now,
		})
	}
	return status
}

// running is the status that a kubelet gives a pod whose container is ready.
func running(pod *corev1.Pod) corev1.PodStatus {
	status := succeeded(pod)
	status.Phase = corev1.PodRunning
	container := &status.ContainerStatuses[0]
	container.Started, container.Ready = new(true), true
	container.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *status.StartTime}}
	for i := range status.Conditions {
		status.Conditions[i].Status, status.Conditions[i].Reason = corev1.ConditionTrue, ""
	}
	return status
}

// schedulerConfig is the path of the configuration that our scheduler runs with.
func (s *story) schedulerConfig() string {
	s.Helper()
	for _, arg := range s.Cluster.Args(s, controlplane.PodSequenceScheduler) {
		if path, ok := strings.CutPrefix(arg, "--config="); ok {
			return path
		}
	}
	s.Fatal("the scheduler has no configuration")
	return ""
}

// profiled copies a configuration of our scheduler with a change, and such that it can be told to collect garbage.
func profiled(b *testing.B, from, to string, change func(config map[string]any)) {
	b.Helper()
	content, err := os.ReadFile(from)
	require.NoError(b, err)
	var config map[string]any
	require.NoError(b, yaml.Unmarshal(content, &config))
	config["enableProfiling"] = true
	change(config)
	content, err = yaml.Marshal(config)
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(to, content, 0o600))
}

// status is the status code that a component answers the administrator with; 0 if it does not answer.
func (s *story) status(component, path string) int {
	s.Helper()
	url, err := s.Cluster.URL(component)
	require.NoError(s, err)
	administrator, err := rest.HTTPClientFor(s.Cluster.Config())
	require.NoError(s, err)
	response, err := administrator.Get(url + path)
	if err != nil {
		return 0
	}
	require.NoError(s, response.Body.Close())
	return response.StatusCode
}

// memory is what a line of a process's status says, in MiB.
func memory(b *testing.B, pid int, word string) float64 {
	b.Helper()
	status, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(b, err)
	defer func() { _ = status.Close() }()
	return field(b, status, word) / 1024
}

// median is that of one figure of several measurements.
func median[T any](all []T, figure func(T) float64) float64 {
	figures := make([]float64, len(all))
	for i := range all {
		figures[i] = figure(all[i])
	}
	slices.Sort(figures)
	return figures[len(figures)/2]
}
