package sequence

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Objects that groups wait for. The oracle, too, knows of them only what status says.

// oracleObject is what is known of an object: in which words status says it, whether the object is as required, and since when.
type oracleObject struct {
	says      string
	uid       types.UID
	satisfied bool
	since     time.Time
}

// oracleObjects are those of all sequences, by the UID of the sequence and the reference.
type oracleObjects map[types.UID]map[v1alpha1.ObjectReference]oracleObject

// hasObjects reports whether the group waits for objects, and isMemberless whether it waits for nothing else.
func hasObjects(g v1alpha1.PodGroup) bool { return len(g.Objects) > 0 }

func isMemberless(g v1alpha1.PodGroup) bool {
	return waitsForMore(g) && len(g.Pods) == 0 && g.PodSelector == nil
}

// referencesIn are the objects that a group waits for.
func referencesIn(g v1alpha1.PodGroup) []v1alpha1.ObjectReference {
	references := slices.Clone(g.Objects)
	for i := range references {
		if references[i].Until == "" {
			references[i].Until = "Current"
		}
	}
	return references
}

// seeObjects takes what statuses say of objects.
func (o *oracle) seeObjects() {
	o.objectsBefore, o.objectsNow = o.objectsNow, oracleObjects{}
	for _, ps := range all[*v1alpha1.PodSequence](o, "PodSequence") {
		o.objectsNow[ps.UID] = o.objectsIn(ps)
	}
	for _, cluster := range all[*v1alpha1.ClusterPodSequence](o, "ClusterPodSequence") {
		o.objectsNow[cluster.UID] = o.objectsIn(inCommon(cluster))
	}
}

func (o *oracle) objectsIn(ps *v1alpha1.PodSequence) map[v1alpha1.ObjectReference]oracleObject {
	objects := map[v1alpha1.ObjectReference]oracleObject{}
	for _, g := range ps.Spec.PodGroups {
		for _, reference := range referencesIn(g) {
			objects[reference] = o.objectIn(ps, reference)
		}
	}
	return objects
}

// objectIn is what status says of one object. If it says it twice, the first counts.
func (o *oracle) objectIn(ps *v1alpha1.PodSequence, reference v1alpha1.ObjectReference) oracleObject {
	var chosen *v1alpha1.ObjectStatus
	for _, g := range ps.Status.Groups {
		for _, record := range g.Objects {
			of := v1alpha1.ObjectReference{APIVersion: record.APIVersion, Kind: record.Kind, Namespace: record.Namespace, Name: record.Name, Until: record.Until}
			if of.Until == "" {
				of.Until = "Current"
			}
			if of == reference && chosen == nil {
				chosen = &record
			}
		}
	}
	if chosen == nil {
		return oracleObject{}
	}
	now := oracleObject{says: fmt.Sprint(chosen.State, chosen.Message), uid: chosen.UID, satisfied: chosen.State == "Satisfied"}
	before := o.objectsBefore[ps.UID][reference]
	switch {
	case !now.satisfied:
	case chosen.Since != nil:
		now.since = chosen.Since.UTC()
	case before.satisfied && before.uid == now.uid:
		now.since = before.since
	default:
		now.since = o.second()
	}
	return now
}

// addObjects adds to what group i has what it has of its objects.
func (o *oracle) addObjects(v *view, i int, c groupCount) groupCount {
	g := v.Spec.PodGroups[i]
	if isMemberless(g) {
		c.satisfied = true
	}
	c.butForObjects = c.satisfied
	news := false
	for _, reference := range referencesIn(g) {
		object, before := o.objectsNow[v.UID][reference], o.objectsBefore[v.UID][reference]
		c.satisfied = c.satisfied && object.satisfied
		c.objectsSince = later(c.objectsSince, object.since)
		news = news || object != before
	}
	if news {
		c.objectsNews = c.objectsSince
	}
	return c
}

// objectsOfWorld are those for which groups of random worlds wait.
var objectsOfWorld = []v1alpha1.ObjectReference{
	{APIVersion: "example.com/v1", Kind: "Certificate", Name: "web"},
	{APIVersion: "example.com/v1", Kind: "Certificate", Name: "web", Until: "Ready"},
	{APIVersion: "v1", Kind: "ConfigMap", Name: "settings", Until: "Exists"},
}

