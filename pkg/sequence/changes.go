package sequence

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Changes is what one event brought about.
type Changes struct {
	// Released are the pods that this event released, and pods first seen that carry a gate and may be scheduled.
	Released []Release
	// Sequences are those whose report may have changed.
	Sequences sets.Set[types.NamespacedName]
	// Held are pods that must wait from now on, or wait for another sequence than before.
	Held []types.NamespacedName
	// Advanced are the sequences whose waiting pods wait for another group than before: see Engine.Waiting.
	Advanced []types.NamespacedName
	// Questions are those that this event raised, or raised anew: see Engine.Confirm.
	Questions Questions

	released sets.Set[types.UID] // those in Released
}

// Release is a pod that may be scheduled.
type Release struct {
	Namespace, Name string
	UID             types.UID
	SchedulerName   string
	CreatedAt       time.Time
	// Gates are those of its gates that its sequences lift: none when the pod was held without a gate.
	Gates []string
	// StillGated reports that it also carries gates that are not for its sequences to lift.
	StillGated bool
}

// Empty reports whether nothing was brought about. Questions are not news to anybody but who answers them.
func (c *Changes) Empty() bool {
	return len(c.Released) == 0 && len(c.Sequences) == 0 && len(c.Held) == 0 && len(c.Advanced) == 0
}

func (c *Changes) touch(key types.NamespacedName) {
	if c.Sequences == nil {
		c.Sequences = sets.New[types.NamespacedName]()
	}
	c.Sequences.Insert(key)
}

// hold reports the pod if it must wait.
func (e *Engine) hold(c *Changes, p *pod) {
	if held := e.publish(p); held && !p.Terminating {
		c.Held = append(c.Held, types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
	}
}

// release reports the pod if it may be scheduled. A pod that was not waiting needs it only when it still carries a gate.
func (e *Engine) release(c *Changes, p *pod, waiting bool) {
	held := e.publish(p)
	if p.Bound() || p.Terminating {
		return
	}
	if held {
		if m, early := e.earlyIn(p); early && e.isReleased(p) {
			e.askForPod(p, m, c)
		}
		return
	}
	gates := p.liftable()
	if (!waiting && len(gates) == 0) || c.released.Has(p.UID) {
		return
	}
	if c.released == nil {
		c.released = sets.New[types.UID]()
	}
	c.released.Insert(p.UID)
	c.Released = append(c.Released, Release{
		Namespace: p.Namespace, Name: p.Name, UID: p.UID, SchedulerName: p.SchedulerName, CreatedAt: p.CreatedAt.Time(), Gates: gates,
		StillGated: len(gates) < len(p.Gates()),
	})
}
