package sequence

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// oracleReached is what the oracle knows of pods apart from that they are ready or have succeeded: that they have started, and which
// conditions they have.
type oracleReached struct {
	// now and before are, by pod and by what it has reached, since when it has, as of when last looked at, and the time before.
	now, before map[types.UID]map[string]time.Time
}

// unusual is what a group asks of its members other than to be ready or to complete; empty if it does not.
func unusual(g v1alpha1.PodGroup) string {
	switch {
	case g.RequiredCondition != "":
		return "condition " + g.RequiredCondition
	case g.RequiredStatus == "Started":
		return "started"
	}
	return ""
}

// allReached is what the pod says that it has reached, and since when.
func allReached(p *corev1.Pod) map[string]time.Time {
	reached := map[string]time.Time{}
	if endOf(p) == corev1.PodFailed {
		return reached
	}
	if p.Status.Phase == corev1.PodRunning || p.Status.Phase == corev1.PodSucceeded {
		var started, finished time.Time
		for _, s := range p.Status.ContainerStatuses {
			for _, ended := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
				if ended != nil {
					started = later(started, ended.StartedAt.Time)
				}
			}
			if s.State.Terminated != nil {
				finished = later(finished, s.State.Terminated.FinishedAt.Time)
			}
			if s.State.Running != nil {
				started = later(started, s.State.Running.StartedAt.Time)
			}
		}
		if started.IsZero() {
			started = finished
		}
		reached["started"] = ofAPI(p, started)
	}
	for _, c := range p.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			reached["condition "+string(c.Type)] = ofAPI(p, c.LastTransitionTime.Time)
		}
	}
	return reached
}

// saysReached is what the pod says of whether, and since when, it has reached what the group requires.
func saysReached(p *corev1.Pod, g v1alpha1.PodGroup) (bool, time.Time) {
	if unusual(g) == "" {
		done, at := said(p, requirementOf(g))
		return done, ofAPI(p, at)
	}
	at, done := allReached(p)[unusual(g)]
	return done, at
}

// settleReached notes what is so now, and what was before the event.
func (o *oracle) settleReached() {
	r := &o.reached
	r.before, r.now = r.now, map[types.UID]map[string]time.Time{}
	for _, p := range o.pods {
		r.now[p.UID] = map[string]time.Time{}
		for what, at := range allReached(p) {
			r.now[p.UID][what] = o.notBeforeNode(p, at)
		}
	}
}

func reachedAt(p *corev1.Pod, what string, since map[types.UID]map[string]time.Time) (bool, time.Time) {
	at, done := since[p.UID][what]
	if _, says := allReached(p)[what]; !says {
		return false, time.Time{}
	}
	return done, at
}

// aside does something by chance that changes nothing of what happens by chance after it: the worlds of a seed stay what they were.
func (w *randomWorld) aside(do func()) { w.asideBy(2, do) }

// asideBy is aside for what happens by another chance: nor does it change what aside does.
func (w *randomWorld) asideBy(number uint64, do func()) {
	main := w.Rand
	if w.others == nil {
		w.others = map[uint64]*rand.Rand{}
	}
	if w.others[number] == nil {
		w.others[number] = rand.New(rand.NewPCG(w.seed, number))
	}
	w.Rand = w.others[number]
	do()
	w.Rand = main
}

// changeReached changes what few groups ask for.
func (w *randomWorld) changeReached(p *corev1.Pod) {
	switch w.IntN(4) {
	case 0:
		w.start(p)
	case 1:
		w.setCondition(p)
	}
}

// conditionsOfWorld are those that groups of random worlds ask for.
var conditionsOfWorld = []string{"example.com/Reachable", "Ready"}

// requireUnusual makes some groups ask for something else than that their members are ready.
func (w *randomWorld) requireUnusual(g *v1alpha1.PodGroup) {
	g.RequiredCondition = ""
	switch w.IntN(7) {
	case 0:
		g.RequiredStatus = "Started"
	case 1:
		g.RequiredStatus, g.RequiredCondition = "", pick(w, conditionsOfWorld...)
	}
}

// start makes the kubelet say when a container of a pod that runs started.
func (w *randomWorld) start(p *corev1.Pod) {
	if p.Status.Phase != corev1.PodRunning || w.oneIn(6) {
		return
	}
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Running != nil && !w.oneIn(4) {
			return
		}
	}
	status := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: w.apiTime()}}}
	if w.oneIn(4) {
		status = corev1.ContainerStatus{LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: w.apiTime()}}}
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
}

// setCondition makes an operator say something of a pod.
func (w *randomWorld) setCondition(p *corev1.Pod) {
	status := pick(w, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)
	for i, c := range p.Status.Conditions {
		if string(c.Type) == conditionsOfWorld[0] {
			if c.Status != status {
				p.Status.Conditions[i].Status, p.Status.Conditions[i].LastTransitionTime = status, w.apiTime()
			}
			return
		}
	}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodConditionType(conditionsOfWorld[0]), Status: status, LastTransitionTime: w.apiTime(),
	})
}

// startedAtSuccess is when the pod had started that succeeded at a time.
func (w *randomWorld) startedAtSuccess(at metav1.Time) metav1.Time {
	if w.oneIn(2) {
		return metav1.Time{} // nobody says
	}
	if w.truthful {
		return at
	}
	return metav1.NewTime(at.Add(-time.Duration(w.IntN(3)) * time.Second))
}

// countReached tells how often groups asked for something else than that their members are ready.
func (c *comparison) countReached() {
	for _, v := range c.oracle.views {
		for _, p := range c.oracle.pods {
			i, member := v.groupOf[oracleKey(p)]
			if !member || unusual(v.Spec.PodGroups[i]) == "" {
				continue
			}
			kind := "started"
			if v.Spec.PodGroups[i].RequiredCondition != "" {
				kind = "has a condition"
			}
			done, _ := c.oracle.done(p, v.Spec.PodGroups[i])
			says, _ := saysReached(p, v.Spec.PodGroups[i])
			ready, _ := said(p, v1alpha1.RequireReady)
			switch {
			case done && !ready:
				c.seen["a member "+kind+", and is not ready"]++
			case done:
				c.seen["a member "+kind]++
			case says:
				c.seen["a member "+kind+" on a node that is gone"]++
			case ready:
				c.seen["a member is ready, but not what is asked: "+kind]++
			}
		}
	}
}

// endOf is the phase of the pod. A pod that its kubelet ended has failed, whatever its programs exited with.
func endOf(p *corev1.Pod) corev1.PodPhase {
	for _, c := range p.Status.Conditions {
		byKubelet := c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "TerminationByKubelet"
		if byKubelet && p.Status.Phase == corev1.PodSucceeded {
			return corev1.PodFailed
		}
	}
	return p.Status.Phase
}

// said is what the kubelet says of whether, and since when, the pod has reached what the group requires.
func said(p *corev1.Pod, required v1alpha1.RequiredStatus) (bool, time.Time) {
	if endOf(p) == corev1.PodSucceeded {
		var last time.Time
		for _, s := range p.Status.ContainerStatuses {
			if s.State.Terminated != nil && s.State.Terminated.FinishedAt.After(last) {
				last = s.State.Terminated.FinishedAt.Time
			}
		}
		return true, last
	}
	if required == v1alpha1.RequireComplete || endOf(p) == corev1.PodFailed {
		return false, time.Time{}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return true, c.LastTransitionTime.Time
		}
	}
	return false, time.Time{}
}
