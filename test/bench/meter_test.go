package bench

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// Figures of rows that compare whole ways to start in order.
const (
	untilReady    = "until all pods are ready s"
	apiRequests   = "API requests"
	apiProcessor  = "processor of the API server s"
	restProcessor = "processor of everything else s"
	loadAtStart   = "load average at the start"
	othersShare   = "processors used by others"
	early         = "pods ready before their turn"
)

// quietNote is part of the rows whose times depend on what else the machine has to do.
const quietNote = "Times depend on what else the machine does, requests do not: the load average at the start, most of which is the turn before, " +
	"and how many of the processors others used meanwhile are among the figures."

// meter measures what a way to start in order asks of the machine and of the API server, from its start on.
type meter struct {
	s *site
	// programs are the components beside the API server whose processor time counts.
	programs []string
	began    time.Time
	used     map[string]time.Duration
	// machine is what all processes had until then, and self this one.
	machine, self time.Duration
	load          float64
}

func (s *site) startMeter(programs []string) *meter {
	s.b.Helper()
	m := &meter{s: s, programs: programs, load: s.loadAverage()}
	m.machine, m.self, m.used = s.machineTime(), selfTime(), s.processorTimes(programs)
	m.began = time.Now()
	return m
}

// loadAverage is how many processes wanted a processor, over the last minute.
func (s *site) loadAverage() float64 {
	s.b.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	require.NoError(s.b, err)
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	require.NoError(s.b, err)
	return load
}

// machineTime returns how much processor time all processes of the machine have had.
func (s *site) machineTime() time.Duration {
	s.b.Helper()
	stat, err := os.ReadFile("/proc/stat")
	require.NoError(s.b, err)
	busy, err := busyTime(string(stat))
	require.NoError(s.b, err)
	return busy
}

// busyTime adds all of the first line of /proc/stat, but for idle time, waiting for disks, and what is counted twice there.
func busyTime(stat string) (time.Duration, error) {
	first, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(first)
	const idle, waiting, steal = 4, 5, 8
	if len(fields) <= steal {
		return 0, fmt.Errorf("/proc/stat has %d fields for all processors", len(fields))
	}
	sum := 0
	for i := 1; i <= steal; i++ {
		if i == idle || i == waiting {
			continue
		}
		ticks, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0, fmt.Errorf("read /proc/stat: %w", err)
		}
		sum += ticks
	}
	return time.Duration(sum) * (time.Second / 100), nil
}

func TestBusyTimeOfTheMachine(t *testing.T) {
	for name, tc := range map[string]struct {
		stat     string
		want     time.Duration
		mistaken bool
	}{
		"idle time and waiting for disks is not busy": {"cpu  100 20 30 999 999 1 2 47 5 5\ncpu0 1 1 1 1 1 1 1 1 1 1\n", 2 * time.Second, false},
		"what is cut off is no measurement":           {"cpu  100 20 30", 0, true},
		"what is not a number is no measurement":      {"cpu  100 20 x 999 999 1 2 47 5 5\n", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := busyTime(tc.stat)
			assert.Equal(t, tc.mistaken, err != nil, "%v", err)
			assert.Equal(t, tc.want, got)
		})
	}
}

// selfTime returns how much processor time the benchmark has had.
func selfTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0 // which cannot be, for this process
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// processorTimes returns how much processor time the API server and these programs have had, by name.
func (s *site) processorTimes(programs []string) map[string]time.Duration {
	s.b.Helper()
	times := map[string]time.Duration{}
	for _, program := range append([]string{controlplane.APIServer}, programs...) {
		pid, err := s.PID(program)
		require.NoError(s.b, err, "%s has ended", program)
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		require.NoError(s.b, err)
		times[program], err = ticksOf(string(stat))
		require.NoError(s.b, err)
	}
	return times
}

// ticksOf reads utime and stime of /proc/PID/stat. The kernel counts them in hundredths of a second there.
func ticksOf(stat string) (time.Duration, error) {
	// The name of the program is in parentheses, and may have any character itself.
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, errors.New("/proc/PID/stat has no name of a program")
	}
	fields := strings.Fields(stat[end+1:])
	const utime, stime = 11, 12
	if len(fields) <= stime {
		return 0, fmt.Errorf("/proc/PID/stat has %d fields after the name", len(fields))
	}
	sum := 0
	for _, field := range fields[utime : stime+1] {
		ticks, err := strconv.Atoi(field)
		if err != nil {
			return 0, fmt.Errorf("read /proc/PID/stat: %w", err)
		}
		sum += ticks
	}
	return time.Duration(sum) * (time.Second / 100), nil
}

