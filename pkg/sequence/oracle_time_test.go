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
	// Of each group: whether it is passed when looked at by itself, and whether it was too late.
	passed, timedOut []bool
	// waiting tells of each group whether it is satisfied and its wait is not over.
	waiting []bool
	// releasedAt of each group, and passedAt; they mean something up to the current group.
	releasedAt, passedAt []time.Time
	current              int // the first group not passed

	suspended bool
	released  []bool // of each group, whether it was released before the sequence was suspended
}

// mayStart reports whether pods of group i may be scheduled.
func (c *course) mayStart(i int) bool {
	return i <= c.current && (!c.suspended || c.released[i])
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
	if c.node == "" && i < len(v.Status.Groups) && o.definitions[v.Status.Groups[i].Hash] == v.definitions[i] {
		return v.Status.Groups[i]
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
			} else if known && lookedAt {
				edited[at] = o.second()
			}
		}
	}
	m.satisfied, m.watched, m.edited = satisfied, watched, edited
	maps.DeleteFunc(m.once, func(at place, _ sets.Empty) bool { _, is := watched[at]; return !is })

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

// forget drops what was on a node that is gone, or that was not known: a node that comes begins anew.
func (m *memory) forget(gone func(node string) bool) {
	maps.DeleteFunc(m.satisfied, func(at place, _ satisfaction) bool { return gone(at.node) })
	for _, remembered := range []map[place]time.Time{m.watched, m.edited} {
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
		m.released = m.reached
	}
	if !v.Spec.Suspend && m.suspended {
		m.resumed = o.second()
	}
	m.begun = m.begun || !v.Spec.Suspend
	for _, c := range v.courses {
		proven := -1
		for _, p := range o.pods {
			if i := o.releasedIn(v, p); i >= 0 {
				m.begun = true
				if c.node == "" || c.node == p.Spec.NodeName {
					proven = max(proven, i)
				}
			}
		}
		if c.node != "" && o.isRecorded(v, 0) && v.Status.Groups[0].ReleasedAt != nil {
			m.begun = true
		}
		if m.begun {
			proven = max(proven, 0) // it waits for nothing but the sequence
		}
		c.suspended = v.Spec.Suspend
		for i := range c.groups {
			if o.record(v, c, i).ReleasedAt != nil {
				proven = max(proven, i)
			}
		}
		for i := range c.groups {
			at := place{c.node, v.definitions[i]}
			if v.Spec.Suspend && i <= proven {
				m.released.Insert(at)
			}
			c.released = append(c.released, m.released.Has(at))
		}
	}
	m.suspended = v.Spec.Suspend
}

// isRecorded reports whether status speaks of group i as it is defined now.
func (o *oracle) isRecorded(v *view, i int) bool {
	return i < len(v.Status.Groups) && o.definitions[v.Status.Groups[i].Hash] == v.definitions[i]
}

// resumedAt is when a suspension was lifted, as was seen or as status says.
func (o *oracle) resumedAt(v *view) time.Time {
	at := v.memory.resumed
	for _, c := range v.Status.Conditions {
		if c.Type == "Suspended" && c.Status == metav1.ConditionFalse && v.Generation > 1 && !v.Spec.Suspend {
			at = later(at, c.LastTransitionTime.Time)
		}
	}
	return at
}

// firstReleasedAt is when group 0 was released.
func (o *oracle) firstReleasedAt(v *view, c *course) time.Time {
	at := later(v.CreationTimestamp.Time, v.allowed)
	if c.node == "" {
		return at
	}
	if node := o.node(c.node); node != nil {
		at = later(at, node.CreationTimestamp.Time)
	}
	for _, ds := range o.due(v, 0, c.node) {
		at = later(at, ds.CreationTimestamp.Time)
	}
	return at
}

// proven is the number of groups that must have been passed, as proofs on pods and status tell.
func (o *oracle) proven(v *view, c *course) int {
	proven := 0
	for _, p := range o.pods {
		proven = max(proven, o.releasedIn(v, p))
	}
	for i := range c.groups {
		if o.record(v, c, i).PassedAt != nil {
			proven = max(proven, i+1)
		}
	}
	return proven
}

