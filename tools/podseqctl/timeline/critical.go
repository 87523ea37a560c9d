package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Step is one part of the critical path.
type Step struct {
	// Group is its 0-based index.
	Group int `json:"group"`
	// Pod is the pod that everybody waited for; empty for a waitDuration.
	Pod  string    `json:"pod,omitempty"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Message says what happened meanwhile.
	Message string `json:"message"`
	// SavesSeconds is how much earlier everything would be ready: without the waitDuration, or if the pod had been as fast as the
	// next slowest of its group, or had taken no time at all if it has no other.
	SavesSeconds int64 `json:"savesSeconds"`
	// Advice says the same in words.
	Advice string `json:"advice,omitempty"`
}

// course is how long each pod takes from when it may start, and how long each group waits. With other durations it says what
// would have been. A pod that started before its group was released waited for no group.
type course struct {
	*Timeline
	took  [][]time.Duration // of the pods that count: from release or creation, whichever is later, until ready
	extra []time.Duration   // of groups: from enough pods ready until satisfied, as of a Job that completes
	waits []time.Duration
	start time.Time // when groups without predecessors are released
	// unheld is the pod that no other sequence holds; nil for what happened.
	unheld *place
}

// run returns when each group is released, satisfied and passed, and which pod satisfied it (-1: none did).
func (c *course) run() (released, satisfied, passed []time.Time, last []int) {
	n := len(c.Groups)
	released, satisfied, passed, last = make([]time.Time, n), make([]time.Time, n), make([]time.Time, n), make([]int, n)
	ready := map[place]time.Time{}
	for i, g := range c.Groups {
		released[i], last[i] = c.start, -1
		for _, j := range g.predecessors {
			if !c.Groups[j].Skipped && passed[j].After(released[i]) {
				released[i] = passed[j]
			}
		}
		type arrival struct {
			pod int
			at  time.Time
		}
		var arrivals []arrival
		for n := range g.Pods {
			if c.took[i][n] >= 0 {
				arrivals = append(arrivals, arrival{n, c.ready(ready, released, place{i, n})})
			}
		}
		// Of those that arrive together, as all do that are not ready yet, the one is the last that took longest.
		slices.SortStableFunc(arrivals, func(a, b arrival) int {
			return cmp.Or(a.at.Compare(b.at), cmp.Compare(c.took[i][a.pod], c.took[i][b.pod]))
		})
		satisfied[i] = released[i]
		if enough := min(g.need, len(arrivals)); enough > 0 {
			satisfied[i], last[i] = *later(&released[i], arrivals[enough-1].at), arrivals[enough-1].pod
		}
		satisfied[i] = satisfied[i].Add(c.extra[i])
		passed[i] = satisfied[i].Add(c.waits[i])
	}
	return released, satisfied, passed, last
}

// heldUntil returns until when another sequence held a pod; zero if none did.
func (t *Timeline) heldUntil(p *Pod) time.Time {
	switch {
	case p.HeldBy == "":
		return time.Time{}
	case p.Free == nil:
		return t.End
	}
	return *p.Free
}

// from returns when a pod may start. known has when other pods are ready, and gets more of that.
func (c *course) from(known map[place]time.Time, released []time.Time, at place) time.Time {
	p := c.pod(at)
	if p.early {
		return *p.Released
	}
	from := *later(&released[at.group], p.Created)
	if p.after != nil && p.after.group <= at.group {
		created := c.ready(known, released, *p.after).Add(p.Created.Sub(*c.pod(*p.after).Ready))
		from = *later(&released[at.group], created)
	}
	if c.unheld != nil && *c.unheld == at {
		return from
	}
	return *later(&from, c.heldUntil(p))
}

// ready returns when a pod is ready.
func (c *course) ready(known map[place]time.Time, released []time.Time, at place) time.Time {
	if _, ok := known[at]; !ok {
		known[at] = c.from(known, released, at).Add(c.took[at.group][at.pod])
	}
	return known[at]
}

// end returns when the last group is satisfied.
func (c *course) end() time.Time {
	_, satisfied, _, _ := c.run()
	return slices.MaxFunc(satisfied, time.Time.Compare)
}

// newCourse reads the durations from what happened. Groups that are not satisfied yet take until the end.
func newCourse(t *Timeline) *course {
	c := &course{Timeline: t, start: t.Begin, extra: make([]time.Duration, len(t.Groups))}
	for _, g := range t.Groups {
		if g.Released != nil && g.Released.Before(c.start) {
			c.start = *g.Released
		}
	}
	for _, g := range t.Groups {
		took := make([]time.Duration, len(g.Pods))
		for n, p := range g.Pods {
			took[n] = -1 // it does not count
			if p.Late || p.Released == nil {
				continue
			}
			until := t.End
			if p.Ready != nil {
				until = *p.Ready
			}
			took[n] = max(0, until.Sub(*later(p.Released, t.heldUntil(&p))))
		}
		c.took = append(c.took, took)
		c.waits = append(c.waits, g.Wait)
	}
	for i, g := range t.Groups { // with what is known of groups before
		_, satisfied, _, _ := c.run()
		if g.Satisfied != nil {
			c.extra[i] = max(0, g.Satisfied.Sub(satisfied[i]))
		}
		if g.Passed == nil {
			c.waits[i] = 0 // it is not over, and nobody went on after it
		}
	}
	return c
}

// findCritical walks back from what was satisfied last: the pod that satisfied it, then the group that had to be passed before.
func (t *Timeline) findCritical() {
	started := slices.ContainsFunc(t.Groups, func(g Group) bool {
		return slices.ContainsFunc(g.Pods, func(p Pod) bool { return p.Released != nil && !p.Late })
	})
	if !started {
		return
	}
	c := newCourse(t)
	released, satisfied, passed, last := c.run()
	at := -1
	for i, g := range t.Groups {
		// Times are whole seconds: of groups that were satisfied together, the path ends at the one that waited for the others.
		if (g.Released != nil || len(g.predecessors) == 0) && (at < 0 || !satisfied[i].Before(satisfied[at])) {
			at = i
		}
	}
	n := -1
	if at >= 0 {
		n = last[at]
	}
	for at >= 0 {
		g := &t.Groups[at]
		if missing := g.missing(); missing > 0 {
			t.Critical = append(t.Critical, t.missingStep(at, released[at], missing))
		} else if n >= 0 {
			p := &g.Pods[n]
			isAwaited := !p.early || p.Ready == nil || p.Ready.After(released[at])
			if isAwaited {
				p.Critical = true
				t.Critical = append(t.Critical, c.podStep(at, n))
			}
			switch {
			case isAwaited && p.early:
				at = -1 // it waited for no group
				continue
			case isAwaited && t.heldUntil(p).After(*later(&released[at], p.Created)):
				at = -1 // it waited for another sequence
				continue
			case p.early || !p.Created.After(released[at]):
			case p.after != nil && p.after.group <= at:
				at, n = p.after.group, p.after.pod
				continue
			default:
				at = -1 // it was created later than it could have been released
				continue
			}
		}
		before := -1
		for _, j := range g.predecessors {
			if !t.Groups[j].Skipped && (before < 0 || !passed[j].Before(passed[before])) {
				before = j
			}
		}
		if before >= 0 && c.waits[before] > 0 {
			t.Critical = append(t.Critical, c.waitStep(before, satisfied[before]))
		}
		if at = before; at >= 0 {
			n = last[at]
		}
	}
	slices.Reverse(t.Critical)
}

// missingStep describes that everybody waits for pods that do not exist.
func (t *Timeline) missingStep(group int, from time.Time, missing int) Step {
	return Step{Group: group, From: from, To: t.End, Message: fmt.Sprintf("%d of its %d pods do not exist", missing, t.Groups[group].need)}
}

// podStep describes a pod for which everybody waited, and what it would win if it was faster.
func (c *course) podStep(i, n int) Step {
	g := &c.Groups[i]
	p := &g.Pods[n]
	s := Step{Group: i, Pod: p.Name, From: *p.Released, To: c.End}
	if p.Ready != nil {
		s.To = *p.Ready
	}
	s.Message = c.whatHappened(p)
	if p.HeldBy != "" {
		c.withoutHold(&s, i, n)
		return s
	}
	took, next, others := c.took[i][n], time.Duration(0), false
	for m, other := range c.took[i] {
		// Pods that are created one after another have no next slowest: all of them are waited for.
		if m != n && other >= 0 && other < took && !c.isChained(place{i, n}) {
			next, others = max(next, other), true
		}
	}
	saved := c.saving(i, n, next)
	s.SavesSeconds = int64(saved / time.Second)
	switch {
	case saved <= 0:
	case others:
		s.Advice = fmt.Sprintf("if it took as long as the next slowest pod of its group (%s), the sequence would be ready %s earlier", span(next), span(saved))
		if saved < (took - next).Truncate(time.Second) {
			s.Advice += ", and then wait for other pods"
		}
	default:
		s.Advice = fmt.Sprintf("any time saved here, up to %s, makes the sequence ready that much earlier", span(saved))
	}
	return s
}

// withoutHold says what it would win if no other sequence had held a pod. While one does, nobody knows how long the pod takes.
func (c *course) withoutHold(s *Step, i, n int) {
	p := &c.Groups[i].Pods[n]
	if p.Free == nil {
		return
	}
	end := c.end()
	c.unheld = &place{i, n}
	saved := end.Sub(c.end()).Truncate(time.Second)
	c.unheld = nil
	if s.SavesSeconds = int64(saved / time.Second); saved > 0 {
		s.Advice = fmt.Sprintf("if only this sequence had held it, the sequence would be ready %s earlier", span(saved))
	}
}

// saving returns how much earlier everything would be ready if a pod took another time, in whole seconds.
func (c *course) saving(i, n int, instead time.Duration) time.Duration {
	took, end := c.took[i][n], c.end()
	c.took[i][n] = instead
	saved := end.Sub(c.end()).Truncate(time.Second)
	c.took[i][n] = took
	return saved
}

// isChained reports whether a pod was created after another one of its StatefulSet was ready, or another one after it.
func (c *course) isChained(at place) bool {
	return c.pod(at).after != nil || slices.ContainsFunc(c.Groups, func(g Group) bool {
		return slices.ContainsFunc(g.Pods, func(p Pod) bool { return p.after != nil && *p.after == at })
	})
}

// whatHappened says what happened to a pod since its group was released.
func (c *course) whatHappened(p *Pod) string {
	held, free := "was ", *p.Released
	switch {
	case p.HeldBy != "" && p.Free == nil:
		return fmt.Sprintf("%s is still held by %s after %s", p.Name, p.HeldBy, span(c.End.Sub(*p.Released)))
	case p.HeldBy != "":
		held, free = fmt.Sprintf("was held by %s for %s, ", p.HeldBy, span(p.Free.Sub(*p.Released))), *p.Free
	}
	switch {
	case p.early && p.Ready != nil:
		return fmt.Sprintf("%s was scheduled before its group was released, and ready %s later", p.Name, span(p.Ready.Sub(*p.Bound)))
	case p.early:
		return fmt.Sprintf("%s was scheduled before its group was released, and is still not ready %s later", p.Name, span(c.End.Sub(*p.Bound)))
	case p.Ready != nil && p.Bound != nil:
		return fmt.Sprintf("%s %sscheduled after %s and ready %s later", p.Name, held, span(p.Bound.Sub(free)), span(p.Ready.Sub(*p.Bound)))
	case p.Bound != nil:
		return fmt.Sprintf("%s %sscheduled after %s and is still not ready %s later", p.Name, held, span(p.Bound.Sub(free)), span(c.End.Sub(*p.Bound)))
	case p.HeldBy != "":
		return fmt.Sprintf("%s %sand is still not scheduled after %s", p.Name, held, span(c.End.Sub(free)))
	}
	return fmt.Sprintf("%s is still not scheduled after %s", p.Name, span(c.End.Sub(free)))
}

// waitStep describes a waitDuration that everybody waited for.
func (c *course) waitStep(i int, from time.Time) Step {
	wait := c.waits[i]
	s := Step{Group: i, From: from, To: from.Add(wait), Message: fmt.Sprintf("waitDuration of %s", span(wait))}
	end := c.end()
	c.waits[i] = 0
	s.SavesSeconds = int64(end.Sub(c.end()) / time.Second)
	c.waits[i] = wait
	if s.SavesSeconds > 0 {
		s.Advice = fmt.Sprintf("without it the sequence would be ready %s earlier", span(time.Duration(s.SavesSeconds)*time.Second))
	}
	return s
}
