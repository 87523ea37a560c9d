package sequence

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// precedes reports whether group j comes before group i: because i names it, or names a group that it comes before. A group that
// names none, or one that is not listed earlier, comes after all that are.
func precedes(ps *v1alpha1.PodSequence, j, i int) bool {
	names := ps.Spec.PodGroups[i].DependsOn
	for _, name := range names {
		if !slices.ContainsFunc(ps.Spec.PodGroups[:i], func(g v1alpha1.PodGroup) bool { return g.Name == name }) {
			names = nil
		}
	}
	if names == nil {
		return j < i
	}
	for k := range i {
		if slices.Contains(names, ps.Spec.PodGroups[k].Name) && (j == k || precedes(ps, j, k)) {
			return true
		}
	}
	return false
}

// awaits reports whether group i waits for group j.
func awaits(ps *v1alpha1.PodSequence, i, j int) bool {
	return precedes(ps, j, i) && !ps.Spec.PodGroups[j].Skip
}

// waitsForNone reports whether group i waits for no group.
func waitsForNone(ps *v1alpha1.PodSequence, i int) bool {
	for j := range ps.Spec.PodGroups {
		if awaits(ps, i, j) {
			return false
		}
	}
	return true
}

// definitionsOf spells out, for each group, what decides its members and its requirement, and that of those before it.
func definitionsOf(v *view) []string {
	ps := v.PodSequence
	var definitions []string
	for i, g := range ps.Spec.PodGroups {
		defines := []any{sets.List(sets.New(g.Pods...)), g.PodSelector, requirementOf(g), g.RequiredCondition, g.MinAvailable, g.NodeSelector, g.ExpectedPods, g.MinReadySeconds}
		if hasObjects(g) {
			defines = append(defines, setOf(referencesIn(g)))
		}
		if len(g.NodeConditions) > 0 {
			defines = append(defines, inAnyOrder(g.NodeConditions))
		}
		if ps.Spec.Scope == v1alpha1.ScopeNode {
			defines = append(defines, ps.Spec.Scope)
		}
		if v.cluster != nil {
			in := v.cluster.Spec.PodGroups[i]
			defines = append(defines, sets.List(sets.New(in.Namespaces...)), in.NamespaceSelector)
		}
		own, err := json.Marshal(defines)
		if err != nil {
			panic(err)
		}
		before := []string{}
		for j := range i {
			if precedes(ps, j, i) {
				before = append(before, fmt.Sprintf("%x", sha256.Sum256([]byte(definitions[j])))[:10])
			}
		}
		slices.Sort(before)
		definition := targetOf(ps) + "/" + string(own) + " after " + strings.Join(before, " ")
		for slices.Contains(definitions, definition) {
			definition += " again"
		}
		definitions = append(definitions, definition)
	}
	return definitions
}

// awaitsOf spells out which groups a group waits for.
func (v *view) awaitsOf(i int) string {
	var awaited []string
	for j := range v.definitions {
		if awaits(v.PodSequence, i, j) {
			awaited = append(awaited, v.definitions[j])
		}
	}
	slices.Sort(awaited)
	return strings.Join(awaited, "\n")
}

// recordIndex is the index that group i had when status was written, if that speaks of it as it is defined now, or -1.
func (o *oracle) recordIndex(v *view, i int) int {
	for at := range v.Status.Groups {
		if o.definitions[hashIn(&v.Status, at)] == v.definitions[i] {
			return at
		}
	}
	return -1
}

// proven are the groups that must have been passed, as proofs on pods and status tell.
func (o *oracle) proven(v *view, c *course) sets.Set[int] {
	proven := sets.New[int]()
	for _, p := range o.pods {
		if i, skipped := o.releasedIn(v, p); i >= 0 {
			for j := range i {
				if precedes(v.PodSequence, j, i) && !slices.Contains(skipped, j) {
					proven.Insert(j)
				}
			}
		}
	}
	for i := range c.groups {
		if o.record(v, c, i).PassedAt == nil {
			continue
		}
		proven.Insert(i)
		for j := range i {
			if precedes(v.PodSequence, j, i) && (o.record(v, c, j).PassedAt != nil || o.recordIndex(v, j) < 0) {
				proven.Insert(j)
			}
		}
	}
	return proven
}

