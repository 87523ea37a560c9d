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
// would have been.
type course struct {
	*Timeline
	took  [][]time.Duration // of the pods that count: from release or creation, whichever is later, until ready
	extra []time.Duration   // of groups: from enough pods ready until satisfied, as of a Job that completes
	waits []time.Duration
	start time.Time // when groups without predecessors are released
}

// run returns when each group is released, satisfied and passed, and which pod satisfied it (-1: none did).
func (c *course) run() (released, satisfied, passed []time.Time, last []int) {
	n := len(c.Groups)
	released, satisfied, passed, last = make([]time.Time, n), make([]time.Time, n), make([]time.Time, n), make([]int, n)
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
		for n, p := range g.Pods {
			if c.took[i][n] >= 0 {
				arrivals = append(arrivals, arrival{n, later(&released[i], p.Created).Add(c.took[i][n])})
			}
		}
		// Of those that arrive together, as all do that are not ready yet, the one is the last that took longest.
		slices.SortStableFunc(arrivals, func(a, b arrival) int {
			return cmp.Or(a.at.Compare(b.at), cmp.Compare(c.took[i][a.pod], c.took[i][b.pod]))
		})
		satisfied[i] = released[i]
		if enough := min(g.need, len(arrivals)); enough > 0 {
			satisfied[i], last[i] = arrivals[enough-1].at, arrivals[enough-1].pod
		}
		satisfied[i] = satisfied[i].Add(c.extra[i])
		passed[i] = satisfied[i].Add(c.waits[i])
	}
	return released, satisfied, passed, last
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
			took[n] = max(0, until.Sub(*p.Released))
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
	for at >= 0 {
		g := &t.Groups[at]
		from := released[at]
		if missing := g.missing(); missing > 0 {
			t.Critical = append(t.Critical, t.missingStep(at, from, missing))
		} else if n := last[at]; n >= 0 {
			p := &g.Pods[n]
			p.Critical = true
			t.Critical = append(t.Critical, c.podStep(at, n))
			from = *later(&from, p.Created)
		}
		if from.After(released[at]) {
			break // it was created later than it could have been released
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
		at = before
	}
	slices.Reverse(t.Critical)
}

// missing returns how many pods do not exist that the group waits for.
func (g *Group) missing() int {
	if g.Satisfied != nil {
		return 0
	}
	counting := 0
	for _, p := range g.Pods {
		if !p.Late {
			counting++
		}
	}
	return max(0, g.need-counting)
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
	switch {
	case p.Ready != nil && p.Bound != nil:
		s.Message = fmt.Sprintf("%s was scheduled after %s and ready %s later", p.Name, span(p.Bound.Sub(*p.Released)), span(p.Ready.Sub(*p.Bound)))
	case p.Bound != nil:
		s.Message = fmt.Sprintf("%s was scheduled after %s and is still not ready %s later", p.Name, span(p.Bound.Sub(*p.Released)), span(c.End.Sub(*p.Bound)))
	default:
		s.Message = fmt.Sprintf("%s is still not scheduled after %s", p.Name, span(c.End.Sub(*p.Released)))
	}
	took, next, others := c.took[i][n], time.Duration(0), false
	for m, other := range c.took[i] {
		if m != n && other >= 0 && other < took {
			next, others = max(next, other), true
		}
	}
	end := c.end()
	c.took[i][n] = next
	s.SavesSeconds = int64(end.Sub(c.end()) / time.Second)
	c.took[i][n] = took
	switch saved := time.Duration(s.SavesSeconds) * time.Second; {
	case saved <= 0:
	case others:
		s.Advice = fmt.Sprintf("if it took as long as the next slowest pod of its group (%s), the sequence would be ready %s earlier", span(next), span(saved))
	default:
		s.Advice = fmt.Sprintf("each second saved here makes the sequence ready a second earlier, up to %s", span(saved))
	}
	return s
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
