package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

var (
	soakFor   = flag.Duration("soak", time.Hour, "duration of BenchmarkSoak once all pods are up, such as 1h")
	soakNodes = flag.Int("soak-nodes", 5000, "`number` of nodes of BenchmarkSoak")
	soakPods  = flag.Int("soak-pods", 50_000, "`number` of pods of BenchmarkSoak")
)

const (
	// soakRow is where the soak stands in the table, after the rows.
	soakRow = 11
	// podsPerApplication of the soak, which has three tiers.
	podsPerApplication = 1000
	// rolloutEvery is how often the second tier of an application gets a new template, if the one before it has rolled out: else a
	// slow machine would have ever more to do.
	rolloutEvery = 20 * time.Second
	// probeEvery is how often it is measured how long one tier takes to follow the other.
	probeEvery = 5 * time.Second
	// moveIn is how long all pods may take to be up.
	moveIn = time.Hour
	// probeNamespace holds the pods of probes.
	probeNamespace = "probe"
)

// BenchmarkSoak rolls out applications of three tiers each in turn, and checks that the memory of our programs, and the time in
// which one tier follows the other, stay what they were. `make soak` runs it.
func BenchmarkSoak(b *testing.B) {
	c, err := cluster.Start(b.Context(), controlplane.Options{Nodes: *soakNodes})
	require.NoError(b, err)
	s := &soak{site: &site{Cluster: c, b: b, ctx: b.Context()}, ready: map[string]time.Time{}}
	s.core = s.clientOf("soak")
	b.Cleanup(s.close)
	s.moveIn()
	s.last(*soakFor)
	r := s.row().conclude(b, s.measured())
	printTable(os.Stdout, []result{r}, !testing.Short())
	r.keep(b)
}

// soak is a cluster with simulated kubelets and all components, as users have it.
type soak struct {
	*site
	applications []string

	lock   sync.Mutex
	ready  map[string]time.Time
	probes *bindings

	began   time.Time
	memory  map[string][]point // MiB of each program, by minutes
	latency []point            // milliseconds, by minutes
}

// moveIn creates all applications, and returns when they are up.
func (s *soak) moveIn() {
	s.b.Helper()
	for i := range max(1, *soakPods/podsPerApplication) {
		name := numbered("shop", i)
		s.applications = append(s.applications, name)
		s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		s.create(&v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "shop"}, Spec: v1alpha1.PodSequenceSpec{
			PodGroups: []v1alpha1.PodGroup{
				{Name: "database", PodSelector: tier("db")}, {Name: "application", PodSelector: tier("app")}, {Name: "frontend", PodSelector: tier("web")},
			},
		}})
		perApplication := min(*soakPods, podsPerApplication)
		for tier, replicas := range map[string]int{"db": perApplication / 10, "app": perApplication * 45 / 100, "web": perApplication * 45 / 100} {
			s.create(deployment(name, tier, replicas))
		}
	}
	progress("soak: waiting for %d applications of %d pods", len(s.applications), podsPerApplication)
	cluster.AwaitWithin(s.b, moveIn, "all applications to be up", func() bool {
		var sequences v1alpha1.PodSequenceList
		require.NoError(s.b, s.API.List(s.ctx, &sequences))
		completed := 0
		for i := range sequences.Items {
			if sequences.Items[i].Status.Phase == v1alpha1.PhaseCompleted {
				completed++
			}
		}
		return completed == len(s.applications)
	})
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: probeNamespace}})
	s.await("the account that pods of probes need", func() bool {
		return s.API.Get(s.ctx, types.NamespacedName{Namespace: probeNamespace, Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
	s.watchProbes()
}

func deployment(namespace, tier string, replicas int) *appsv1.Deployment {
	labels := map[string]string{tierLabel: tier}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: tier}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels}, RevisionHistoryLimit: new(int32(1)),
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			SchedulerName: ourScheduler, TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{Name: "app", Image: "example.com/app"}},
		}},
	}}
}

// last rolls out and measures for so long.
func (s *soak) last(long time.Duration) {
	s.b.Helper()
	s.began, s.memory = time.Now(), map[string][]point{}
	end := time.NewTimer(long)
	rollouts, probes, looks := time.NewTicker(rolloutEvery), time.NewTicker(probeEvery), time.NewTicker(max(time.Second, long/60))
	defer rollouts.Stop()
	defer probes.Stop()
	defer looks.Stop()
	s.look()
	began := time.Now() // the rollout under way
	for round, probe := 0, 0; ; {
		select {
		case <-end.C:
			progress("soak: %d rollouts, %d probes", round, probe)
			return
		case <-rollouts.C:
			if round > 0 && !s.hasRolledOut(s.applications[(round-1)%len(s.applications)]) {
				require.Less(s.b, time.Since(began), patience, "rollout %d does not end", round)
				continue
			}
			began = time.Now()
			s.rollOut(s.applications[round%len(s.applications)], round)
			round++
		case <-probes.C:
			s.latency = append(s.latency, point{X: s.minutes(), Y: s.probe(probe)})
			probe++
		case <-looks.C:
			s.look()
		}
	}
}

func (s *soak) minutes() float64 { return time.Since(s.began).Minutes() }