// run goes through the groups. What a group waits for is listed before it.
func (o *oracle) run(v *view, c *course) {
	forGood := v.Spec.Mode() == v1alpha1.BootstrapOnly
	proven := sets.New[int]()
	if forGood {
		proven = o.proven(v, c)
	}
	passes := map[string]time.Time{}
	known := c.node == "" || o.node(c.node) != nil
	for i, g := range v.Spec.PodGroups {
		reached, before := true, time.Time{} // before is when the groups before were all passed
		for j := range i {
			if awaits(v.PodSequence, i, j) {
				reached, before = reached && c.passed[j], later(before, c.passedAt[j])
			}
		}
		at := place{c.node, v.definitions[i]}
		record := o.record(v, c, i)
		releasedAt := o.releasedAt(v, c, i, before)
		passedBefore, wasPassed := v.memory.passes[v.definitions[i]]
		wasPassed = wasPassed && forGood

		s := v.memory.satisfied[at]
		end := s.since
		if wait := oracleDuration(g.WaitDuration); wait > 0 {
			end = nextFullSecond(s.since).Add(wait)
		}
		waitOver := s.satisfied && !o.now.Before(end)
		o.noteLost(v, c, i, forGood, s.satisfied || !o.applies(g, c.node))
		if c.node != "" {
			o.noteWaiting(v, c, i, reached && (!c.suspended || c.released[i]), s.satisfied)
		}
		timedOut, deadline := false, o.deadline(v, c, i, releasedAt)
		if known && reached && (!c.suspended || c.released[i]) && !wasPassed {
			timedOut = g.Timeout != "" && o.timedOut(v, c, i, deadline)
			inTime := s.since.Before(deadline.Truncate(time.Second))                                                         // though it is told late
			needsNone := c.node != "" && g.MinAvailable != nil && *g.MinAvailable == intstr.FromInt32(0) && !waitsForMore(g) // it is never late
			if s.satisfied && o.applies(g, c.node) && (!timedOut || inTime || waitOver || needsNone) {
				v.memory.once.Insert(at)
				delete(v.memory.lost, at)
				timedOut = false
			}
		}

		passed, passedAt := known, releasedAt
		switch {
		case !known:
		case forGood && record.PassedAt != nil:
			passedAt = record.PassedAt.Time
		case wasPassed:
			passedAt = passedBefore
		case reached && !o.applies(g, c.node):
			passedAt = before // of nodes nobody asks when
		case reached && waitOver:
			passedAt = later(end, releasedAt)
		case reached && timedOut && g.OnTimeout == v1alpha1.TimeoutContinue:
			passedAt = deadline
		case proven.Has(i):
			passedAt = later(o.second(), releasedAt)
			v.memory.once.Insert(at)
		default:
			passed = false
		}

		o.noteCompleted(v, c, i, passed, forGood)
		c.reached = append(c.reached, reached)
		c.passed = append(c.passed, passed)
		c.timedOut = append(c.timedOut, timedOut)
		c.waiting = append(c.waiting, s.satisfied && !waitOver)
		c.releasedAt = append(c.releasedAt, releasedAt)
		c.passedAt = append(c.passedAt, passedAt)
		if passed {
			passes[v.definitions[i]] = passedAt
		}
	}
	c.current = len(c.groups)
	for i, g := range slices.Backward(v.Spec.PodGroups) {
		if !c.passed[i] && !g.Skip {
			c.current = i
		}
	}
	v.memory.passes = nil
	if forGood {
		v.memory.passes = passes
	}
}
