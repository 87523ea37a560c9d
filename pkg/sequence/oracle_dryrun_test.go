package sequence

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// onlySays reports whether the sequence holds nothing and only says what it would hold. A suspended one holds its pods, whatever else
// its spec says.
func onlySays(v *view) bool { return v.Spec.DryRun && !v.Spec.Suspend }

// clustersInCommon are the ClusterPodSequences as PodSequences.
func (o *oracle) clustersInCommon() []*v1alpha1.PodSequence {
	var list []*v1alpha1.PodSequence
	for _, cluster := range all[*v1alpha1.ClusterPodSequence](o, "ClusterPodSequence") {
		list = append(list, inCommon(cluster))
	}
	return list
}

func nameInReport(v *view, p *corev1.Pod) string {
	if v.cluster != nil {
		return p.Namespace + "/" + p.Name
	}
	return p.Name
}

// checkDryRuns looks at what sequences of scope Cluster say that they would hold. That is every pod without a node that a sequence can hold
// and whose group has to wait. Of a pod that has a node it depends on the past: it may be named as long as its group has to wait.
func (c *comparison) checkDryRuns() error {
	for name, v := range c.oracle.views {
		got := c.before.reports[name].DryRun
		if (got != nil) != v.Spec.DryRun {
			return fmt.Errorf("%s: a dry run is reported: %t, want %t", name, got != nil, v.Spec.DryRun)
		}
		if got == nil || v.Spec.Scope == v1alpha1.ScopeNode {
			continue
		}
		named := sets.New(got.Pods...)
		for _, p := range c.oracle.pods {
			group, member := v.groupOf[oracleKey(p)]
			if !member {
				continue
			}
			waits, isNamed := !v.courses[""].mayStart(group), named.Has(nameInReport(v, p))
			unbound := p.Spec.NodeName == "" && (p.Spec.SchedulerName == oracleScheduler || carries(p, v.PodSequence))
			switch {
			case isNamed && !waits:
				return fmt.Errorf("%s: would hold %s, whose group does not wait", name, p.Name)
			case !isNamed && waits && unbound:
				return fmt.Errorf("%s: does not say that it would hold %s", name, p.Name)
			}
			named.Delete(nameInReport(v, p))
		}
		if len(named) > 0 || got.Total < len(got.Pods) {
			return fmt.Errorf("%s: would hold %d, of which these are no members: %v", name, got.Total, named)
		}
		c.seen["dry run: pods that would be held now"] += len(got.Pods)
		if got.Total > len(got.Pods) {
			c.seen["dry run: pods would have been held"]++
		}
	}
	return nil
}

// recordDryRun writes into status what the controller would.
func (w *randomWorld) recordDryRun(c *comparison, v *view, ps *v1alpha1.PodSequence, now *metav1.Time) {
	condition := metav1.Condition{Type: v1alpha1.ConditionDryRun, Status: metav1.ConditionFalse, LastTransitionTime: *now}
	ps.Status.DryRun = nil
	if got := c.before.reports[ps.Name]; got.DryRun != nil && got.UID == v.UID {
		ps.Status.DryRun = &v1alpha1.DryRunStatus{
			HeldNow: int32(len(got.DryRun.Pods)), HeldTotal: int32(got.DryRun.Total),
			LongestSeconds: int64(got.DryRun.Longest / time.Second), Pods: got.DryRun.Pods,
		}
		condition.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&ps.Status.Conditions, condition)
}