func TestProcessorTimeOfAProcess(t *testing.T) {
	for name, tc := range map[string]struct {
		stat     string
		want     time.Duration
		mistaken bool
	}{
		"user and system time are added":            {"7 (etcd) S 1 7 7 0 -1 4194560 900 0 1 0 150 50 3 4 20 0 9 0", 2 * time.Second, false},
		"a name may have any character":             {"7 (a) b (c)) S 1 7 7 0 -1 4194560 9 0 1 0 1 2 3 4 20 0 9 0", 30 * time.Millisecond, false},
		"what is cut off is no measurement":         {"7 (etcd) S 1 7", 0, true},
		"what has no name is no measurement":        {"7 etcd S 1 7 7 0 -1 4194560 900 0 1 0 150 50", 0, true},
		"what is not a number is not a measurement": {"7 (etcd) S 1 7 7 0 -1 4194560 900 0 1 0 x 50", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ticksOf(tc.stat)
			assert.Equal(t, tc.mistaken, err != nil, "%v", err)
			assert.Equal(t, tc.want, got)
		})
	}
}

// stop measures, once what happened has left the audit log quiet. others is the processor time of programs that are no components.
func (m *meter) stop(others time.Duration) measurement {
	m.s.b.Helper()
	counted, before := m.requests(), -1
	// Events follow what they are about.
	m.s.await("no more requests", func() bool {
		before, counted = counted[apiRequests], m.requests()
		return before == counted[apiRequests]
	})
	used, wall := m.s.processorTimes(m.programs), time.Since(m.began)
	strangers := m.s.machineTime() - m.machine - (selfTime() - m.self)
	rest := others
	for program, time := range used {
		if program != controlplane.APIServer {
			rest += time - m.used[program]
		}
	}
	ofAPIServer := used[controlplane.APIServer] - m.used[controlplane.APIServer]
	strangers -= ofAPIServer + rest
	result := measurement{figures: map[string]float64{
		apiProcessor: ofAPIServer.Seconds(), restProcessor: rest.Seconds(),
		loadAtStart: m.load, othersShare: max(0, strangers.Seconds()/wall.Seconds()),
	}}
	for figure, count := range counted {
		result.figures[figure] = float64(count)
	}
	return result
}

// requests counts what was asked since the start, beside what creates the workload and what kubelets ask.
func (m *meter) requests() map[string]int {
	m.s.b.Helper()
	counted := map[string]int{apiRequests: 0, podWrites: 0, nodeWrites: 0}
	require.NoError(m.s.b, m.s.ReadAudit("", func(r *cluster.Request) {
		if !r.RequestReceivedTimestamp.Time.Before(m.began) && hasBegun(r) && ofOrder(r) {
			countRequest(counted, r)
		}
	}))
	return counted
}

// hasBegun reports whether this is the stage at which a request counts: a watch may never end.
func hasBegun(r *cluster.Request) bool {
	return r.IsAnswered() && r.Verb != "watch" || r.Stage == auditv1.StageResponseStarted && r.Verb == "watch"
}

// ofOrder reports whether a request is one of a scheduler, or of a program that has pods start in order.
func ofOrder(r *cluster.Request) bool {
	agents := []string{argoAgent, waitingAgent, readinessAgent, helmAgent}
	return !strings.HasPrefix(r.Resource(), "leases") &&
		(ofScheduling(r) || slices.ContainsFunc(agents, func(agent string) bool { return strings.HasPrefix(r.UserAgent, agent) }))
}

func countRequest(counted map[string]int, r *cluster.Request) {
	counted[apiRequests]++
	asked := r.Resource()
	if asked == "" {
		asked, _, _ = strings.Cut(r.RequestURI, "?")
	}
	counted[r.Verb+" "+asked]++
	switch resource, _, _ := strings.Cut(r.Resource(), "/"); {
	case r.IsRead():
	case resource == "pods":
		counted[podWrites]++
	case resource == "nodes":
		counted[nodeWrites]++
	}
}

func TestRequestsAreCountedOnce(t *testing.T) {
	request := func(agent, verb, resource string, stage auditv1.Stage) *cluster.Request {
		return &cluster.Request{Event: auditv1.Event{
			UserAgent: agent, Verb: verb, Stage: stage, ObjectRef: &auditv1.ObjectReference{Resource: resource},
		}}
	}
	counted := map[string]int{}
	for _, r := range []*cluster.Request{
		request(helmAgent+"4.0", "create", "deployments", auditv1.StageResponseComplete),
		request(readinessAgent, "patch", "nodes", auditv1.StageResponseComplete),
		request(waitingAgent, "watch", "pods", auditv1.StageResponseStarted),
		request(waitingAgent, "watch", "pods", auditv1.StageResponseComplete), // the same
		request(waitingAgent, "list", "pods", auditv1.StageResponseStarted),   // and another one that is answered later
		request(waitingAgent, "list", "pods", auditv1.StageResponseComplete),
		{Event: auditv1.Event{UserAgent: waitingAgent, Verb: "get", Stage: auditv1.StageResponseComplete, RequestURI: "/api?timeout=32s"}},
		request(argoAgent, "update", "leases", auditv1.StageResponseComplete),               // a leader's
		request("bench", "patch", "pods", auditv1.StageResponseComplete),                    // a kubelet's
		request("kube-controller-manager", "create", "pods", auditv1.StageResponseComplete), // the workload itself
	} {
		if hasBegun(r) && ofOrder(r) {
			countRequest(counted, r)
		}
	}
	assert.Equal(t, map[string]int{
		apiRequests: 5, nodeWrites: 1, "create deployments": 1, "patch nodes": 1, "watch pods": 1, "list pods": 1, "get /api": 1,
	}, counted)
}

