package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	// probeEvery is how often it is measured how long one tier takes to follow the other.
	probeEvery = time.Second
	// lastMoments are long enough for a probe: its first pod is ready 2 s after it is bound.
	lastMoments = 10 * time.Second
	// looks are so many at least, unless they would be more often than every second; they are as often as every minute.
	fewestLooks = 120
	// enoughLooks are those of which something can be said.
	enoughLooks = 8
)

// settle waits until the new leaders have got over their start.
func (s *soak) settle() { s.pause(inDuration(2*time.Minute, 5*time.Second)) }

// measure looks at the machine and the programs for so long, unless it is interrupted.
func (s *soak) measure(long time.Duration) {
	s.b.Helper()
	s.began = time.Now()
	now := s.usage()
	s.load = load{first: now, last: now, processors: runtime.NumCPU()}
	end := time.NewTimer(long)
	s.profile("start")
	looks := time.NewTicker(min(time.Minute, max(time.Second, long/fewestLooks)))
	defer looks.Stop()
	for over := false; !over; {
		select {
		case <-looks.C:
			s.look()
		case <-s.failed:
			s.endEvents()
		case <-end.C:
			over = true
		case <-s.interrupted.Done():
			progress("soak: interrupted after %.0f minutes", s.minutes(time.Now()))
			over, s.cutShort = true, true
		}
	}
	s.long = time.Since(s.began)
	s.profile("end")
	require.GreaterOrEqual(s.b, len(s.load.own), enoughLooks, "interrupted before anything could be said: nothing is written")
}

// profile writes what takes memory in the leading programs that serve that, for "go tool pprof".
func (s *soak) profile(moment string) {
	s.b.Helper()
	for _, p := range s.programs {
		if p.leader.pprof == "" {
			continue
		}
		response, err := http.Get("http://" + p.leader.pprof + "/debug/pprof/heap")
		require.NoError(s.b, err, "read profile of %s", p.program)
		content, err := io.ReadAll(response.Body)
		require.NoError(s.b, errors.Join(err, response.Body.Close()), "read profile of %s", p.program)
		require.NoError(s.b, os.WriteFile(filepath.Join(*profiles, fmt.Sprintf("%s-%s.pprof", p.program, moment)), content, 0o644))
	}
}

func (s *soak) minutes(at time.Time) float64 { return at.Sub(s.began).Minutes() }

// look notes how much memory the leaders have, and how much of the processors everything has had since the last look.
func (s *soak) look() {
	s.b.Helper()
	now := s.minutes(time.Now())
	var said []string
	for _, p := range s.programs {
		kibibytes, err := strconv.Atoi(strings.TrimSuffix(lineOf(fmt.Sprintf("/proc/%d/smaps_rollup", p.leader.Process.Pid), "Pss"), " kB"))
		require.NoError(s.b, err, "%s has ended, see %s", p.program, p.leader.Log)
		s.memory[p.program] = append(s.memory[p.program], point{X: now, Y: float64(kibibytes) / 1024})
		said = append(said, fmt.Sprintf("%s %d MiB", p.program, kibibytes>>10))
	}
	s.load.add(now, s.usage())
	progress("soak, %.1f minutes: %s; %s", now, strings.Join(said, ", "), &s.load)
}

// usage is how much processor time everything has had by a moment.
type usage struct {
	at       time.Time
	programs map[string]time.Duration
	// self is the benchmark's, and machine that of all processes of the machine.
	self, machine time.Duration
}

func (s *soak) usage() usage {
	s.b.Helper()
	programs := s.processorTimes([]string{controlplane.Etcd, controlplane.ControllerManager, controlplane.Scheduler, controlplane.Kwok})
	for _, p := range s.programs {
		programs[p.program] = cluster.ProcessorTime(s.b, p.leader.Process.Pid) + cluster.ProcessorTime(s.b, p.standby.Process.Pid)
	}
	return usage{at: time.Now(), programs: programs, self: selfTime(), machine: s.machineTime()}
}

// load is how many percent of the processors were taken from look to look.
type load struct {
	processors  int
	first, last usage
	// own is what the cluster and the benchmark took, and others what the other processes of the machine took.
	own, others []point
}

func (l *load) add(minutes float64, now usage) {
	own := now.self - l.last.self
	for program, time := range now.programs {
		own += time - l.last.programs[program]
	}
	percent := func(used time.Duration) float64 { return l.percent(used, now.at.Sub(l.last.at)) }
	l.own = append(l.own, point{X: minutes, Y: percent(own)})
	l.others = append(l.others, point{X: minutes, Y: max(0, percent(now.machine-l.last.machine-own))})
	l.last = now
}

// percent returns how many percent of all processors so much processor time is.
func (l *load) percent(used, wall time.Duration) float64 {
	return 100 * used.Seconds() / wall.Seconds() / float64(l.processors)
}

// String is about the last look.
func (l *load) String() string {
	return fmt.Sprintf("cluster and benchmark take %.0f%% of the processors, others %.0f%%", l.own[len(l.own)-1].Y, l.others[len(l.others)-1].Y)
}

// byProgram returns how many percent of the processors each program took over all the time, and the benchmark.
func (l *load) byProgram() map[string]float64 {
	wall := l.last.at.Sub(l.first.at)
	percents := map[string]float64{"the benchmark": l.percent(l.last.self-l.first.self, wall)}
	for program, time := range l.last.programs {
		percents[program] = l.percent(time-l.first.programs[program], wall)
	}
	return percents
}

