package sequence

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// records reports whether passes of the sequence are recorded: it is then that they are so.
func records(ps *v1alpha1.PodSequence) bool {
	return ps.Spec.Mode() == v1alpha1.BootstrapOnly && ps.Spec.Scope != v1alpha1.ScopeNode && !ps.Spec.DryRun
}

// recordOf is what is on record of a pass of group i. A status of an earlier release has it in groups.
func (o *oracle) recordOf(v *view, i int) (pass oraclePass, ok bool) {
	if v.Spec.Mode() != v1alpha1.BootstrapOnly || v.Spec.Scope == v1alpha1.ScopeNode {
		return oraclePass{}, false
	}
	if pass, ok = o.recorded[v.UID][v.definitions[i]]; ok {
		return pass, true
	}
	isDry := slices.ContainsFunc(v.Status.Conditions, func(c metav1.Condition) bool { return c.Type == "DryRun" && c.Status == metav1.ConditionTrue })
	at := o.recordIndex(v, i)
	if at < 0 || v.Status.Groups[at].PassedAt == nil || isDry && !v.Spec.DryRun || v.Status.EnforcementMode == v1alpha1.Continuous {
		return oraclePass{}, false
	}
	record := v.Status.Groups[at]
	return oraclePass{record.PassedAt.Time, record.FirstSatisfiedAt == nil && v.Spec.PodGroups[i].OnTimeout == v1alpha1.TimeoutContinue}, true
}

// pruneRecords forgets the passes of groups that are not defined any more, and where passes may be lost.
func (o *oracle) pruneRecords() {
	defined := map[types.UID][]string{}
	note := func(ps *v1alpha1.PodSequence, cluster *v1alpha1.ClusterPodSequence) {
		if ps.Spec.Mode() == v1alpha1.BootstrapOnly && ps.Spec.Scope != v1alpha1.ScopeNode {
			defined[ps.UID] = definitionsOf(&view{PodSequence: ps, cluster: cluster, oracle: o})
		}
	}
	for _, ps := range all[*v1alpha1.PodSequence](o, "PodSequence") {
		note(ps, nil)
	}
	for _, cluster := range all[*v1alpha1.ClusterPodSequence](o, "ClusterPodSequence") {
		note(inCommon(cluster), cluster)
	}
	for uid, passes := range o.recorded {
		maps.DeleteFunc(passes, func(definition string, _ oraclePass) bool { return !slices.Contains(defined[uid], definition) })
	}
}

// run goes through the groups. What a group waits for is listed before it.
func (o *oracle) run(v *view, c *course) {
	forGood := v.Spec.Mode() == v1alpha1.BootstrapOnly
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
		record, isOnRecord := o.recordOf(v, i)
		releasedAt := o.releasedAt(v, c, i, before)
		passedBefore, wasPassed := v.memory.passes[v.definitions[i]]
		wasPassed = wasPassed && forGood && !records(v.PodSequence) || isOnRecord

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

		passed, passedAt, byTime := known, releasedAt, false
		switch {
		case !known:
		case isOnRecord:
			passedAt = later(record.at, releasedAt)
			if !record.timedOut {
				v.memory.once.Insert(at)
			}
		case wasPassed:
			passedAt = passedBefore
		case reached && !o.applies(g, c.node):
			passedAt = before // of nodes nobody asks when
		case reached && waitOver:
			passedAt = later(end, releasedAt)
		case reached && timedOut && g.OnTimeout == v1alpha1.TimeoutContinue:
			passedAt, byTime = deadline, true
		default:
			passed = false
		}
		if passed && !isOnRecord && records(v.PodSequence) {
			if o.recorded[v.UID] == nil {
				o.recorded[v.UID] = map[string]oraclePass{}
			}
			record = oraclePass{o.now.Truncate(time.Second), byTime} // so long nobody was released
			o.recorded[v.UID][v.definitions[i]] = record
			if passedAt = later(record.at, releasedAt); !byTime {
				v.memory.once.Insert(at)
			}
		}

		if passed && !isOnRecord && !wasPassed && !byTime && forGood && v.Spec.DryRun {
			v.memory.once.Insert(at) // as if it were recorded
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
	if forGood && !records(v.PodSequence) {
		v.memory.passes = passes
	}
}
