package ordercheck

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Only a pod that was released in the order of a sequence proves that the groups before its own were passed. A binding that
// the referee watched needs no proof, since the referee knows what was passed then. Of a pod that was bound before the watch
// began it knows nothing, so it believes the proof on the pod.

// proofOn returns the marks of the proof on a pod, one for each sequence that released it. There are none on a copy of the
// pod, because a proof begins with the UID of the pod that it was made for.
func proofOn(pod *corev1.Pod) []string {
	fields := strings.Fields(pod.Annotations[v1alpha1.ReleasedAnnotation])
	if len(fields) < 2 || fields[0] != string(pod.UID) {
		return nil
	}
	return fields[1:]
}

// provenGroup returns the last group that the proof on a pod says the sequence released it in, which groups were passed then, and
// whether there is such a proof. Status gives the hashes of the groups as they are defined now. The hashes of groups that the pod
// did not wait for, since they were skipped, follow that of its own.
func (f *sequenceFacts) provenGroup(p *podFacts) (group int, passed []int, ok bool) {
	for group, hash := range slices.Backward(f.hashes) {
		for _, mark := range p.proof {
			uid, marked, _ := strings.Cut(mark, "/")
			hashes := strings.Split(marked, "-")
			if hash == "" || uid != string(f.uid) || hashes[0] != hash {
				continue
			}
			passed := slices.DeleteFunc(slices.Clone(f.groups[group].ahead), func(g int) bool {
				return g < len(f.hashes) && slices.Contains(hashes[1:], f.hashes[g])
			})
			return group, passed, true
		}
	}
	return 0, nil, false
}

// believe takes over what is known of a sequence older than the watch only by what others say: the proof on its bound pods
// and what its status records. Its groups may have been passed up to the start of the watch.
func (v *version) believe(w *world, began event) {
	passed := v.recorded.Clone()
	for _, ns := range v.spans(w) {
		for _, p := range w.in(ns).pods {
			group, ahead, ok := v.provenGroup(p.podFacts)
			if !ok || p.podFacts.node == "" {
				continue
			}
			passed.Insert(ahead...)
			if d := v.domainOf(p); d != nil {
				d.hasReleased(group)
			}
		}
	}
	v.assume(passed, began)
	for _, d := range v.domains() { // the status does not tell of each node what was released there
		for g := range v.recordedReleased {
			d.hasReleased(g)
		}
		d.passedUntil(began.arrived)
	}
}

// assume takes groups for passed that the referee did not see pass.
func (v *version) assume(passed sets.Set[int], e event) {
	d := v.cluster
	if d == nil {
		return
	}
	for _, g := range sets.List(passed) {
		if d.groups[g].passed {
			continue
		}
		if !v.continuous {
			v.assumed++
		}
		d.assumePassed(g)
	}
	v.settle(d, e)
}

// remember notes what has been passed under the definitions of this version, and of those that it replaced a moment ago.
func (v *version) remember() {
	for ; v != nil; v = v.before {
		if v.cluster == nil {
			continue
		}
		for g, definition := range v.definitions {
			if v.cluster.groups[g].passed {
				v.passedAs.Insert(definition)
			}
		}
	}
}

// resume takes up what was passed under the same definitions before an edit that is now taken back: a pass holds while the
// definition is the one it was made under, and the pods that were released by it prove it.
func (v *version) resume() {
	for g, definition := range v.definitions {
		if v.passedAs.Has(definition) && !v.cluster.groups[g].passed {
			v.cluster.assumePassed(g)
		}
	}
}
