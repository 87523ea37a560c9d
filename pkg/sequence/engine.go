package sequence

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// AddScheduler makes the engine act for the pods of one more scheduler. It is called before the engine is told of anything.
func (e *Engine) AddScheduler(name string) {
	e.settings.schedulerNames.Insert(name)
	e.settings.SchedulerNames = sets.List(e.settings.schedulerNames)
}

// settleAt enters an event of a version, and returns what that changed.
func (e *Engine) settleAt(version string, enter func(*transaction)) Changes {
	e.mu.Lock()
	defer e.mu.Unlock()
	tx := &transaction{version: version}
	enter(tx)
	return e.settle(tx)
}

// ApplyPod tells the engine of a pod that was added or changed. A version older than the one it has is ignored.
func (e *Engine) ApplyPod(object *corev1.Pod) Changes {
	view := viewPod(object)
	e.mu.Lock()
	defer e.mu.Unlock()
	tx := &transaction{version: view.ResourceVersion}
	e.applyPod(view, tx)
	changes := e.settle(tx)
	e.unseen.advance(view.ResourceVersion)
	return changes
}

// RemovePod tells the engine that a pod is gone. A pod of the same name but another UID is left alone.
func (e *Engine) RemovePod(object *corev1.Pod) Changes {
	changes := e.settleAt(object.ResourceVersion, func(tx *transaction) { e.removePod(object.Namespace, object.Name, object.UID, tx) })
	e.unseen.advance(object.ResourceVersion)
	return changes
}

// ReplacePods tells the engine of all pods there are. It is one step: in between, pods would look as they never were
// together, and a group might seem ready. version is that of the list.
func (e *Engine) ReplacePods(objects []*corev1.Pod, version string) Changes {
	changes := e.settleAt(version, func(tx *transaction) { e.replacePods(objects, tx) })
	e.unseen.listed(version) // what it has is published
	return changes
}

// ApplySequence tells the engine of a PodSequence that was added or changed, and of what cannot be read of it.
func (e *Engine) ApplySequence(ps *v1alpha1.PodSequence, unreadable ...spec.Unreadable) Changes {
	return e.ApplySequences([]spec.Stored{{PodSequence: ps, Unreadable: unreadable}})
}

// ApplyClusterSequence tells the engine of a ClusterPodSequence that was added or changed, and of what cannot be read of it.
func (e *Engine) ApplyClusterSequence(cluster *v1alpha1.ClusterPodSequence, unreadable ...spec.Unreadable) Changes {
	return e.ApplySequences([]spec.Stored{spec.OfCluster(cluster, unreadable...)})
}

// ApplySequences tells the engine of several PodSequences and ClusterPodSequences in one step.
func (e *Engine) ApplySequences(objects []spec.Stored) Changes {
	version := ""
	for _, ps := range objects {
		version = inventory.Newest(version, ps.ResourceVersion)
	}
	return e.settleAt(version, func(tx *transaction) {
		for _, ps := range objects {
			e.applySequence(ps, tx)
		}
	})
}

// Recorded tells the engine of a sequence whose passes were recorded. One that the engine does not know is gone.
func (e *Engine) Recorded(stored spec.Stored) Changes {
	return e.settleAt(stored.ResourceVersion, func(tx *transaction) {
		if s := e.sequences[types.NamespacedName{Namespace: stored.Namespace, Name: stored.Name}]; s != nil && s.UID == stored.UID {
			e.applySequence(stored, tx)
		}
	})
}

// RemoveSequence tells the engine that a PodSequence is gone since a version, or a ClusterPodSequence if the key has no namespace.
func (e *Engine) RemoveSequence(key types.NamespacedName, version string) Changes {
	return e.settleAt(version, func(tx *transaction) { e.replaceSequence(e.sequences[key], nil, tx) })
}

// ReplaceSequences tells the engine of all PodSequences that there are at a version. It does not touch ClusterPodSequences.
func (e *Engine) ReplaceSequences(objects []spec.Stored, version string) Changes {
	return e.settleAt(version, func(tx *transaction) { e.replaceSequences(objects, false, tx) })
}

// ReplaceClusterSequences tells the engine of all ClusterPodSequences that there are at a version. It does not touch PodSequences.
func (e *Engine) ReplaceClusterSequences(objects []spec.Stored, version string) Changes {
	return e.settleAt(version, func(tx *transaction) { e.replaceSequences(objects, true, tx) })
}

