package ordercheck

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// interest is what matters for the verdict on the pods of one namespace.
type interest struct {
	namespaces sets.Set[string]    // whose pods and workloads some group ahead may wait for
	sequences  sets.Set[types.UID] // the ClusterPodSequences that may hold its pods
}

// interestIn works out which namespaces and ClusterPodSequences have to be followed to judge the pods of one namespace.
func interestIn(events []event, namespace string) interest {
	i := interest{sets.New(namespace), sets.New[types.UID]()}
	labelled := map[string][]labels.Set{namespace: {nil}} // all labels that a namespace ever had
	versions := map[types.UID][]*sequenceFacts{}
	for _, e := range events {
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