// releasedAt is when group i was released, if the groups before were passed at a time.
func (o *oracle) releasedAt(v *view, c *course, i int, before time.Time) time.Time {
	at, record := place{c.node, v.definitions[i]}, o.record(v, c, i)
	forGood := v.Spec.Mode() == v1alpha1.BootstrapOnly
	if record.ReleasedAt != nil && forGood {
		return record.ReleasedAt.Time
	}
	releasedAt := later(o.firstReleasedAt(v, c), before, v.memory.edited[at], o.resumedAt(v))
	if o.isRecorded(v, i) && v.Status.Groups[i].ChangedAt != nil {
		releasedAt = later(releasedAt, v.Status.Groups[i].ChangedAt.Time)
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

// timedOut reports whether group i, released then, is too late.
func (o *oracle) timedOut(v *view, c *course, i int, deadline time.Time) bool {
	at := place{c.node, v.definitions[i]}
	if v.memory.once.Has(at) || o.now.Before(deadline) || o.nodeRecord(v, c, i).Has("ready before") {
		return false
	}
	if c.node == "" || !v.memory.watched[at].After(deadline) {
		return true
	}
	return o.nodeRecord(v, c, i).Has("timed out")
}

// nodeRecord is what status says of group i on a node.
func (o *oracle) nodeRecord(v *view, c *course, i int) sets.Set[string] {
	says := sets.New[string]()
	for _, n := range v.Status.NodeStatus {
		if n.NodeName != c.node || !o.isRecorded(v, i) {
			continue
		}
		if slices.Contains(n.TimedOut, int32(i)) {
			says.Insert("timed out")
		}
		if slices.Contains(n.ReadyBefore, int32(i)) {
			says.Insert("ready before")
		}
	}
	return says
}

// run goes through the groups in order.
func (o *oracle) run(v *view, c *course) {
	forGood := v.Spec.Mode() == v1alpha1.BootstrapOnly
	proven := 0
	if forGood {
		proven = o.proven(v, c)
	}
	var passes []pass
	before, open := time.Time{}, c.node == "" || o.node(c.node) != nil // before is when the groups before were all passed
	for i, g := range v.Spec.PodGroups {
		at := place{c.node, v.definitions[i]}
		record := o.record(v, c, i)
		releasedAt := o.releasedAt(v, c, i, before)
		wasPassed := forGood && i < len(v.memory.passes) && v.memory.passes[i].definition == v.definitions[i]

		s := v.memory.satisfied[at]
		end := s.since
		if wait := oracleDuration(g.WaitDuration); wait > 0 {
			end = nextFullSecond(s.since).Add(wait)
		}
		waitOver := s.satisfied && !o.now.Before(end)
		timedOut := false
		if record.FirstSatisfiedAt != nil {
			v.memory.once.Insert(at)
		}
		if open && (!c.suspended || c.released[i]) && !wasPassed {
			timedOut = g.Timeout != "" && o.timedOut(v, c, i, nextFullSecond(releasedAt).Add(oracleDuration(g.Timeout)))
			if s.satisfied && (!timedOut || waitOver) {
				v.memory.once.Insert(at)
				timedOut = false
			}
		}

		passed, passedAt := true, releasedAt
		switch {
		case !o.applies(g, c.node):
			passedAt = later(o.firstReleasedAt(v, c), before)
		case forGood && record.PassedAt != nil:
			passedAt = record.PassedAt.Time
		case wasPassed:
			passedAt = v.memory.passes[i].at
		case waitOver:
			passedAt = later(end, releasedAt)
		case timedOut && g.OnTimeout == v1alpha1.TimeoutContinue:
			passedAt = nextFullSecond(releasedAt).Add(oracleDuration(g.Timeout))
		case i < proven:
			passedAt = later(o.second(), releasedAt)
			v.memory.once.Insert(at)
		default:
			passed = false
		}

		c.passed = append(c.passed, passed)
		c.timedOut = append(c.timedOut, timedOut)
		c.waiting = append(c.waiting, s.satisfied && !waitOver)
		c.releasedAt = append(c.releasedAt, releasedAt)
		c.passedAt = append(c.passedAt, passedAt)
		if open = open && passed; open {
			c.current = i + 1
			before = later(before, passedAt)
			passes = append(passes, pass{v.definitions[i], passedAt})
		}
	}
	v.memory.passes = nil
	if forGood {
		v.memory.passes = passes
	}
}
