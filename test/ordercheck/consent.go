package ordercheck

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// namespaceFacts are what the rule asks of a namespace. They never change once recorded.
type namespaceFacts struct {
	stamp time.Time
	name  string
	// allows is the list of namespaces whose sequences may hold its pods, as it is written.
	allows string
	labels labels.Set
	going  bool // it is being deleted, and with it all that is in it
	// required reports that pods of our scheduler require a sequence there.
	required bool
}

func factsOfNamespace(namespace *corev1.Namespace) facts {
	return &namespaceFacts{
		stamp: newestStamp(namespace), name: namespace.Name,
		allows: namespace.Annotations[v1alpha1.AllowSequencesFromAnnotation], labels: namespace.Labels,
		going:    namespace.DeletionTimestamp != nil,
		required: namespace.Annotations[v1alpha1.RequireSequenceAnnotation] == v1alpha1.RequireSequence,
	}
}

func (f *namespaceFacts) says(other facts) bool {
	o, ok := other.(*namespaceFacts)
	return ok && f.allows == o.allows && f.going == o.going && f.required == o.required && maps.Equal(f.labels, o.labels)
}

func (f *namespaceFacts) as(e event) event {
	e.home = f
	return e
}

func (f *namespaceFacts) stamped() time.Time { return f.stamp }

// consents reports whether a sequence may hold the pods to which it points.
func (w *world) consents(f *sequenceFacts) bool {
	if f.target == f.Namespace {
		return true
	}
	for _, allowed := range strings.Split(w.allows[f.target], ",") {
		if name := strings.Trim(allowed, " \t\r\n"); name == "*" || name == f.Namespace {
			return true
		}
	}
	return false
}

func (w *world) putNamespace(f *namespaceFacts, deleted bool) {
	if deleted {
		delete(w.allows, f.name)
		delete(w.labels, f.name)
		w.going.Delete(f.name)
		return
	}
	w.allows[f.name], w.labels[f.name] = f.allows, f.labels
	if f.going {
		w.going.Insert(f.name)
	} else {
		w.going.Delete(f.name) // another one of the name
	}
}

// refused is a sequence that the namespace to which it points does not allow. It is out of force.
type refused struct {
	*sequenceFacts
	// was is how far the sequence was when the namespace ceased to allow it; nil if it was never in force.
	was   *version
	since time.Time
	// older reports that it is older than the watch: what its status records is believed.
	older bool
}

// refuseOlder takes sequences out of force that are older than the watch, and that nobody allowed when it began.
func (j *judge) refuseOlder() {
	j.inForce = slices.DeleteFunc(j.inForce, func(v *version) bool {
		if j.world.consents(v.sequenceFacts) {
			return false
		}
		j.refused = append(j.refused, &refused{sequenceFacts: v.sequenceFacts, older: true})
		return true
	})
}

// refuse takes a sequence out of force that its target does not allow, or notes the newest spec of one that is out already.
func (j *judge) refuse(f *sequenceFacts, e event) {
	for i, r := range j.refused {
		if r.uid == f.uid {
			j.refused[i].sequenceFacts = f
			return
		}
	}
	r := &refused{sequenceFacts: f, since: e.arrived}
	if i := slices.IndexFunc(j.inForce, func(v *version) bool { return v.uid == f.uid }); i >= 0 {
		r.was = j.inForce[i]
		j.world.retire(r.was, e)
		j.inForce = slices.Delete(j.inForce, i, i+1)
	}
	j.refused = append(j.refused, r)
}

// readmit brings a sequence into force anew that was refused, and reports whether it was. What it had passed before stays
// passed.
func (j *judge) readmit(e event) bool {
	i := slices.IndexFunc(j.refused, func(r *refused) bool { return r.uid == e.sequence.uid })
	if i < 0 {
		return false
	}
	was, older := j.refused[i].was, j.refused[i].older
	j.refused = slices.Delete(j.refused, i, i+1)
	f := *e.sequence
	f.created = later(f.created, e.earliest) // time-outs count from consent
	v := newVersion(&f, j.rules, nil, j.world, e)
	v.since, v.arrived = e.revision, e.arrived
	if was != nil {
		was.remember()
		v.passedAs = was.passedAs
		if v.cluster != nil {
			v.resume()
			v.settle(v.cluster, e)
		}
	}
	if older {
		v.believe(e)
	}
	j.inForce = append(j.inForce, v)
	j.meet(v)
	return true
}

// consult takes in what a namespace allows now, which UID it has, and which labels.
func (j *judge) consult(e event) {
	j.world.putNamespace(e.home, e.deleted)
	j.world.requirements.putNamespace(e)
	j.relabel(e)
	of := func(f *sequenceFacts) event {
		e := e
		e.home, e.deleted, e.sequence = nil, false, f
		return e
	}
	concerned := func(f *sequenceFacts) bool { return f.target == e.home.name || f.Namespace == e.home.name }
	for _, v := range slices.Clone(j.inForce) {
		if concerned(v.sequenceFacts) && !j.world.consents(v.sequenceFacts) {
			j.refuse(v.sequenceFacts, e)
		}
	}
	for _, r := range slices.Clone(j.refused) {
		if concerned(r.sequenceFacts) && j.world.consents(r.sequenceFacts) {
			j.readmit(of(r.sequenceFacts))
		}
	}
}

// eachRecentlyRefused calls take with the versions whose refusal a scheduler may not have seen yet: it may still record what passes
// meanwhile.
func (j *judge) eachRecentlyRefused(e event, take func(*version)) {
	for _, r := range j.refused {
		if r.was != nil && !r.since.Before(j.rules.windowBefore(e.arrived)) {
			take(r.was)
		}
	}
}