// kubelets plays those of all nodes: a pod is ready as soon as it is bound, or else when the one that waits in it is done.
type kubelets struct {
	s *site
	// begin begins to wait in a pod, and returns false if the pod has nothing to wait for.
	begin func(*corev1.Pod) (waits bool, err error)
	queue chan string

	lock  sync.Mutex
	begun map[string]bool
	ready map[string]written
	err   error
}

// written is when a pod was made ready: the change was made between the two times.
type written struct {
	sent, done time.Time
}

// playKubelets plays kubelets for the pods that selected accepts.
func (s *site) playKubelets(selected func(*corev1.Pod) bool, begin func(*corev1.Pod) (waits bool, err error)) *kubelets {
	s.b.Helper()
	k := &kubelets{s: s, begin: begin, queue: make(chan string, 1<<16), begun: map[string]bool{}, ready: map[string]written{}}
	factory := informers.NewSharedInformerFactoryWithOptions(s.core, 0, informers.WithNamespace(namespace))
	pods := factory.Core().V1().Pods().Informer()
	see := func(object any) {
		if pod := object.(*corev1.Pod); pod.Spec.NodeName != "" && selected(pod) {
			k.see(pod)
		}
	}
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, object any) { see(object) }})
	require.NoError(s.b, err)
	stop := make(chan struct{})
	s.AtStop(func() error { close(stop); return nil })
	factory.Start(stop)
	require.True(s.b, cache.WaitForCacheSync(stop, pods.HasSynced))
	for range manyAtATime {
		go func() {
			for {
				select {
				case pod := <-k.queue:
					sent := time.Now()
					done, err := s.writeReady(pod)
					k.note(pod, written{sent, done}, err)
				case <-stop:
					return
				}
			}
		}()
	}
	return k
}

// see begins a pod that was bound.
func (k *kubelets) see(pod *corev1.Pod) {
	k.lock.Lock()
	known := k.begun[pod.Name]
	k.begun[pod.Name] = true
	k.lock.Unlock()
	if known {
		return
	}
	waits, err := k.begin(pod)
	if err != nil {
		k.note(pod.Name, written{}, err)
	}
	if !waits {
		k.queue <- pod.Name
	}
}

// hear takes a report of what waits in pods.
func (k *kubelets) hear(line string) {
	if pod, done := strings.CutPrefix(line, "done "); done {
		k.queue <- pod
	}
}

func (k *kubelets) note(pod string, at written, err error) {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.ready[pod], k.err = at, errors.Join(k.err, err)
}

// awaitReady returns when so many pods are ready, and the times at which they turned so, by pod.
func (k *kubelets) awaitReady(count int) map[string]written {
	k.s.b.Helper()
	var ready map[string]written
	k.s.await(fmt.Sprintf("%d pods to be ready", count), func() bool {
		k.lock.Lock()
		defer k.lock.Unlock()
		require.NoError(k.s.b, k.err)
		ready = maps.Clone(k.ready)
		return len(ready) == count
	})
	return ready
}

// startedBy is the curve of pods that are ready so many seconds after a start.
func startedBy(since time.Time, ready map[string]written) (last float64, curve []point) {
	times := slices.SortedFunc(maps.Values(ready), func(a, b written) int { return a.done.Compare(b.done) })
	for i, at := range times {
		last = milliseconds(since, at.done) / 1000
		curve = append(curve, point{X: last, Y: float64(i + 1)})
	}
	return last, curve
}

// outOfTurn counts the pods that were made ready before all of the tier before theirs were. Names of pods begin with those of the tiers.
func outOfTurn(tiers []string, ready map[string]written) (count int) {
	for i, tier := range tiers[1:] {
		var last time.Time
		for pod, at := range ready {
			if strings.HasPrefix(pod, tiers[i]+"-") && at.sent.After(last) {
				last = at.sent
			}
		}
		for pod, at := range ready {
			if strings.HasPrefix(pod, tier+"-") && at.sent.Before(last) {
				count++
			}
		}
	}
	return count
}

func TestPodsOutOfTurn(t *testing.T) {
	at := func(seconds int) written {
		return written{sent: time.Unix(int64(seconds), 0), done: time.Unix(int64(seconds)+100, 0)}
	}
	tiers := []string{"tier-0", "tier-1", "tier-2"}
	type pods = map[string]written
	for name, tc := range map[string]struct {
		ready map[string]written
		want  int
	}{
		"in their turn":                          {pods{"tier-0-a": at(1), "tier-0-b": at(2), "tier-1-a": at(3), "tier-2-a": at(4)}, 0},
		"before the last pod of the tier before": {pods{"tier-0-a": at(1), "tier-0-b": at(3), "tier-1-a": at(2), "tier-1-b": at(4)}, 1},
		"each tier waits for the one before it":  {pods{"tier-0-a": at(9), "tier-1-a": at(2), "tier-2-a": at(1)}, 2},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, outOfTurn(tiers, tc.ready)) })
	}
}
