package sequence

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// startCount is what the oracle remembers of the pods that started before their sequence existed.
type startCount struct {
	early sets.Set[types.UID]
	// judges reports that the sequence had no status when it was first seen, and that nothing has ended the judging since.
	judges bool
	// from is when the sequence was first seen, or its namespaces last changed: pods of other schedulers bound since are judged in any case.
	from time.Time
	// namespaces are those that its groups selected by label when last looked at, and generation is that of the spec then.
	namespaces sets.Set[string]
	generation int64
}

// checkOrder goes on with all sequences.
func (o *oracle) judgeStarts() {
	there := sets.New[types.UID]()
	for _, ps := range append(all[*v1alpha1.PodSequence](o, "PodSequence"), o.clustersInCommon()...) {
		there.Insert(ps.UID)
		v := o.views[ps.Name]
		if v != nil && (v.UID != ps.UID || ps.Spec.DryRun) {
			v = nil
		}
		o.judgeStartsOf(ps, v)
	}
	for uid := range o.starts {
		if !there.Has(uid) {
			delete(o.starts, uid)
		}
	}
	o.bound = sets.New[types.UID]()
	for _, p := range o.pods {
		if p.Spec.NodeName != "" {
			o.bound.Insert(p.UID)
		}
	}
}

// judgeStartsOf goes on with one. v is nil while the sequence holds nothing.
func (o *oracle) judgeStartsOf(ps *v1alpha1.PodSequence, v *view) {
	m, first := o.starts[ps.UID], false
	if m == nil {
		m, first = &startCount{early: sets.New[types.UID](), judges: ps.Status.ObservedGeneration < 1, from: o.now}, true
		o.starts[ps.UID] = m
	}
	selected := sets.New[string]()
	for i, g := range ps.Spec.PodGroups {
		for name := range o.objects["Namespace"] {
			if v != nil && makesSense(g) && v.cluster != nil && v.cluster.Spec.PodGroups[i].NamespaceSelector != nil && v.in(i, name) {
				selected.Insert(fmt.Sprint(i, name))
			}
		}
	}
	if v == nil || (!first && m.generation == ps.Generation && !selected.Equal(m.namespaces)) {
		m.judges = false
	}
	if v != nil && !first && m.generation == ps.Generation && !selected.Equal(m.namespaces) {
		m.from = o.now
	}
	m.namespaces, m.generation = selected, ps.Generation

	was := m.early
	m.early = sets.New[types.UID]()
	for _, p := range o.pods {
		if v == nil || !o.wasBoundBefore(v, p) {
			continue
		}
		recorded := ps.Status.StartedOutOfOrder != nil && slices.Contains(ps.Status.StartedOutOfOrder.Pods, nameInReport(v, p))
		switch {
		case was.Has(p.UID),
			first && ps.Status.ObservedGeneration >= 1 && recorded && !oracleBoundAt(p).After(ps.ManagedFields[0].Time.Time),
			m.judges && (first || !o.bound.Has(p.UID)) && o.missedAtBinding(v, p),
			p.Spec.SchedulerName != oracleScheduler && !first && !o.bound.Has(p.UID) && !oracleBoundAt(p).Before(m.from.Truncate(time.Second)) && o.missedAtBinding(v, p):
			m.early.Insert(p.UID)
		}
	}
}

// oracleBoundAt is when a pod got its node.
func oracleBoundAt(p *corev1.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	return p.CreationTimestamp.Time
}

// oracleIsStatic reports whether a kubelet runs the pod from a file of its own.
func oracleIsStatic(p *corev1.Pod) bool {
	_, is := p.Annotations["kubernetes.io/config.mirror"]
	return is && p.Spec.NodeName != ""
}

// wasBoundBefore reports whether a member that runs, and that waits for others, was perhaps bound without leave of the sequence: by our
// scheduler in the ten minutes before the sequence was created, or by another scheduler since then. A pod of another scheduler that was created
// later had leave if its gate was lifted.
func (o *oracle) wasBoundBefore(v *view, p *corev1.Pod) bool {
	i, member := v.groupOf[oracleKey(p)]
	if !member || p.Spec.NodeName == "" || waitsForNone(v.PodSequence, i) {
		return false
	}
	if oracleIsStatic(p) || endOf(p) == corev1.PodSucceeded || endOf(p) == corev1.PodFailed {
		return false
	}
	if p.Spec.SchedulerName != oracleScheduler && o.lifted.Has(p.UID) && p.CreationTimestamp.After(v.CreationTimestamp.Time) {
		return false
	}
	early := v.CreationTimestamp.Sub(oracleBoundAt(p))
	return (early >= 0 || p.Spec.SchedulerName != oracleScheduler) && early <= 10*time.Minute
}

// missedAtBinding reports whether a group was not passed when the pod was bound that it waits for, as far as pods and the node say.
func (o *oracle) missedAtBinding(v *view, p *corev1.Pod) bool {
	node := ""
	if v.Spec.Scope == v1alpha1.ScopeNode {
		node = p.Spec.NodeName
	}
	if node != "" && o.node(node) == nil {
		return false // nobody knows which groups are for it
	}
	for j, g := range v.courses[node].groups {
		group := v.Spec.PodGroups[j]
		if !awaits(v.PodSequence, v.groupOf[oracleKey(p)], j) || node != "" && !o.applies(group, node) {
			continue
		}
		if node == "" && v.courses[node].passed[j] && !v.courses[node].passedAt[j].Truncate(time.Second).After(oracleBoundAt(p)) {
			continue // it has been passed since
		}
		g.objectsSince = time.Time{}
		ready := g.readySince()
		if ready.After(o.now) {
			ready = o.now // as every time in the future
		}
		if !g.butForObjects || (!ready.IsZero() && ready.Truncate(time.Second).Add(oracleDuration(group.WaitDuration)).After(oracleBoundAt(p))) {
			return true
		}
	}
	return false
}

// checkStarts compares which pods started out of order.
func (c *comparison) checkStarts() error {
	for name, v := range c.oracle.views {
		var want, got []string
		for _, p := range c.oracle.pods {
			if c.oracle.starts[v.UID].early.Has(p.UID) {
				want = append(want, nameInReport(v, p))
			}
		}
		slices.Sort(want)
		if r := c.before.reports[name].OutOfOrder; r != nil {
			got = r.Pods
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("%s: pods that started out of order: %v, want %v", name, got, want)
		}
		c.seen["pods that started out of order"] += len(want)
		if len(want) > 0 && !c.oracle.starts[v.UID].judges {
			c.seen["pods that started out of order, as status says"]++
		}
	}
	return nil
}

// recordStarts writes into status what the controller would.
func (w *randomWorld) recordStarts(c *comparison, v *view, ps *v1alpha1.PodSequence) {
	ps.Status.ObservedGeneration, ps.Status.StartedOutOfOrder = ps.Generation, nil
	if r := c.before.reports[ps.Name].OutOfOrder; r != nil && v.UID == c.before.reports[ps.Name].UID {
		ps.Status.StartedOutOfOrder = &v1alpha1.StartedOutOfOrderStatus{Total: int32(len(r.Pods)), Pods: slices.Clone(r.Pods)}
	}
}
