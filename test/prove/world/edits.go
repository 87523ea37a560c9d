package world

import (
	"time"

	"example.com/podsequence/test/prove/plan"
)

func (w *world) inventEdits() {
	for range w.between(4, 14) {
		at := w.moment(editsFrom, editsTo)
		switch choice := w.IntN(10); {
		case choice < 5:
			w.editApp(at)
		case choice < 8:
			w.editSequence(at)
		case choice < 9:
			w.editNode(at)
		default:
			w.editNamespace(at)
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

// heal has all pods turn ready that do not, after most failed pods were made again.
func (w *world) heal() {
	for _, a := range w.apps {
		if _, fails := a.template.Annotations[failAfter]; fails && w.chance(70) {
			w.remove(healAt, a.kind, a.namespace, a.name)
			again := *a
			again.template = *a.template.DeepCopy()
			delete(again.template.Annotations, failAfter)
			w.create(healAt+time.Second, a.kind, again.object())
		}
	}
	for _, namespace := range w.namespaces {
		w.add(healAt+2*time.Second, plan.PatchPods, object{"metadata": object{"annotations": object{readyAfter: "0s"}}}, namespace, tierLabel)
	}
	for _, n := range w.nodes {
		w.patch(healAt, "Node", "", n.name, object{"spec": object{"unschedulable": nil}})
	}
}
