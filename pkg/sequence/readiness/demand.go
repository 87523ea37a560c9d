package readiness

import (
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
)

// Demand is what one workload wants of the group that selects the template of its pods.
type Demand struct {
	Workload *inventory.Workload
	Required v1alpha1.RequiredStatus
	// Condition is one that members must have instead of Ready; empty for none.
	Condition string
	// SeveralNamespaces reports that the group may have members in other namespaces, too.
	SeveralNamespaces bool
	// NamedBefore counts the names of its pods that earlier groups list, whether the pods exist or not.
	NamedBefore int
	// Claimed counts its pods that an earlier group has, and Done its members of the group that are done. Both count pods of
	// its newest revision only, unless all revisions count.
	Claimed, Done int
	// WaitsForNode reports that it is a DaemonSet which expects no pod only because no node is ready for it.
	WaitsForNode bool
	// FailuresOverAt is when a Job of the group was created that has completed: it makes up for Jobs that failed before.
	FailuresOverAt time.Time
}

// Demands sums up what workloads want of a group.
type Demands struct {
	Workloads  int // that count
	Need       int // pods that they should own for this group
	Ready      int // of these, done; a surplus of one workload never counts for another
	Observed   int // of Ready, those of workloads whose controller has seen the newest generation
	Short      int // workloads that have too few
	Unobserved int // workloads whose controller has not seen the newest generation
	Failed     int // Jobs that failed
	Going      int // workloads that are being deleted
	Nodeless   int // DaemonSets that expect no pod only because no node is ready for them
}

// Add adds the other sums, or subtracts them if sign is -1.
func (d *Demands) Add(other Demands, sign int) {
	d.Workloads += sign * other.Workloads
	d.Need += sign * other.Need
	d.Ready += sign * other.Ready
	d.Observed += sign * other.Observed
	d.Short += sign * other.Short
	d.Unobserved += sign * other.Unobserved
	d.Failed += sign * other.Failed
	d.Going += sign * other.Going
	d.Nodeless += sign * other.Nodeless
}

// Sum returns what the workload adds to the group. Each workload counts by itself: it is short if too few of its own pods are
// done, and its surplus covers no gap of another.
func (d Demand) Sum() Demands {
	w := d.Workload
	if !CountsPods(w) || d.IsOver() {
		return Demands{}
	}
	need, ready := max(0, w.Expects(d.Required)-d.NamedBefore-d.Claimed), d.Done
	if d.CountsWhereDue() {
		ready = min(ready, d.ReadyWhereDue())
	}
	short := ready < need
	if w.Kind == inventory.KindJob {
		ready, short = jobReady(w, d.Required, need, ready)
	}
	sum := Demands{Workloads: 1, Need: need, Ready: min(ready, need)}
	if short {
		sum.Short = 1
	}
	if w.Observed {
		sum.Observed = sum.Ready
	} else {
		sum.Unobserved = 1
	}
	if w.Observed && d.WaitsForNode {
		sum.Nodeless = 1
	}
	if w.Failed {
		sum.Failed = 1
	}
	if w.IsGoing(d.SeveralNamespaces) {
		sum.Going = 1
	}
	return sum
}

// IsOver reports whether the workload is a Job that failed before another Job of the group was created that has completed.
func (d Demand) IsOver() bool {
	return d.Workload.Failed && d.Workload.FailedAt.Before(d.FailuresOverAt)
}

// CountsWhereDue reports whether a DaemonSet's pods count only as far as its controller has found them ready where it is due. A taint, or
// another label, takes a node from it and leaves the pod there running and ready for a while, or for ever; so does the deletion of the node.
// Such a pod must not stand in for one that is not ready, or that is gone.
func (d Demand) CountsWhereDue() bool {
	return d.Workload.Kind == inventory.KindDaemonSet && d.Required == v1alpha1.RequireReady && d.Condition == ""
}

// ReadyWhereDue is how many pods of a DaemonSet are ready where it is due, at most. Its controller counted them when it counted how many it
// expects. What nodes say now is no help: they may have changed since, and the controller does not count again when one gets a taint.
func (d Demand) ReadyWhereDue() int {
	if d.Workload.AllCurrent {
		return d.Workload.ReadyNodes
	}
	return min(d.Workload.ReadyNodes, d.Workload.UpdatedNodes)
}

// CountsPods reports whether the workload says what to expect: a Deployment speaks for its ReplicaSets, and of a CronJob's
// Jobs only the newest counts.
func CountsPods(w *inventory.Workload) bool { return w.Counts() && !w.Superseded }