func TestLoad(t *testing.T) {
	began := time.Now()
	at := func(seconds, etcd, self, machine int) usage {
		return usage{
			at: began.Add(time.Duration(seconds) * time.Second), programs: map[string]time.Duration{"etcd": time.Duration(etcd) * time.Second},
			self: time.Duration(self) * time.Second, machine: time.Duration(machine) * time.Second,
		}
	}
	l := load{processors: 2, first: at(0, 5, 7, 100), last: at(0, 5, 7, 100)}
	l.add(1, at(10, 8, 9, 110))
	l.add(2, at(20, 8, 9, 110))
	assert.Equal(t, []point{{1, 25}, {2, 0}}, l.own, "3 s and 2 s of 20 s, then nothing")
	assert.Equal(t, []point{{1, 25}, {2, 0}}, l.others, "5 s of 20 s are neither etcd's nor the benchmark's")
	assert.Equal(t, map[string]float64{"etcd": 7.5, "the benchmark": 5}, l.byProgram(), "of all the time")
}

// timed is how many milliseconds something took that began at a time.
type timed struct {
	at time.Time
	ms float64
}

// probes are the pods of the probes that are under way.
type probes struct {
	lock sync.Mutex
	pods map[string]*probed
}

// probed is when a pod was seen to be ready and bound.
type probed struct {
	ready, bound time.Time
	isBound      chan struct{}
}

// expect begins to wait for a pod.
func (p *probes) expect(name string) *probed {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.pods[name] = &probed{isBound: make(chan struct{})}
	return p.pods[name]
}

func (p *probes) forget(name string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	delete(p.pods, name)
}

func (p *probes) see(pod *corev1.Pod) {
	now := time.Now()
	p.lock.Lock()
	defer p.lock.Unlock()
	one := p.pods[pod.Name]
	if one == nil {
		return
	}
	if one.ready.IsZero() && isReady(pod) {
		one.ready = now
	}
	if one.bound.IsZero() && pod.Spec.NodeName != "" {
		one.bound = now
		close(one.isBound)
	}
}

// watchProbes sees the pods of probes, by one watch.
func (s *soak) watchProbes() {
	s.b.Helper()
	s.probes = &probes{pods: map[string]*probed{}}
	see := func(object any) { s.probes.see(object.(*corev1.Pod)) }
	ctx, stop := context.WithCancel(s.ctx)
	s.AtStop(func() error { stop(); return nil })
	factory := informers.NewSharedInformerFactoryWithOptions(s.core, 0, informers.WithNamespace(probeNamespace))
	pods := factory.Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, object any) { see(object) }})
	require.NoError(s.b, err)
	factory.StartWithContext(ctx)
	require.True(s.b, cache.WaitForCacheSync(ctx.Done(), pods.HasSynced))
}

// await waits until the pod is bound, and returns when that was seen.
func (p *probed) await(ctx context.Context, name string) (time.Time, error) {
	select {
	case <-p.isBound:
		return p.bound, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-time.After(patience):
		return time.Time{}, fmt.Errorf("%s is not bound", name)
	}
}

// bind creates a pod that waits for nothing, and returns when it was seen to be bound.
func (s *soak) bind(ctx context.Context, name string) (time.Time, error) {
	one := s.probes.expect(name)
	defer s.probes.forget(name)
	object := pod(name, ourScheduler).Namespace(probeNamespace).Obj()
	if err := s.API.Create(ctx, object); err != nil {
		return time.Time{}, fmt.Errorf("create pod: %w", err)
	}
	bound, err := one.await(ctx, name)
	if err != nil {
		return time.Time{}, err
	}
	return bound, s.API.Delete(ctx, object)
}

// probe measures how long one pod takes to follow another, from the moment at which that is seen to be ready.
func (s *soak) probe(ctx context.Context, number int) error {
	first, next := numbered("first", number), numbered("next", number)
	before, after := s.probes.expect(first), s.probes.expect(next)
	defer s.probes.forget(first)
	defer s.probes.forget(next)
	objects := []client.Object{
		&v1alpha1.PodSequence{
			ObjectMeta: metav1.ObjectMeta{Namespace: probeNamespace, Name: numbered("probe", number)},
			Spec:       v1alpha1.PodSequenceSpec{PodGroups: []v1alpha1.PodGroup{{Pods: []string{first}}, {Pods: []string{next}}}},
		},
		pod(next, ourScheduler).Namespace(probeNamespace).Obj(),
		pod(first, ourScheduler).Namespace(probeNamespace).Annotation(cluster.ReadyAfter, "2s").Obj(),
	}
	began := time.Now()
	for _, object := range objects {
		if err := s.API.Create(ctx, object); err != nil {
			return fmt.Errorf("begin probe: %w", err)
		}
	}
	bound, err := after.await(ctx, next)
	if err != nil {
		return err
	}
	s.probes.lock.Lock()
	ready := before.ready
	s.probes.lock.Unlock()
	if ready.IsZero() {
		return fmt.Errorf("%s was bound before %s was seen to be ready", next, first)
	}
	for _, object := range objects {
		if err := s.API.Delete(ctx, object); err != nil {
			return fmt.Errorf("end probe: %w", err)
		}
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.latency = append(s.latency, timed{at: began, ms: milliseconds(ready, bound)})
	return nil
}

// latencies are those of probes within what is measured, by minutes. Those of its last moments would meet the change of leaders that comes
// after it. They are left out whether they do or not: to leave out those that have not ended would leave out slow ones.
func (s *soak) latencies() []point {
	s.lock.Lock()
	defer s.lock.Unlock()
	var points []point
	for _, probe := range s.latency {
		if !probe.at.Before(s.began) && probe.at.Before(s.began.Add(s.long-lastMoments)) {
			points = append(points, point{X: s.minutes(probe.at), Y: probe.ms})
		}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.X, b.X) })
	return points
}