// requireObjects makes some groups wait for objects, and some for nothing else.
func (w *randomWorld) requireObjects(g *v1alpha1.PodGroup) {
	if !w.oneIn(5) {
		return
	}
	for range 1 + w.IntN(2) {
		g.Objects = append(g.Objects, pick(w, objectsOfWorld...))
	}
	if w.oneIn(2) {
		*g = v1alpha1.PodGroup{
			Name: g.Name, Objects: g.Objects, WaitDuration: g.WaitDuration, Timeout: g.Timeout, OnTimeout: g.OnTimeout, NodeSelector: g.NodeSelector,
		}
	}
}

// changeObjects makes the controller record something else of objects.
func (w *randomWorld) changeObjects(ps *v1alpha1.PodSequence) {
	if w.oneIn(2) {
		return
	}
	if len(ps.Status.Groups) == 0 {
		ps.Status.Groups = []v1alpha1.GroupStatus{{}}
	}
	groups := slices.Clone(ps.Status.Groups)
	for range 1 + w.IntN(3) {
		i, record := w.IntN(len(groups)), w.randomRecord()
		// Sometimes status then says two things of one object.
		groups[i].Objects = slices.DeleteFunc(slices.Clone(groups[i].Objects), func(old v1alpha1.ObjectStatus) bool {
			return old.Kind == record.Kind && old.Until == record.Until
		})
		groups[i].Objects = append(groups[i].Objects, record)
		if w.oneIn(3) {
			continue
		}
		for j := range groups {
			if j != i {
				groups[j].Objects = slices.DeleteFunc(slices.Clone(groups[j].Objects), func(old v1alpha1.ObjectStatus) bool {
					return old.Kind == record.Kind && old.Until == record.Until
				})
			}
		}
	}
	ps.Status.Groups = groups
}

func (w *randomWorld) randomRecord() v1alpha1.ObjectStatus {
	of := pick(w, objectsOfWorld...)
	record := v1alpha1.ObjectStatus{
		APIVersion: of.APIVersion, Kind: of.Kind, Name: of.Name, Until: of.Until, UID: types.UID(strconv.Itoa(w.IntN(2))),
		State: pick(w, v1alpha1.ObjectSatisfied, v1alpha1.ObjectSatisfied, v1alpha1.ObjectSatisfied, v1alpha1.ObjectWaiting, v1alpha1.ObjectNotFound,
			v1alpha1.ObjectNotReadable),
	}
	switch {
	case record.State != v1alpha1.ObjectSatisfied:
		record.Message = pick(w, "", "it is being made")
	case w.truthful || !w.oneIn(5):
		at := w.apiTime()
		record.Since = &metav1.Time{Time: at.UTC()}
	}
	return record
}

// keptObjects are the records of objects in a status that is about to be written anew, by the group in whose record they will be: without
// those that no group names.
func keptObjects(ps *v1alpha1.PodSequence) map[int][]v1alpha1.ObjectStatus {
	kept := map[int][]v1alpha1.ObjectStatus{}
	for i, g := range ps.Spec.PodGroups {
		for _, before := range ps.Status.Groups {
			for _, record := range before.Objects {
				if len(kept[i]) < 4 && slices.ContainsFunc(g.Objects, func(o v1alpha1.ObjectReference) bool { return o.Kind == record.Kind && o.Until == record.Until }) {
					kept[i] = append(kept[i], record)
				}
			}
		}
	}
	return kept
}

// setOf spells out what a group waits for, in any order.
func setOf(references []v1alpha1.ObjectReference) []string {
	var texts []string
	for _, reference := range references {
		texts = append(texts, fmt.Sprint(reference))
	}
	return sets.List(sets.New(texts...))
}

// countObjects tells how often groups waited for objects.
func (c *comparison) countObjects() {
	for _, v := range c.oracle.views {
		for _, course := range v.courses {
			scope := "cluster: "
			if course.node != "" {
				scope = "a node: "
			}
			for i, g := range v.Spec.PodGroups {
				kind := "objects and members"
				if isMemberless(g) {
					kind = "objects"
				}
				switch {
				case !hasObjects(g) || !course.reached[i]:
				case course.passed[i]:
					c.seen[scope+"passed a group of "+kind]++
				case course.waiting[i]:
					c.seen[scope+"a wait after "+kind]++
				default:
					c.seen[scope+"waits for "+kind]++
				}
			}
		}
	}
}
