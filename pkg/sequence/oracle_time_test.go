package sequence

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// satisfaction is whether a group is satisfied, since when, and by which pods.
type satisfaction struct {
	satisfied bool
	since     time.Time
	done      map[string]time.Time
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

// mayStart tells whether pods of group i may go.
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
	v.memory.forget(func(node string) bool {
		return node != "" && (v.courses[node] == nil || (o.node(node) != nil && !v.memory.nodes.Has(node)))
	})
	v.memory.nodes = sets.New[string]()
	for _, node := range o.nodes {
		v.memory.nodes.Insert(node.Name)
	}

	satisfied := map[place]satisfaction{}
	for _, c := range v.courses {
		for i, g := range c.groups {
			s := satisfaction{satisfied: g.satisfied, done: g.times}
			before, counted := v.memory.satisfied[place{c.node, v.definitions[i]}]
			switch {
			case !g.satisfied:
			case !counted: // the sequence is new, or the group defined anew, or there was nothing on the node
				s.since = o.sinceFirstSeen(g, o.record(v, c, i).SatisfiedAt)
			case before.satisfied:
				s.since = before.since
			default:
				s.since = o.sinceThisEvent(g, before)
			}
			satisfied[place{c.node, v.definitions[i]}] = s
		}
	}
	v.memory.satisfied = satisfied

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
	v.memory.reached = reached
}

// forget drops what was on a node that is gone, or that was not known: a node that comes begins anew.
func (m *memory) forget(gone func(node string) bool) {
	maps.DeleteFunc(m.satisfied, func(at place, _ satisfaction) bool { return gone(at.node) })
	for _, remembered := range []sets.Set[place]{m.inTime, m.released} {
		for at := range remembered {
			if gone(at.node) {
				remembered.Delete(at)
			}
		}
	}
}

// sinceThisEvent is the latest time at which a pod that only now counts reached what the group requires.
func (o *oracle) sinceThisEvent(g groupCount, before satisfaction) time.Time {
	var last time.Time
	for uid, at := range g.times {
		if _, counted := before.done[uid]; !counted {
			last = later(last, at)
		}
	}
	return o.clamp(last)
}

// sinceFirstSeen is when as many pods as it takes had reached what the group requires.
func (o *oracle) sinceFirstSeen(g groupCount, recorded *metav1.Time) time.Time {
	var times []time.Time
	for _, at := range g.times {
		if !at.IsZero() {
			times = append(times, at)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	var last time.Time
	if k := min(max(g.enough, 1), len(times)); k > 0 {
		last = times[k-1]
	}
	if recorded != nil {
		last = later(last, recorded.Time)
	}
	return o.clamp(last)
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
	m.begun = m.begun || !v.Spec.Suspend
	counts := map[string]int{}
	for _, c := range v.courses {
		proven := -1
		for _, p := range o.pods {
			if i, member := v.groupOf[p.Name]; member && p.Spec.SchedulerName == oracleScheduler &&
				p.Spec.NodeName != "" && (c.node == "" || c.node == p.Spec.NodeName) {
				proven = max(proven, i)
			}
		}
		if o.begun(v) {
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
			switch {
			case v.Spec.Suspend && i <= proven:
				m.released.Insert(at)
			case !v.Spec.Suspend && m.suspended && i >= m.counts[c.node]:
				m.lifted[at] = o.second()
			}
			c.released = append(c.released, m.released.Has(at))
			if c.released[i] {
				counts[c.node] = i + 1
			}
		}
	}
	m.suspended, m.counts = v.Spec.Suspend, counts
}

// begun tells whether group 0 was ever released.
func (o *oracle) begun(v *view) bool {
	for _, p := range o.pods {
		if _, member := v.groupOf[p.Name]; member && p.Spec.NodeName != "" && p.Spec.SchedulerName == oracleScheduler {
			v.memory.begun = true
		}
	}
	return v.memory.begun
}

// firstReleasedAt is when group 0 was released.
func (o *oracle) firstReleasedAt(v *view, c *course) time.Time {
	at := v.CreationTimestamp.Time
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

// proven is the number of groups that must have been passed, as bound pods and status tell.
func (o *oracle) proven(v *view, c *course) int {
	proven := 0
	for _, p := range o.pods {
		if i, member := v.groupOf[p.Name]; member && p.Spec.NodeName != "" && p.Spec.SchedulerName == oracleScheduler {
			proven = max(proven, i)
		}
	}
	for i := range c.groups {
		if o.record(v, c, i).PassedAt != nil {
			proven = max(proven, i+1)
		}
	}
	return proven
}

// run goes through the groups in order.
func (o *oracle) run(v *view, c *course) {
	forGood := v.Spec.Mode() == v1alpha1.BootstrapOnly
	proven := 0
	if forGood {
		proven = o.proven(v, c)
	}
	var passes []pass
	before, open := o.firstReleasedAt(v, c), true // before is when the groups before were all released and passed
	for i, g := range v.Spec.PodGroups {
		at := place{c.node, v.definitions[i]}
		record := o.record(v, c, i)
		releasedAt := later(before, v.memory.lifted[at])
		if record.ReleasedAt != nil {
			releasedAt = record.ReleasedAt.Time
		}

		deadline := nextFullSecond(releasedAt).Add(oracleDuration(g.Timeout))
		s := v.memory.satisfied[at]
		timedOut := false
		if g.Timeout != "" && open && (!c.suspended || c.released[i]) {
			if s.satisfied && s.since.Before(deadline) {
				v.memory.inTime.Insert(at)
			}
			timedOut = !v.memory.inTime.Has(at) && !o.now.Before(deadline)
		}

		end := s.since
		if wait := oracleDuration(g.WaitDuration); wait > 0 {
			end = nextFullSecond(s.since).Add(wait)
		}
		waitOver := s.satisfied && !o.now.Before(end)

		passed, passedAt := true, releasedAt
		switch once := v.memory.passes; {
		case !o.applies(g, c.node):
		case forGood && i < len(once) && once[i].definition == v.definitions[i]:
			passedAt = once[i].at
		case forGood && record.PassedAt != nil:
			passedAt = record.PassedAt.Time
		case timedOut && g.OnTimeout == v1alpha1.TimeoutContinue:
			passedAt = deadline
			if waitOver && end.Before(deadline) {
				passedAt = end
			}
		case waitOver:
			passedAt = end
		case i < proven:
			passedAt = o.second()
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
			before = later(before, releasedAt, passedAt)
			passes = append(passes, pass{v.definitions[i], before})
		}
	}
	v.memory.passes = nil
	if forGood {
		v.memory.passes = passes
	}
}
