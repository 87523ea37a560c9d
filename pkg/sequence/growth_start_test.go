package sequence

import (
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// growthSizes are nodes; a hundredth of the cluster, a tenth, and all of it.
func growthSizes() []int {
	if testing.Short() {
		return []int{150, 1_500}
	}
	return []int{150, 1_500, 15_000}
}

// received returns an object as a client gets it from the API server: nothing in it is shared with another one.
func received[T any, P interface {
	*T
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}](tb testing.TB, objects []P) []P {
	for i, object := range objects {
		text, err := object.Marshal()
		require.NoError(tb, err)
		objects[i] = P(new(T))
		require.NoError(tb, objects[i].Unmarshal(text))
	}
	return objects
}

// startStep enters the objects of one kind, as the feed does at a start.
type startStep struct {
	name  string
	count int
	enter func(recording)
}

// startSteps are the steps of a start. Each makes its objects when it is asked for, so that not all of them are in memory at once.
func (g *growingCluster) startSteps(tb testing.TB) []func() startStep {
	return []func() startStep{
		func() startStep {
			nodes := make([]*corev1.Node, g.nodes)
			for i := range nodes {
				nodes[i] = g.node(i)
			}
			nodes = received(tb, nodes)
			return startStep{"nodes", len(nodes), func(a recording) { a.ReplaceNodes(nodes, g.next()) }}
		},
		func() startStep {
			namespaces := received(tb, g.allNamespaces())
			return startStep{"namespaces", len(namespaces), func(a recording) { a.ReplaceNamespaces(namespaces, g.next()) }}
		},
		func() startStep {
			pods := received(tb, g.pods())
			return startStep{"pods", len(pods), func(a recording) { a.ReplacePods(pods, g.next()) }}
		},
		func() startStep {
			workloads := g.workloads()
			count := 0
			for _, of := range workloads {
				count += len(of)
			}
			return startStep{"workloads", count, func(a recording) {
				for _, kind := range slices.Sorted(maps.Keys(workloads)) {
					a.ReplaceWorkloads(kind, workloads[kind], g.next())
				}
			}}
		},
		func() startStep {
			sequences := g.ofTeams()
			return startStep{"sequences-cluster", len(sequences), func(a recording) { a.ApplySequences(sequences) }}
		},
		func() startStep {
			sequences := g.ofPlatforms()
			return startStep{"sequences-node", len(sequences), func(a recording) { a.ApplySequences(sequences) }}
		},
		func() startStep {
			sequences := g.allAcross()
			return startStep{"clusterpodsequences", len(sequences), func(a recording) { a.ApplySequences(sequences) }}
		},
	}
}

func (g *growingCluster) started(tb testing.TB) recording {
	engine := newEngine()
	engine.Tick(growthNow)
	for _, step := range g.startSteps(tb) {
		step().enter(engine)
	}
	return engine
}

// BenchmarkGrowthStart measures how much processor time an engine takes to learn of a cluster, and what it keeps of it.
func BenchmarkGrowthStart(b *testing.B) {
	for _, nodes := range growthSizes() {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				g, engine, first, sum := newGrowingCluster(nodes), newEngine(), heapInUse(), time.Duration(0)
				engine.Tick(growthNow)
				for _, step := range g.startSteps(b) {
					before := heapInUse()
					took, name, count := enterUncollected(b, engine, step())
					sum += took
					b.ReportMetric(float64(took.Microseconds())/1e3, "cpu-ms/"+name)
					b.ReportMetric((float64(heapInUse())-float64(before))/float64(count), "B/"+name)
				}
				b.ReportMetric(float64(sum.Microseconds())/1e3, "cpu-ms")
				b.ReportMetric(float64(heapInUse()-first)/(1<<20), "MiB-live")
				b.ReportMetric(0, "ns/op") // of a clock that others share
				engine.reportKept(b)
				b.StartTimer()
			}
		})
	}
}

// enterUncollected enters a step while the garbage collector does not run.
func enterUncollected(tb testing.TB, engine recording, step startStep) (took time.Duration, name string, count int) {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	begin := processorTime(tb)
	step.enter(engine)
	return processorTime(tb) - begin, step.name, step.count
}

// reportKept reports how many there are of what the engine makes of the objects.
func (a recording) reportKept(b *testing.B) {
	domains, states := 0, 0
	for _, s := range a.sequences {
		domains += len(s.domains)
		for _, d := range s.domains {
			states += len(d.groupStates)
		}
	}
	b.ReportMetric(float64(domains), "domains")
	b.ReportMetric(float64(states), "group-states")
	b.ReportMetric(float64(a.HeldPods().Pods), "held-pods")
}

// The benchmarks mean what they say only if the cluster is what its comment says.
func TestTheGrowingClusterIsAsItIsDescribed(t *testing.T) {
	full := newGrowingCluster(15_000)
	assert.Equal(t, 1_000, full.teams+full.platforms+len(drivers()))
	assert.Equal(t, 150_000, 4*full.nodes+full.teams*(growthDatabase+growthCache+growthWeb)+full.platforms*growthPlatforms)

	g := newGrowingCluster(150)
	engine := g.started(t)
	assert.Equal(t, growthCache+growthWeb, engine.HeldPods().Pods, "one team starts")
	assert.Len(t, engine.workloads.byUID, len(drivers())+g.platforms+g.teams*6)
	for key, completed := range map[types.NamespacedName]int{
		{Name: "network"}: 150, {Name: "storage"}: 148, {Name: pool(1)}: 19, {Namespace: platform(0), Name: "agent"}: 150,
	} {
		nodes := 0
		for _, d := range engine.sequences[key].domains {
			if d.isNode() && d.looksSatisfied(0) && d.Passed.Has(0) {
				nodes++
			}
		}
		assert.Equal(t, completed, nodes, key)
	}
}