func (s *soak) rollOut(namespace string, round int) {
	s.b.Helper()
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"bench.podsequence.example.com/round":"%d"}}}}}`, round)
	_, err := s.core.AppsV1().Deployments(namespace).Patch(s.ctx, "app", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(s.b, err)
}

func (s *soak) hasRolledOut(namespace string) bool {
	s.b.Helper()
	d, err := s.core.AppsV1().Deployments(namespace).Get(s.ctx, "app", metav1.GetOptions{})
	require.NoError(s.b, err)
	return d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas == *d.Spec.Replicas &&
		d.Status.AvailableReplicas == *d.Spec.Replicas && d.Status.Replicas == *d.Spec.Replicas
}

// look notes how much memory our programs have.
func (s *soak) look() {
	s.b.Helper()
	for _, program := range []string{ourScheduler, ourProgram} {
		pid, err := s.PID(program)
		require.NoError(s.b, err, "%s has ended", program)
		kibibytes, err := strconv.Atoi(strings.TrimSuffix(lineOf(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss"), " kB"))
		require.NoError(s.b, err)
		s.memory[program] = append(s.memory[program], point{X: s.minutes(), Y: float64(kibibytes) / 1024})
		progress("soak, %.0f minutes: %s has %d MiB", s.minutes(), program, kibibytes>>10)
	}
}

// probe measures how long one pod takes to follow another, from the moment at which that is seen to be ready, in milliseconds.
func (s *soak) probe(number int) float64 {
	s.b.Helper()
	first, next := numbered("first", number), numbered("next", number)
	objects := []client.Object{
		&v1alpha1.PodSequence{
			ObjectMeta: metav1.ObjectMeta{Namespace: probeNamespace, Name: numbered("probe", number)},
			Spec:       v1alpha1.PodSequenceSpec{PodGroups: []v1alpha1.PodGroup{{Pods: []string{first}}, {Pods: []string{next}}}},
		},
		pod(next, ourScheduler).Namespace(probeNamespace).Obj(),
		pod(first, ourScheduler).Namespace(probeNamespace).Annotation(cluster.ReadyAfter, "2s").Obj(),
	}
	s.create(objects...)
	bound := s.awaitAll(s.probes, []string{next})[0]
	s.lock.Lock()
	ready, seen := s.ready[first]
	s.lock.Unlock()
	require.True(s.b, seen, "%s is bound before %s is ready", next, first)
	for _, object := range objects {
		require.NoError(s.b, s.API.Delete(s.ctx, object))
	}
	return milliseconds(ready, bound)
}

// watchProbes notes when pods of probes are seen to be ready and bound, by one watch.
func (s *soak) watchProbes() {
	s.b.Helper()
	s.probes = &bindings{at: map[string]time.Time{}}
	see := func(object any) {
		pod := object.(*corev1.Pod)
		s.lock.Lock()
		if _, seen := s.ready[pod.Name]; !seen && isReady(pod) {
			s.ready[pod.Name] = time.Now()
		}
		s.lock.Unlock()
		s.probes.see(object)
	}
	ctx, stop := context.WithCancel(s.ctx)
	s.AtStop(func() error { stop(); return nil })
	factory := informers.NewSharedInformerFactoryWithOptions(s.core, 0, informers.WithNamespace(probeNamespace))
	pods := factory.Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, object any) { see(object) }})
	require.NoError(s.b, err)
	factory.StartWithContext(ctx)
	require.True(s.b, cache.WaitForCacheSync(ctx.Done(), pods.HasSynced))
}

const (
	firstQuarter = "first quarter"
	lastQuarter  = "last quarter"
	probed       = "from Ready to binding"
)

func (s *soak) row() row {
	r := row{
		number: soakRow, name: "soak",
		question: fmt.Sprintf("Do memory and latency stay what they are? %d nodes, %d pods, rollouts for %s", *soakNodes, *soakPods, *soakFor),
		axes:     axes{X: "minutes", Y: "MiB of the programs; milliseconds from Ready to binding"},
	}
	for _, flat := range []struct {
		name, what string
		atMost     float64
	}{
		{ourScheduler, "memory of the scheduler", 1.05}, {ourProgram, "memory of the controller", 1.05}, {probed, "time " + probed, 1.1},
	} {
		r.variants = append(r.variants, variant{name: flat.name})
		r.claims = append(r.claims, claim{
			text: flat.what + ", last quarter / first quarter", of: flat.name, figure: lastQuarter, toFigure: firstQuarter, atMost: &flat.atMost,
		})
	}
	return r
}

func (s *soak) measured() map[string][]measurement {
	measured := map[string][]measurement{probed: {quarters(s.latency)}}
	for program, points := range s.memory {
		measured[program] = []measurement{quarters(points)}
	}
	return measured
}

// quarters measures the medians of the first and of the last quarter of a curve.
func quarters(points []point) measurement {
	m := measurement{curve: points, figures: map[string]float64{}}
	quarter := (len(points) + 3) / 4
	for name, part := range map[string][]point{firstQuarter: points[:quarter], lastQuarter: points[len(points)-quarter:]} {
		values := make([]float64, len(part))
		for i := range part {
			values[i] = part[i].Y
		}
		m.figures[name] = percentile(values, 50)
	}
	return m
}
