package world

import (
	"time"

	"example.com/podsequence/test/prove/plan"
)

func (w *world) inventEdits() {
	for range w.between(4, 14) {
		at := w.moment(editsFrom, editsTo)
		switch choice := w.IntN(20); {
		case choice < 10:
			w.editApp(at)
		case choice < 16:
			w.editSequence(at)
		case choice < 18:
			w.editNode(at)
		case choice < 19:
			w.restore(at)
		default:
			w.editNamespace(at)
		}
	}
}

// restore deletes and recreates everything in a namespace, as tools restore a backup: pods first, then workloads, and custom
// resources last. They have other UIDs then, and sequences no status.
func (w *world) restore(at time.Duration) {
	namespace := one(w.dice, w.namespaces...)
	var pods, workloads []*app
	for _, a := range w.apps {
		switch {
		case a.namespace != namespace:
		case a.kind == "Pod":
			pods = append(pods, a)
		default:
			workloads = append(workloads, a)
		}
	}
	for _, s := range w.sequences {
		if s.namespace == namespace {
			w.remove(at, s.kind(), s.namespace, s.name)
		}
	}
	for _, a := range append(workloads, pods...) {
		w.remove(at, a.kind, a.namespace, a.name)
	}
	at += 2 * time.Second
	for i, a := range append(pods, workloads...) {
		w.create(at+time.Duration(i)*50*time.Millisecond, a.kind, a.object())
	}
	for _, s := range w.sequences {
		if s.namespace == namespace {
			w.create(at+w.moment(time.Second, 2*time.Second), s.kind(), s.object())
		}
	}
}

// annotatePods tells the pods that an app has at that moment what becomes of them.
func (w *world) annotatePods(at time.Duration, a *app, key, value string) {
	w.add(at, plan.PatchPods, object{"metadata": object{"annotations": object{key: value}}}, a.namespace, appLabel+"="+a.name)
}

func (w *world) deletePods(at time.Duration, a *app) {
	w.add(at, plan.DeletePods, nil, a.namespace, appLabel+"="+a.name)
}

// makeEverythingReady makes all pods ready that are not, after it has replaced most of those that fail.
func (w *world) makeEverythingReady() {
	for _, a := range w.apps {
		if _, fails := a.template.Annotations[failAfter]; fails && w.chance(70) {
			w.makeAgainWithout(a, failAfter)
		}
	}
	w.healKubelets()
	for _, namespace := range w.namespaces {
		w.add(healAt+2*time.Second, plan.PatchPods, object{"metadata": object{"annotations": object{readyAfter: "0s"}}}, namespace, tierLabel)
	}
	for _, n := range w.nodes {
		w.patch(healAt, "Node", "", n.name, object{"spec": object{"unschedulable": nil}})
	}
}

// makeAgainWithout replaces an app by one whose pods lack an annotation.
func (w *world) makeAgainWithout(a *app, annotation string) {
	w.remove(healAt, a.kind, a.namespace, a.name)
	again := *a
	again.template = *a.template.DeepCopy()
	delete(again.template.Annotations, annotation)
	w.create(healAt+time.Second, a.kind, again.object())
}
