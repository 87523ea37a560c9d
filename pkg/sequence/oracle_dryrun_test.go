package sequence

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// dryCount counts, pod by pod and after every event, what a sequence of scope Cluster would have held since its dry run began.
type dryCount struct {
	since   map[types.UID]time.Time // of the pods that would be held now
	counted sets.Set[types.UID]
	total   int
	longest time.Duration
	written time.Time // when status was written with which it began

	// unknown reports that the sequence once had scope Node in its dry run: what it would have held then counts as well.
	unknown bool
}

// onlySays reports whether the sequence holds nothing and only says what it would hold. A suspended one holds its pods, whatever else
// its spec says.
func onlySays(v *view) bool { return v.Spec.DryRun && !v.Spec.Suspend }

// countDryRuns goes on with all counts.
func (o *oracle) countDryRuns() {
	there := sets.New[types.UID]()
	for _, ps := range append(all[*v1alpha1.PodSequence](o, "PodSequence"), o.clustersInCommon()...) {
		if !ps.Spec.DryRun {
			continue
		}
		there.Insert(ps.UID)
		if d := o.dryRuns[ps.UID]; ps.Spec.Scope == v1alpha1.ScopeNode || (d != nil && d.unknown) {
			o.dryRuns[ps.UID] = &dryCount{unknown: true}
			continue
		}
		v := o.views[ps.Name]
		if v != nil && v.UID != ps.UID {
			v = nil
		}
		o.countDryRun(ps, v)
	}
	for uid := range o.dryRuns {
		if !there.Has(uid) {
			delete(o.dryRuns, uid)
		}
	}
	o.seen = sets.New[types.UID]()
	for _, p := range o.pods {
		o.seen.Insert(p.UID)
	}
	o.known = sets.New[types.UID]()
	for _, v := range o.views {
		o.known.Insert(v.UID)
	}
}

// clustersInCommon are the ClusterPodSequences as PodSequences.
func (o *oracle) clustersInCommon() []*v1alpha1.PodSequence {
	var list []*v1alpha1.PodSequence
	for _, cluster := range all[*v1alpha1.ClusterPodSequence](o, "ClusterPodSequence") {
		list = append(list, inCommon(cluster))
	}
	return list
}

// countDryRun goes on with one. v is nil while the target namespace does not allow the sequence.
func (o *oracle) countDryRun(ps *v1alpha1.PodSequence, v *view) {
	d, recorded := o.dryRuns[ps.UID], sets.New[string]()
	if d == nil {
		d = &dryCount{since: map[types.UID]time.Time{}, counted: sets.New[types.UID]()}
		o.dryRuns[ps.UID] = d
		if status := ps.Status.DryRun; status != nil && meta.IsStatusConditionTrue(ps.Status.Conditions, v1alpha1.ConditionDryRun) {
			d.total, d.longest = int(status.HeldTotal), time.Duration(status.LongestSeconds)*time.Second
			d.written = ps.ManagedFields[0].Time.Time
			recorded.Insert(status.Pods...)
		}
	}
	members := map[types.UID]*corev1.Pod{}
	if v != nil {
		for _, p := range o.pods {
			if _, member := v.groupOf[oracleKey(p)]; member {
				members[p.UID] = p
			}
		}
	}
	for uid := range d.counted {
		if members[uid] == nil {
			d.end(uid, o.now)
			d.counted.Delete(uid)
		}
	}
	for uid, p := range members {
		created := later(ps.CreationTimestamp.Time, v.allowed)
		held := !v.courses[""].mayStart(v.groupOf[oracleKey(p)])
		_, noted := d.since[uid]
		switch {
		case recorded.Has(nameInReport(v, p)):
			d.begin(p, created, o.now)
			if !held {
				d.end(uid, o.now)
			}
		case noted && !held:
			d.end(uid, o.now)
		case !noted && held && o.countsAsHeld(ps, p, created):
			d.begin(p, created, o.now)
		}
	}
}

// countsAsHeld reports whether a pod whose group has to wait is held: it has no node, or got one before anybody saw the pod or
// the sequence.
func (o *oracle) countsAsHeld(ps *v1alpha1.PodSequence, p *corev1.Pod, created time.Time) bool {
	ours := p.Spec.SchedulerName == oracleScheduler && !oracleIsStatic(p)
	if p.Spec.NodeName == "" {
		return ours || carries(p, ps)
	}
	return ours && ps.Spec.Mode() == v1alpha1.BootstrapOnly && !p.CreationTimestamp.Time.Before(created) && (!o.seen.Has(p.UID) || !o.known.Has(ps.UID))
}

func (d *dryCount) begin(p *corev1.Pod, created, now time.Time) {
	since := later(p.CreationTimestamp.Time, created)
	if d.counted.Has(p.UID) {
		since = now
	} else if since.After(d.written) {
		d.total++
	}
	d.counted.Insert(p.UID)
	d.since[p.UID] = since
}

func (d *dryCount) end(uid types.UID, now time.Time) {
	if since, noted := d.since[uid]; noted {
		d.longest = max(d.longest, now.Sub(since))
		delete(d.since, uid)
	}
}

func nameInReport(v *view, p *corev1.Pod) string {
	if v.cluster != nil {
		return p.Namespace + "/" + p.Name
	}
	return p.Name
}

// told is what is to be reported of the count.
func (d *dryCount) told(v *view, o *oracle) (pods []string, total int, longest time.Duration) {
	longest = d.longest
	for _, p := range o.pods {
		if since, held := d.since[p.UID]; held {
			pods, longest = append(pods, nameInReport(v, p)), max(longest, o.now.Sub(since))
		}
	}
	slices.Sort(pods)
	return pods, max(d.total, len(pods)), longest
}

// checkDryRuns compares what would have been held.
func (c *comparison) checkDryRuns() error {
	for name, v := range c.oracle.views {
		d, got := c.oracle.dryRuns[v.UID], c.before.reports[name].DryRun
		if (got != nil) != v.Spec.DryRun {
			return fmt.Errorf("%s: a dry run is reported: %t, want %t", name, got != nil, v.Spec.DryRun)
		}
		if d == nil || d.unknown {
			continue
		}
		pods, total, longest := d.told(v, c.oracle)
		if diff := cmp.Diff(pods, got.Pods); diff != "" || got.Total != total || got.Longest != longest {
			return fmt.Errorf("%s: would hold %v, %d in all, one for %s; want %v, %d, %s", name, got.Pods, got.Total, got.Longest, pods, total, longest)
		}
		c.seen["dry run: pods that would be held now"] += len(pods)
		if total > len(pods) {
			c.seen["dry run: pods would have been held"]++
		}
	}
	return nil
}

// recordDryRun writes into status what the controller would.
func (w *randomWorld) recordDryRun(c *comparison, v *view, ps *v1alpha1.PodSequence, now *metav1.Time) {
	condition := metav1.Condition{Type: v1alpha1.ConditionDryRun, Status: metav1.ConditionFalse, LastTransitionTime: *now}
	ps.Status.DryRun = nil
	if d := c.oracle.dryRuns[v.UID]; d != nil && !d.unknown {
		pods, total, longest := d.told(v, c.oracle)
		ps.Status.DryRun = &v1alpha1.DryRunStatus{
			HeldNow: int32(len(pods)), HeldTotal: int32(total), LongestSeconds: int64(longest / time.Second), Pods: pods,
		}
		condition.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&ps.Status.Conditions, condition)
}
