package sequence

import (
	"iter"
	"maps"
	"slices"
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
	// Held are pods that must wait from now on, or wait for another sequence than before, or on the one node that they ask
	// for wait for another group.
	Held []types.NamespacedName
	// Nominated are pods of our scheduler that must wait and for which a nomination keeps room, see Engine.Nomination. Each is
	// reported when it must wait from now on, and with each version that comes while it does.
	Nominated []types.NamespacedName
	// Advanced are the sequences whose waiting pods wait for another group than before: see Engine.Waiting.
	Advanced []types.NamespacedName
	// Matched are the sequences with a group that pods or workloads match from now on. Pods that wait for the group may have been told
	// that nothing matches it: see Engine.Waiting.
	Matched sets.Set[types.NamespacedName]
	// Questions are those that this event raised, or raised anew: see Engine.Confirm.
	Questions Questions
	// WentBack is a version that was known of an object, if a list that cannot be older has the object in an older one: the API server was
	// put back to an older state, and the engine knows what never happened. It must not be used any more.
	WentBack string
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
	return len(c.Released) == 0 && len(c.Sequences) == 0 && len(c.Held) == 0 && len(c.Nominated) == 0 &&
		len(c.Advanced) == 0 && len(c.Matched) == 0
}

func (c *Changes) touch(key types.NamespacedName) {
	if c.Sequences == nil {
		c.Sequences = sets.New[types.NamespacedName]()
	}
	c.Sequences.Insert(key)
}

func (c *Changes) match(key types.NamespacedName) {
	if c.Matched == nil {
		c.Matched = sets.New[types.NamespacedName]()
	}
	c.Matched.Insert(key)
}

// settlePod publishes the verdict on a pod, and reports how it differs from the one that was published. To look at a pod twice
// reports nothing twice.
func (k *knowledge) settlePod(c *Changes, p *pod) {
	was := k.settings.published(p.published, p.UID)
	k.report(c, p, was, k.publish(p))
}

// settleEntered is settlePod for a new version of a pod. Who asked about the pod before the verdict was published has left a
// note, and holds it.
func (k *knowledge) settleEntered(c *Changes, p *pod) {
	was := k.settings.published(p.published, p.UID)
	was.nominated = false // this version may have another nomination
	is := k.publish(p)
	if k.unseen.take(p.UID, p.ResourceVersion) {
		was = verdict{held: true}
	}
	k.report(c, p, was, is)
}

// report reports how the verdict on a pod differs from an earlier one.
func (k *knowledge) report(c *Changes, p *pod, was, is verdict) {
	switch {
	case p.Bound(), p.Terminating:
	case is.early != nil:
		k.questions.askForPod(p, is.early, c)
		fallthrough
	case is.held:
		if !was.held || was.reason != is.reason {
			c.Held = append(c.Held, p.key())
		}
		if is.nominated && !was.nominated {
			c.Nominated = append(c.Nominated, p.key())
		}
	case was.held, was.opensMore(is), was.liftsMore(is):
		if len(is.lift) > 0 {
			p.released = new(k.questions.nowMoment())
		}
		c.Released = append(c.Released, Release{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID, SchedulerName: p.SchedulerName, CreatedAt: p.CreatedAt.Time(), Gates: is.lift,
			StillGated: len(is.lift) < len(p.Gates()),
		})
	}
}

// settleDomain reports what the sequence of a domain waits for from now on, and what the domain means to pods.
func (k *knowledge) settleDomain(c *Changes, d dirtyDomain) {
	s, before, now := d.sequence, d.before, d.published
	if s.DryRun {
		return
	}
	if before.unmatched&^now.unmatched&d.Current() != 0 && (!s.PerNode || k.nodes.hasPinned(d.node)) {
		c.match(s.Key)
	}
	if s.PerNode {
		return
	}
	// If the group is not passed, what it waits for is known only when it is confirmed.
	if before.Passed != now.Passed || (before.unconfirmed && !now.unconfirmed) {
		c.Advanced = append(c.Advanced, s.Key)
	}
	if before.unpublished {
		return // its pods are looked at by themselves
	}
	for i := range (before.Released ^ now.Released).All() {
		members := d.peek(i).members
		k.settlePods(c, maps.Keys(members), len(members))
	}
}

// settleClass reports what is new about the pods of an equivalence class.
func (k *knowledge) settleClass(c *Changes, class *equivalenceClass) {
	was := class.published
	class.dirty, class.published = false, class.verdict()
	if was != class.published {
		k.settlePods(c, class.queue.all(), class.queue.len())
	}
}

// settlePods is settlePod for pods of which most often all are released if one is.
func (k *knowledge) settlePods(c *Changes, pods iter.Seq[*pod], count int) {
	for p := range pods {
		if k.settlePod(c, p); len(c.Released) == 1 {
			c.Released = slices.Grow(c.Released, count)
		}
	}
}
