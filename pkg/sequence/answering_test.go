package sequence

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// answering is an engine whose questions are answered at once: nothing is ever missing. What an event changed and what the
// answers changed are one.
type answering struct{ *Engine }

// newEngine returns an engine to which pods without a readiness probe are ready as soon as they say so.
func newEngine() answering { return newEngineWith(0) }

// newEngineWith returns an engine to which pods without a readiness probe are ready after a time.
func newEngineWith(unprobedReady time.Duration) answering {
	return newEngineOf(func(c *Config) { c.UnprobedReady = unprobedReady })
}

// newEngineOf returns an engine of a configuration that differs from that of most tests.
func newEngineOf(change func(*Config)) answering {
	config := Config{
		SchedulerNames: []string{oracleScheduler}, GatePrefixes: []string{"podsequence.example.com/"}, InstallationNamespace: oracleInstallation,
	}
	change(&config)
	return answering{NewEngine(config)}
}

// answer answers what is asked, and what the answers raise.
func (a answering) answer(changes Changes) Changes {
	for len(changes.Questions) > 0 {
		questions := changes.Questions
		changes.Questions = nil
		for subject, question := range questions {
			changes = changes.with(a.Engine.Confirm(subject, question.Moment))
		}
	}
	return changes
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
	for key := range next.Matched {
		c.match(key)
	}
	for subject, question := range next.Questions {
		c.ask(subject, question)
	}
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

func (a answering) ApplyPod(object *corev1.Pod) Changes  { return a.answer(a.Engine.ApplyPod(object)) }
func (a answering) RemovePod(object *corev1.Pod) Changes { return a.answer(a.Engine.RemovePod(object)) }
func (a answering) Tick(now time.Time) Changes           { return a.answer(a.Engine.Tick(now)) }
func (a answering) Everything() Changes                  { return a.answer(a.Engine.Everything()) }

func (a answering) ReplacePods(objects []*corev1.Pod, version string) Changes {
	return a.answer(a.Engine.ReplacePods(objects, version))
}

func (a answering) ApplySequence(ps *v1alpha1.PodSequence, unreadable ...spec.Unreadable) Changes {
	return a.answer(a.Engine.ApplySequence(ps, unreadable...))
}

func (a answering) ApplyClusterSequence(cluster *v1alpha1.ClusterPodSequence, unreadable ...spec.Unreadable) Changes {
	return a.answer(a.Engine.ApplyClusterSequence(cluster, unreadable...))
}

func (a answering) ReplaceClusterSequences(objects []spec.Stored, version string) Changes {
	return a.answer(a.Engine.ReplaceClusterSequences(objects, version))
}

func (a answering) RemoveSequence(key types.NamespacedName, version string) Changes {
	return a.answer(a.Engine.RemoveSequence(key, version))
}

func (a answering) ReplaceSequences(objects []spec.Stored, version string) Changes {
	return a.answer(a.Engine.ReplaceSequences(objects, version))
}

func (a answering) ApplyWorkload(object metav1.Object) Changes {
	return a.answer(a.Engine.ApplyWorkload(object))
}

func (a answering) RemoveWorkload(object metav1.Object) Changes {
	return a.answer(a.Engine.RemoveWorkload(object))
}

func (a answering) ReplaceWorkloads(kind inventory.Kind, objects []metav1.Object, version string) Changes {
	return a.answer(a.Engine.ReplaceWorkloads(kind, objects, version))
}

func (a answering) KindInstalled(installed bool) Changes {
	return a.answer(a.Engine.KindInstalled(installed))
}

func (a answering) ApplyNode(object *corev1.Node) Changes {
	return a.answer(a.Engine.ApplyNode(object))
}
func (a answering) ApplyNamespace(object *corev1.Namespace) Changes {
	return a.answer(a.Engine.ApplyNamespace(object))
}

func (a answering) RemoveNamespace(object *corev1.Namespace) Changes {
	return a.answer(a.Engine.RemoveNamespace(object))
}

func (a answering) ReplaceNamespaces(objects []*corev1.Namespace, version string) Changes {
	return a.answer(a.Engine.ReplaceNamespaces(objects, version))
}

func (a answering) RemoveNode(name string) Changes { return a.answer(a.Engine.RemoveNode(name)) }

func (a answering) ReplaceNodes(objects []*corev1.Node, version string) Changes {
	return a.answer(a.Engine.ReplaceNodes(objects, version))
}
