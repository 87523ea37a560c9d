package sequence

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
)

// recording is an engine whose passes are recorded at once, as the API server keeps them: nobody reads status back otherwise. What an event
// changed and what the record changed are one.
type recording struct {
	*Engine
	// passes are what the API server has, by the UID of the sequence.
	passes map[types.UID]map[string]v1alpha1.GroupPass
	// ripe collects the sequences whose passes are not recorded at once; nil if they are.
	ripe sets.Set[types.NamespacedName]
}

// newEngine returns an engine to which pods without a readiness probe are ready as soon as they say so.
func newEngine() recording { return newEngineWith(0) }

// newEngineWith returns an engine to which pods without a readiness probe are ready after a time.
func newEngineWith(unprobedReady time.Duration) recording {
	return newEngineOf(func(c *Config) { c.UnprobedReady = unprobedReady })
}

// newEngineOf returns an engine of a configuration that differs from that of most tests.
func newEngineOf(change func(*Config)) recording {
	config := Config{
		SchedulerNames: []string{oracleScheduler}, GatePrefixes: []string{"podsequence.example.com/"}, InstallationNamespace: oracleInstallation,
	}
	change(&config)
	return recording{Engine: NewEngine(config), passes: map[types.UID]map[string]v1alpha1.GroupPass{}}
}

// after is the engine of a program that is started after another one: what the API server has stays.
func (a recording) after(before recording) recording {
	for uid, passes := range before.passes {
		a.passes[uid] = maps.Clone(passes)
	}
	return a
}

// record records what is ripe.
func (a recording) record(changes Changes) Changes {
	if a.ripe != nil {
		a.ripe.Insert(changes.Ripe...)
		return changes
	}
	for len(changes.Ripe) > 0 {
		ripe := changes.Ripe
		changes.Ripe = nil
		for _, key := range ripe {
			if now, ok := a.Engine.Ripe(key); ok {
				changes = changes.with(a.recordRipe(now))
			}
		}
	}
	return changes
}

// recordRipe records passes.
func (a recording) recordRipe(ripe Ripe) Changes {
	if a.passes[ripe.UID] == nil {
		a.passes[ripe.UID] = map[string]v1alpha1.GroupPass{}
	}
	for hash, pass := range ripe.Passes {
		pass.At = metav1.NewTime(a.now.Truncate(time.Second))
		a.passes[ripe.UID][hash] = pass
	}
	return a.settleAt("", func(tx *transaction) { a.recorded(a.sequences[ripe.Key], tx) })
}

// recorded tells the engine what is recorded of a sequence, without another version of it.
func (a recording) recorded(s *sequence, tx *transaction) {
	s.object = s.object.DeepCopy()
	s.object.Status.Passes = maps.Clone(a.passes[s.UID])
	if s.cluster != nil {
		s.cluster = s.cluster.DeepCopy()
		s.cluster.Status.Passes = s.object.Status.Passes
	}
	s.restoreFromStatus()
	tx.markDirty(s.nodeless)
}

// withPasses are the passes of a sequence as the API server has them: those in the object count only the first time.
func (a recording) withPasses(uid types.UID, status *v1alpha1.PodSequenceStatus) {
	if a.passes[uid] == nil {
		a.passes[uid] = map[string]v1alpha1.GroupPass{}
		maps.Copy(a.passes[uid], status.Passes)
	}
	status.Passes = maps.Clone(a.passes[uid])
}

func (a recording) stored(stored order.Stored) order.Stored {
	if len(a.passes[stored.UID])+len(stored.Status.Passes) == 0 {
		return stored
	}
	stored.PodSequence = stored.PodSequence.DeepCopy()
	a.withPasses(stored.UID, &stored.PodSequence.Status)
	if stored.Cluster != nil {
		stored.Cluster = stored.Cluster.DeepCopy()
		stored.Cluster.Status.Passes = stored.PodSequence.Status.Passes
	}
	return stored
}

// prune forgets the passes that the controller drops when it writes status next.
func (a recording) prune() {
	there := map[types.UID]*sequence{}
	for _, s := range a.sequences {
		there[s.UID] = s
	}
	for uid, passes := range a.passes {
		s := there[uid]
		if s == nil {
			delete(a.passes, uid)
		}
		maps.DeleteFunc(passes, func(hash string, _ v1alpha1.GroupPass) bool {
			return s == nil || s.Continuous || s.PerNode || !slices.ContainsFunc(s.groups, func(g *group) bool { return g.Hash == hash })
		})
	}
}

// told records what a change of sequences made ripe.
func (a recording) told(changes Changes) Changes {
	a.prune()
	return a.record(changes)
}