// ApplyWorkload tells the engine of a Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet or Job that
// was added or changed. A version older than the one it has is ignored, as is an object of another kind.
func (e *Engine) ApplyWorkload(object metav1.Object) Changes {
	view := viewWorkload(object)
	if view == nil {
		return Changes{}
	}
	return e.settleAt(view.ResourceVersion, func(tx *transaction) { e.applyWorkload(view, tx) })
}

// RemoveWorkload tells the engine that a workload is gone.
func (e *Engine) RemoveWorkload(object metav1.Object) Changes {
	return e.settleAt(object.GetResourceVersion(), func(tx *transaction) { e.removeWorkload(object.GetUID(), tx) })
}

// ReplaceWorkloads tells the engine of all workloads of one kind that there are at a version, in one step.
func (e *Engine) ReplaceWorkloads(kind inventory.Kind, objects []metav1.Object, version string) Changes {
	return e.settleAt(version, func(tx *transaction) { e.replaceWorkloads(kind, objects, tx) })
}

// ApplyNode tells the engine of a node that was added or changed. A version older than the one it has is ignored.
func (e *Engine) ApplyNode(object *corev1.Node) Changes {
	return e.settleAt(object.ResourceVersion, func(tx *transaction) { e.applyNode(object, tx) })
}

// RemoveNode tells the engine that a node is gone.
func (e *Engine) RemoveNode(name string) Changes {
	return e.settleAt("", func(tx *transaction) { e.removeNode(name, tx) })
}

// ReplaceNodes tells the engine of all nodes there are at a version, in one step.
func (e *Engine) ReplaceNodes(objects []*corev1.Node, version string) Changes {
	return e.settleAt(version, func(tx *transaction) { e.replaceNodes(objects, tx) })
}

// ApplyNamespace tells the engine of a namespace that was added or changed. A version older than the one it has is ignored.
func (e *Engine) ApplyNamespace(object *corev1.Namespace) Changes {
	return e.settleAt(object.ResourceVersion, func(tx *transaction) { e.applyNamespace(object, tx) })
}

// RemoveNamespace tells the engine that a namespace is gone.
func (e *Engine) RemoveNamespace(object *corev1.Namespace) Changes {
	return e.settleAt(object.ResourceVersion, func(tx *transaction) { e.removeNamespace(object.Name, tx) })
}

// ReplaceNamespaces tells the engine of all namespaces that there are at a version.
func (e *Engine) ReplaceNamespaces(objects []*corev1.Namespace, version string) Changes {
	return e.settleAt(version, func(tx *transaction) { e.replaceNamespaces(objects, tx) })
}

// Tick tells the engine what time it is: waits and time-outs that are over take effect. Times in the future, of which the
// API may tell when clocks differ, count as this time. It must not run backwards.
func (e *Engine) Tick(now time.Time) Changes {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.now = latest(e.now, now)
	if next := e.nextWake(); next.IsZero() || e.now.Before(next) {
		return Changes{}
	}
	tx := &transaction{}
	for d := range e.alarms.Due(e.now) {
		tx.markDirty(d)
	}
	e.endTrials(tx)
	e.endOverrides(tx)
	e.tryRest(tx)
	return e.settle(tx)
}

// NextWake returns when Tick will next change something by itself; zero if nothing waits for time to pass.
func (e *Engine) NextWake() time.Time {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.nextWake()
}

func (k *knowledge) nextWake() time.Time {
	return sooner(sooner(k.alarms.Next(), k.trials.Next()), sooner(k.overrides.Next(), k.retries.Next()))
}

// Everything returns what the engine would have reported had it come to know all it knows in one step: every pod that may be
// scheduled, every pod that must wait, every sequence.
func (e *Engine) Everything() Changes {
	e.mu.Lock()
	defer e.mu.Unlock()

	changes := Changes{}
	for key, s := range e.sequences {
		if changes.touch(key); s.nodeless.Ripe != 0 {
			changes.Ripe = append(changes.Ripe, key)
		}
	}
	for _, ns := range e.namespaces {
		for _, p := range ns.pods {
			e.report(&changes, p, verdict{held: true}, e.publish(p))
		}
	}
	return changes
}

// KindInstalled tells the engine whether the kind PodSequence is installed. Until it is told, the kind is.
func (e *Engine) KindInstalled(installed bool) Changes {
	return e.settleAt("", func(tx *transaction) {
		if e.published.existing.uninstalled.Swap(!installed) == installed {
			for name := range e.namespaces {
				for _, p := range e.namespaces.pods(name) {
					if !p.Bound() && (spec.NamedSequence(&p.Labels) != "" || e.published.existing.requires(name)) {
						tx.dirtyPods = append(tx.dirtyPods, p)
					}
				}
			}
		}
	})
}
