package sequence

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// satisfaction is whether a group is satisfied, and since when.
type satisfaction struct {
	satisfied bool
	since     time.Time
}

// course is how far a sequence is on a node, or in the cluster.
type course struct {
	node   string
	groups []groupCount
	// Of each group: whether all it waits for is passed, whether it is passed, and whether it was too late.
	reached, passed, timedOut []bool
	// waiting tells of each group whether it is satisfied and its wait is not over.
	waiting []bool
	// releasedAt of each group, and passedAt; they mean something for groups that are reached, and passed.
	releasedAt, passedAt []time.Time
	current              int // the first group that is neither passed nor skipped

	suspended bool
	released  []bool // of each group, whether it was released before the sequence was suspended
}

// mayStart reports whether pods of group i may be scheduled.
func (c *course) mayStart(i int) bool {
	return c.reached[i] && (!c.suspended || c.released[i])
}

func nextFullSecond(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }

func later(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

func oracleDuration(d v1alpha1.Duration) time.Duration {
	parsed, err := d.Parse()
	if err != nil {
		panic(err)
	}
	return parsed
}

// record is what status says of group i, if it speaks of that group as it is defined now.
func (o *oracle) record(v *view, c *course, i int) v1alpha1.GroupStatus {
	if at := o.recordIndex(v, i); c.node == "" && at >= 0 {
		return v.Status.Groups[at]
	}
	return v1alpha1.GroupStatus{}
}

// remember works out what depends on the past, and keeps what the future will need of it.
func (o *oracle) remember(v *view) {
	m := v.memory
	m.forget(func(node string) bool {
		now := o.node(node)
		return node != "" && (v.courses[node] == nil || (now != nil && now.UID != m.nodes[node]))
	})
	known := len(m.watched) > 0
	m.nodes = map[string]types.UID{}
	for _, node := range o.nodes {
		m.nodes[node.Name] = node.UID
	}

	satisfied, watched, edited := map[place]satisfaction{}, map[place]time.Time{}, map[place]time.Time{}
	for _, c := range v.courses {
		_, lookedAt := m.watched[place{c.node, v.definitions[0]}]
		for i := range m.watched { // whatever its first group was
			lookedAt = lookedAt || i.node == c.node
		}
		for i, g := range c.groups {
			at := place{c.node, v.definitions[i]}
			before, counted := m.satisfied[at]
			satisfied[at] = o.satisfaction(v, c, i, g, before, counted)
			switch since, was := m.watched[at]; {
			case was && !since.IsZero():
				watched[at] = since
			default:
				watched[at] = o.second()
			}
			if _, was := m.watched[at]; was {
				edited[at] = m.edited[at]
			} else if (known && lookedAt) || (!known && o.changesUnseen(v, i)) {
				edited[at] = o.second()
			}
			if was, is := m.awaits[v.definitions[i]]; is && lookedAt && was != v.awaitsOf(i) {
				edited[at] = o.second()
			}
		}
	}
	m.awaits = map[string]string{}
	for i, definition := range v.definitions {
		m.awaits[definition] = v.awaitsOf(i)
	}
	m.satisfied, m.watched, m.edited = satisfied, watched, edited
	maps.DeleteFunc(m.once, func(at place, _ sets.Empty) bool { _, is := watched[at]; return !is })
	maps.DeleteFunc(m.lost, func(at place, _ time.Time) bool { _, is := watched[at]; return !is })

	o.suspend(v)
	reached := sets.New[place]()
	for _, c := range v.courses {
		o.run(v, c)
		for i := range c.groups {
			if c.mayStart(i) && (c.node == "" || o.open(v, i, c.node)) {
				reached.Insert(place{c.node, v.definitions[i]})
			}
		}
	}
	m.reached = reached
}

// changesUnseen reports whether status was written when another group was skipped before this one than is now. When that changed, nobody
// has recorded.
func (o *oracle) changesUnseen(v *view, i int) bool {
	written := slices.ContainsFunc(v.Status.Conditions, func(c metav1.Condition) bool { return c.Type == "Suspended" })
	for j, g := range v.Spec.PodGroups[:i] {
		if at := o.recordIndex(v, j); written && at >= 0 && precedes(v.PodSequence, j, i) && (v.Status.Groups[at].Phase == "Skipped") != g.Skip {
			return true
		}
	}
	return false
}

// forget drops what was on a node that is gone, or that was not known: a node that comes begins anew.
func (m *memory) forget(gone func(node string) bool) {
	maps.DeleteFunc(m.satisfied, func(at place, _ satisfaction) bool { return gone(at.node) })
	for _, remembered := range []map[place]time.Time{m.watched, m.edited, m.lost} {
		maps.DeleteFunc(remembered, func(at place, _ time.Time) bool { return gone(at.node) })
	}
	for _, remembered := range []sets.Set[place]{m.once, m.released} {
		for at := range remembered {
			if gone(at.node) {
				remembered.Delete(at)
			}
		}
	}
}

// clamp is the time, or now if that is unknown or in the future.
func (o *oracle) clamp(t time.Time) time.Time {
	if t.IsZero() || t.After(o.now) {
		return o.second()
	}
	return t
}

// second is now as the API would tell it.
func (o *oracle) second() time.Time { return o.now.Truncate(time.Second) }

// suspend keeps what had been released when the sequence was suspended.
func (o *oracle) suspend(v *view) {
	m := v.memory
	if v.Spec.Suspend && !m.suspended {
		m.released, m.witnessed = m.reached, m.looked
	}
	m.witnessed, m.looked = m.witnessed && v.Spec.Suspend, true
	// Of a group that an edit has made another one nothing is kept, though a later edit makes it what it was.
	maps.DeleteFunc(m.released, func(at place, _ sets.Empty) bool { _, is := m.watched[at]; return !is })
	if !v.Spec.Suspend && m.suspended {
		m.resumed = o.second()
	}
	m.begun = m.begun || !v.Spec.Suspend
	for _, c := range v.courses {
		released := sets.New[int]()
		if at := o.recordIndex(v, 0); c.node != "" && at >= 0 && v.Status.Groups[at].ReleasedAt != nil {
			m.begun = true
		}
		if m.begun {
			released.Insert(0) // it waits for nothing but the sequence
		}
		c.suspended = v.Spec.Suspend
		for i := range c.groups {
			if o.record(v, c, i).ReleasedAt != nil && !m.witnessed { // else what was released is known, and status may be older
				released.Insert(i)
			}
		}
		for i := range c.groups {
			at := place{c.node, v.definitions[i]}
			for j := range released {
				if v.Spec.Suspend && (i == j || precedes(v.PodSequence, i, j)) {
					m.released.Insert(at)
				}
			}
			c.released = append(c.released, m.released.Has(at))
		}
	}
	m.suspended = v.Spec.Suspend
}

// resumedUnseen is now if a suspension may have been lifted since status was written: when, nobody has recorded.
func (o *oracle) resumedUnseen(ps *v1alpha1.PodSequence) time.Time {
	for _, c := range ps.Status.Conditions {
		if c.Type == "Suspended" && !ps.Spec.Suspend && (c.Status == metav1.ConditionTrue || ps.Generation > ps.Status.ObservedGeneration+1) {
			return o.second()
		}
	}
	return time.Time{}
}

// resumedAt is when a suspension was lifted, as was seen or as status says.
func (o *oracle) resumedAt(v *view) time.Time {
	at := v.memory.resumed
	for _, c := range v.Status.Conditions {
		if c.Type == "Suspended" && c.Status == metav1.ConditionFalse && !v.Spec.Suspend &&
			(v.Generation > 1 || c.LastTransitionTime.After(v.CreationTimestamp.Time)) {
			at = later(at, c.LastTransitionTime.Time)
		}
	}
	return at
}

// releasedAt is when group i was released, if the groups before were passed at a time.
func (o *oracle) releasedAt(v *view, c *course, i int, before time.Time) time.Time {
	at, record := place{c.node, v.definitions[i]}, o.record(v, c, i)
	forGood := v.Spec.Mode() == v1alpha1.BootstrapOnly
	if record.ReleasedAt != nil && forGood && !record.ReleasedAt.Time.Before(before.Truncate(time.Second)) {
		return record.ReleasedAt.Time
	}
	releasedAt := later(v.CreationTimestamp.Time, v.allowed, before, v.memory.edited[at], o.resumedAt(v))
	if index := o.recordIndex(v, i); index >= 0 && changedAtIn(&v.Status, index) != nil {
		releasedAt = later(releasedAt, changedAtIn(&v.Status, index).Time)
	}
	switch {
	case c.node != "":
	case record.ReleasedAt != nil:
		releasedAt = later(releasedAt, record.ReleasedAt.Time)
	case v.Spec.PodGroups[i].Timeout != "":
		releasedAt = later(releasedAt, v.memory.watched[at]) // nobody says what was before
	}
	return releasedAt
}

// deadline is when the time of group i is over, released then. On a node it counts from when the group was first seen to wait there; it is
// zero if nobody saw that.
func (o *oracle) deadline(v *view, c *course, i int, releasedAt time.Time) time.Time {
	from, lost := releasedAt, v.memory.lost[place{c.node, v.definitions[i]}]
	switch {
	case c.node != "" && lost.IsZero():
		return time.Time{}
	case c.node != "":
		from = later(lost, o.resumedAt(v))
	case v.Spec.Mode() == v1alpha1.Continuous:
		from = later(from, lost)
	}
	return nextFullSecond(from).Add(oracleDuration(v.Spec.PodGroups[i].Timeout))
}

// noteWaiting notes of group i since when it is seen to wait on a node. One that may not start has all its time when it may.
func (o *oracle) noteWaiting(v *view, c *course, i int, mayStart, satisfied bool) {
	g, at := v.Spec.PodGroups[i], place{c.node, v.definitions[i]}
	switch {
	case g.Timeout == "" || !mayStart || !o.applies(g, c.node) || needsNone(g) && !waitsForMore(g) || o.isAbsent(v, c, i):
		delete(v.memory.lost, at)
	case !satisfied && v.memory.lost[at].IsZero():
		v.memory.lost[at] = o.second()
	}
}

// isAbsent reports whether nothing of group i is on the node or due there, so that only a sequence that goes on without it counts the time.
func (o *oracle) isAbsent(v *view, c *course, i int) bool {
	g := v.Spec.PodGroups[i]
	return c.groups[i].expected == 0 && !needsNone(g) && g.OnTimeout != v1alpha1.TimeoutContinue
}

// timedOut reports whether group i is too late.
func (o *oracle) timedOut(v *view, c *course, i int, deadline time.Time) bool {
	at := place{c.node, v.definitions[i]}
	return !deadline.IsZero() && !v.memory.once.Has(at) && !o.now.Before(deadline)
}

// noteLost notes of group i that it was satisfied and, by Continuous, is not any more. What status says counts until something was seen.
func (o *oracle) noteLost(v *view, c *course, i int, forGood, satisfied bool) {
	m, at, index := v.memory, place{c.node, v.definitions[i]}, o.recordIndex(v, i)
	if forGood && !m.lost[at].IsZero() { // it was satisfied once while that could be lost
		m.once.Insert(at)
		delete(m.lost, at)
	}
	if m.lost[at].IsZero() && c.node == "" && index >= 0 {
		var lost *metav1.Time
		if memory := v.Status.Memory; memory != nil && index < len(memory.Groups) {
			lost = memory.Groups[index].LostAt
		}
		switch {
		case !forGood && lost != nil:
			if !m.once.Has(at) {
				m.lost[at] = lost.Time
			}
		case v.Status.Groups[index].FirstSatisfiedAt != nil:
			m.once.Insert(at)
		}
	}
	g := v.Spec.PodGroups[i]
	needsNothing := c.node != "" && needsNone(g) && !waitsForMore(g)
	if !forGood && m.once.Has(at) && !satisfied && !needsNothing {
		m.once.Delete(at)
		m.lost[at] = o.second()
	}
}