// with is what both changed, one after the other.
func (c Changes) with(next Changes) Changes {
	if len(c.Released)+len(c.Held)+len(c.Nominated) == 0 {
		c.Released, c.Held, c.Nominated = next.Released, next.Held, next.Nominated // nothing to merge, which benchmarks of releases would measure
	} else {
		c.Released, c.Held, c.Nominated = c.podsWith(next)
	}
	for key := range next.Sequences {
		c.touch(key)
	}
	c.Advanced = append(slices.Clone(c.Advanced), next.Advanced...)
	c.Ripe = append(slices.Clone(c.Ripe), next.Ripe...)
	c.Requiring = append(slices.Clone(c.Requiring), next.Requiring...)
	return c
}

// podsWith returns the pods that both released, that both held, and that were nominated. A pod that is released again was not released
// before, nor held.
func (c Changes) podsWith(next Changes) (released []Release, held, nominated []types.NamespacedName) {
	again, names := sets.New[types.UID](), sets.New[types.NamespacedName]()
	for _, r := range next.Released {
		again.Insert(r.UID)
		names.Insert(types.NamespacedName{Namespace: r.Namespace, Name: r.Name})
	}
	released = slices.DeleteFunc(slices.Clone(c.Released), func(r Release) bool { return again.Has(r.UID) })
	held = slices.DeleteFunc(slices.Clone(c.Held), names.Has)
	nominated = slices.DeleteFunc(slices.Clone(c.Nominated), names.Has)
	return append(released, next.Released...), append(held, next.Held...), append(nominated, next.Nominated...)
}

func (a recording) ApplyPod(object *corev1.Pod) Changes  { return a.record(a.Engine.ApplyPod(object)) }
func (a recording) RemovePod(object *corev1.Pod) Changes { return a.record(a.Engine.RemovePod(object)) }
func (a recording) Tick(now time.Time) Changes           { return a.record(a.Engine.Tick(now)) }
func (a recording) Everything() Changes                  { return a.record(a.Engine.Everything()) }

func (a recording) ReplacePods(objects []*corev1.Pod, version string) Changes {
	return a.record(a.Engine.ReplacePods(objects, version))
}

func (a recording) ApplySequence(ps *v1alpha1.PodSequence, unreadable ...order.Unreadable) Changes {
	return a.told(a.Engine.ApplySequence(a.stored(order.Stored{PodSequence: ps}).PodSequence, unreadable...))
}

func (a recording) ApplyClusterSequence(cluster *v1alpha1.ClusterPodSequence, unreadable ...order.Unreadable) Changes {
	return a.told(a.Engine.ApplyClusterSequence(a.stored(order.OfCluster(cluster)).Cluster, unreadable...))
}

func (a recording) ApplySequences(objects []order.Stored) Changes {
	return a.told(a.Engine.ApplySequences(a.storedAll(objects)))
}

func (a recording) ReplaceClusterSequences(objects []order.Stored, version string) Changes {
	return a.told(a.Engine.ReplaceClusterSequences(a.storedAll(objects), version))
}

func (a recording) RemoveSequence(key types.NamespacedName, version string) Changes {
	return a.told(a.Engine.RemoveSequence(key, version))
}

func (a recording) ReplaceSequences(objects []order.Stored, version string) Changes {
	return a.told(a.Engine.ReplaceSequences(a.storedAll(objects), version))
}

func (a recording) storedAll(objects []order.Stored) []order.Stored {
	all := make([]order.Stored, len(objects))
	for i, each := range objects {
		all[i] = a.stored(each)
	}
	return all
}

func (a recording) ApplyWorkload(object metav1.Object) Changes {
	return a.record(a.Engine.ApplyWorkload(object))
}

func (a recording) RemoveWorkload(object metav1.Object) Changes {
	return a.record(a.Engine.RemoveWorkload(object))
}

func (a recording) ReplaceWorkloads(kind inventory.Kind, objects []metav1.Object, version string) Changes {
	return a.record(a.Engine.ReplaceWorkloads(kind, objects, version))
}

func (a recording) KindInstalled(installed bool) Changes {
	return a.record(a.Engine.KindInstalled(installed))
}

func (a recording) ApplyNode(object *corev1.Node) Changes {
	return a.record(a.Engine.ApplyNode(object))
}
func (a recording) ApplyNamespace(object *corev1.Namespace) Changes {
	return a.record(a.Engine.ApplyNamespace(object))
}

func (a recording) RemoveNamespace(object *corev1.Namespace) Changes {
	return a.record(a.Engine.RemoveNamespace(object))
}

func (a recording) ReplaceNamespaces(objects []*corev1.Namespace, version string) Changes {
	return a.record(a.Engine.ReplaceNamespaces(objects, version))
}

func (a recording) RemoveNode(name string) Changes { return a.record(a.Engine.RemoveNode(name)) }

func (a recording) ReplaceNodes(objects []*corev1.Node, version string) Changes {
	return a.record(a.Engine.ReplaceNodes(objects, version))
}
