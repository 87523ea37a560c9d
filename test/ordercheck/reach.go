package ordercheck

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// groupsIn returns the groups whose members may live in a namespace, in order. A version goes by the labels that the namespace
// had when the version was made, or when it first asked: a change of labels makes another version.
func (v *version) groupsIn(namespace string) []int {
	if !v.isCluster() {
		if namespace != v.target {
			return nil
		}
		return v.all
	}
	in, known := v.reach[namespace]
	if !known {
		in = v.sequenceFacts.groupsIn(namespace, v.world.labels[namespace])
		v.reach[namespace] = in
	}
	return in
}

// spans returns the namespaces that have or had anything, and where some group may have members.
func (v *version) spans(w *world) []string {
	if !v.isCluster() {
		return []string{v.target}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.byNamespace)), func(ns string) bool { return len(v.groupsIn(ns)) == 0 })
}

// relabel begins a new version of each ClusterPodSequence whose groups in the namespace have changed, from what it has passed so
// far. Older pods may race with that, as with an edit.
func (j *judge) relabel(e event) {
	name := e.home.name
	for i, v := range j.inForce {
		in, known := v.reach[name]
		switch {
		case !v.isCluster() || !known:
		case e.deleted:
			delete(v.reach, name) // with all that was in it
		case !slices.Equal(in, v.sequenceFacts.groupsIn(name, e.home.labels)):
			j.world.retire(v, e)
			j.inForce[i] = v.succeed(v.sequenceFacts, j.world, e)
			j.meet(j.inForce[i])
		}
	}
}

// interest is what matters for the verdict on the pods of one namespace.
type interest struct {
	namespaces sets.Set[string]    // whose pods and workloads some group ahead may wait for
	sequences  sets.Set[types.UID] // the ClusterPodSequences that may hold its pods
}

// interestIn works out which namespaces and ClusterPodSequences have to be followed to judge the pods of one namespace.
func (h History) interestIn(namespace string) interest {
	i := interest{sets.New(namespace), sets.New[types.UID]()}
	labelled := map[string][]labels.Set{namespace: {nil}} // all labels that a namespace ever had
	versions := map[types.UID][]*sequenceFacts{}
	for _, e := range h.events {
		switch {
		case e.home != nil:
			labelled[e.home.name] = append(labelled[e.home.name], e.home.labels)
		case e.sequence != nil && e.sequence.isCluster():
			versions[e.sequence.uid] = append(versions[e.sequence.uid], e.sequence)
		case (e.pod != nil || e.workload != nil) && len(labelled[e.namespace()]) == 0:
			labelled[e.namespace()] = []labels.Set{nil}
		}
	}
	reaches := func(f *sequenceFacts, name string) bool {
		return slices.ContainsFunc(labelled[name], func(l labels.Set) bool { return len(f.groupsIn(name, l)) > 0 })
	}
	for uid, all := range versions {
		if !slices.ContainsFunc(all, func(f *sequenceFacts) bool { return reaches(f, namespace) }) {
			continue
		}
		i.sequences.Insert(uid)
		for name := range labelled {
			if slices.ContainsFunc(all, func(f *sequenceFacts) bool { return reaches(f, name) }) {
				i.namespaces.Insert(name)
			}
		}
	}
	return i
}
