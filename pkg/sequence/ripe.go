package sequence

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
)

// A pass is permanent, so it is recorded in status before anything is released by it. Nobody releases by what a watch says alone: the
// watches of pods and of workloads are not in step. So before a pass is recorded, the recorder looks at what the group counts with reads that go to
// etcd, and records it only if the engine, asked once more, still goes by the same.
//
// That is enough for pods, too, as long as their watch has brought something that is newer than the sequence, than the newest node, and than
// each workload became what counts of it: then the pods are known as of a moment at which these were as they are. Else the pods are looked at
// as well. So are those of a group that time has completed: had one of them broken meanwhile, a watch that is late would not have said so yet.

// Ripe are the passes that a sequence has come to and that its status does not record yet, and what to look at before they are recorded.
type Ripe struct {
	Key types.NamespacedName // without a namespace for a ClusterPodSequence
	// UID and ResourceVersion are of the object from whose status the passes are missing.
	UID             types.UID
	ResourceVersion string
	// Passes are to be recorded, by the hash of their group. The recorder adds the time, because nothing is released before.
	Passes map[string]v1alpha1.GroupPass
	// Workloads are all that the groups count, sorted.
	Workloads []inventory.WorkloadKey
	// PodNamespaces are those whose pods must be looked at, too, sorted, because the pods that are known may be older than a workload,
	// than a node, or than the end of a wait.
	PodNamespaces []string
}

// Looked is what the API server had, read without a resource version after the engine was asked for a Ripe.
type Looked struct {
	// Workloads are those of Ripe.Workloads that exist.
	Workloads []metav1.Object
	// Pods are all pods of Ripe.PodNamespaces.
	Pods []metav1.PartialObjectMetadata
}

// ripeOf returns what is to be recorded of a sequence, which may be nil; ok is false if nothing is.
func ripeOf(s *sequence) (ripe Ripe, ok bool) {
	if s == nil || s.nodeless.Ripe == 0 {
		return Ripe{}, false
	}
	k, d := s.knowledge, s.nodeless
	ripe = Ripe{Key: s.Key, UID: s.UID, ResourceVersion: s.object.ResourceVersion, Passes: map[string]v1alpha1.GroupPass{}}
	namespaces := map[string]struct{}{}
	for i := range d.Ripe.All() {
		ripe.Passes[s.groups[i].Hash] = v1alpha1.GroupPass{UID: s.UID, TimedOut: d.TimedOutRipe.Has(i)}
		if d.TimedOutRipe.Has(i) {
			continue // whatever it counts
		}
		pods := k.unseen.newest()
		if inventory.Behind(pods, inventory.Newest(s.changedAs, k.nodes.changedAs)) || waitsForTime(d, i) {
			for name, groups := range s.groupsByNamespace {
				if groups.Has(i) {
					namespaces[name] = struct{}{}
				}
			}
		}
		for demand := range s.groups[i].demands {
			w := demand.workload
			ripe.Workloads = append(ripe.Workloads, w.Key())
			if !demand.facts().IsOver() && inventory.Behind(pods, w.changedAs) {
				namespaces[w.Namespace] = struct{}{}
			}
		}
	}
	slices.SortFunc(ripe.Workloads, inventory.CompareWorkloads)
	ripe.Workloads = slices.Compact(ripe.Workloads)
	ripe.PodNamespaces = slices.Sorted(maps.Keys(namespaces))
	return ripe, true
}

// waitsForTime reports whether it takes time to complete the group: its waitDuration, or that a pod that it counts stays Ready for a while.
func waitsForTime(d *domain, i int) bool {
	if d.sequence.groups[i].Wait > 0 {
		return true
	}
	state := d.peek(i)
	for _, counted := range []map[*pod]contribution{state.members, state.named} {
		for _, c := range counted {
			if c.timed {
				return true
			}
		}
	}
	return false
}

// agreesOnWorkloads reports whether the workloads that ripe groups of the sequence count are those that were looked at, and count as these do.
func (r *Ripe) agreesOnWorkloads(s *sequence, looked []metav1.Object) bool {
	known := map[types.UID]*inventory.Workload{}
	for i := range s.nodeless.Ripe.All() {
		if pass, is := r.Passes[s.groups[i].Hash]; !is || pass.TimedOut {
			continue
		}
		for demand := range s.groups[i].demands {
			known[demand.workload.UID] = &demand.workload.Workload
		}
	}
	for _, object := range looked {
		view := viewWorkload(object)
		if view == nil {
			return false
		}
		view.NamespaceGoing = s.knowledge.consents.facts[view.Namespace].going
		w := known[view.UID]
		if w == nil || !w.CountsAs(&view.Workload) {
			return false
		}
		delete(known, view.UID)
	}
	return len(known) == 0
}

// agreesOnPods reports whether no pod that was looked at is newer than it is known, and whether all that ripe groups of the sequence count
// were there.
func (r *Ripe) agreesOnPods(s *sequence, looked []metav1.PartialObjectMetadata) bool {
	if len(r.PodNamespaces) == 0 {
		return true
	}
	there := map[types.UID]struct{}{}
	for i := range looked {
		object := &looked[i]
		there[object.UID] = struct{}{}
		p := s.knowledge.namespaces.pods(object.Namespace)[object.Name]
		if p == nil || p.UID != object.UID || inventory.Newer(object.ResourceVersion, p.ResourceVersion) {
			return false
		}
	}
	for i := range s.nodeless.Ripe.All() {
		state := s.nodeless.peek(i)
		for _, counted := range []map[*pod]contribution{state.members, state.named} {
			for p := range counted {
				if _, is := there[p.UID]; !is && slices.Contains(r.PodNamespaces, p.Namespace) {
					return false
				}
			}
		}
	}
	return true
}
