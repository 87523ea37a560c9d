package ordercheck

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// lost is a Job, or a pod without a controller, that failed and was deleted. Its group expects it until it has a successor.
type lost struct {
	types.NamespacedName
	uid     types.UID
	pod     bool // else a Job
	created time.Time
	cronJob types.UID  // of a Job; empty if it has none
	labels  labels.Set // of the pod, or of the Job's pods
	of      func(groupFacts) int
}

func (l *lost) String() string {
	if l.pod {
		return "Pod " + l.Name
	}
	return "Job " + l.Name
}

// loseJob notes a Job that goes.
func (ns *namespace) loseJob(f *workloadFacts) {
	if f.job == nil {
		return
	}
	cronJob := f.owner.uid
	if f.owner.kind != "CronJob" {
		cronJob = ""
	}
	if f.job.failed && !ns.superseded(f) {
		ns.lost = append(ns.lost, &lost{
			NamespacedName: f.NamespacedName, uid: f.uid, created: f.created, cronJob: cronJob, labels: f.template,
			of: func(g groupFacts) int { return max(1, f.expects(g.reached)) },
		})
	}
	if cronJob != "" && !f.complete() {
		ns.unfinished[cronJob] = later(ns.unfinished[cronJob], f.created)
	}
}

// findJob ends what a Job succeeds.
func (ns *namespace) findJob(f *workloadFacts) {
	if f.job == nil {
		return
	}
	ns.lost = slices.DeleteFunc(ns.lost, func(l *lost) bool {
		younger := l.cronJob != "" && l.cronJob == f.owner.uid && f.youngerThan(l.created, l.Name)
		return !l.pod && (l.Name == f.Name || younger)
	})
}

// losePod notes a pod that goes: it is being deleted, or gone.
func (ns *namespace) losePod(p *podFacts) {
	if p.failed && p.owner.uid == "" && !p.terminating {
		ns.lost = append(ns.lost, &lost{
			NamespacedName: p.NamespacedName, uid: p.uid, pod: true, labels: p.labels, of: func(groupFacts) int { return 1 },
		})
	}
}

// findPod ends what a pod succeeds.
func (ns *namespace) findPod(p *podFacts) {
	ns.lost = slices.DeleteFunc(ns.lost, func(l *lost) bool { return l.pod && l.Name == p.Name && (l.uid != p.uid || !p.terminating) })
}

// lostIn are the lost members of a group by label, and how many pods it expects of them.
func (v *version) lostIn(g int, w *world) (members []*lost, pods int) {
	for _, namespace := range v.spans(w) {
		for _, l := range w.in(namespace).lost {
			if at, selected := v.groupOfLost(l); selected && at == g && v.minds(l) {
				members, pods = append(members, l), pods+l.of(v.groups[g])
			}
		}
	}
	return members, pods
}

// groupOfLost is the group by label that a lost member belongs to. A pod that some group names is expected by its name.
func (v *version) groupOfLost(l *lost) (int, bool) {
	if l.pod && len(v.naming[l.NamespacedName]) > 0 {
		return 0, false
	}
	return v.placeOf(l.labels, v.groupsIn(l.Namespace))
}

// minds reports whether the sequence knew the lost member, and nobody has done without it since.
func (v *version) minds(l *lost) bool {
	return v.knew.Has(l.uid) && !v.forgiven.Has(l.uid)
}

// know notes what has failed while it is there.
func (v *version) know(w *world) {
	for _, namespace := range v.spans(w) {
		ns := w.in(namespace)
		for _, f := range ns.workloads {
			if f.job != nil && f.job.failed {
				v.knew.Insert(f.uid)
			}
		}
		for _, p := range ns.pods {
			if p.failed && p.owner.uid == "" {
				v.knew.Insert(p.uid)
			}
		}
	}
}

// forgive ends the losses that a spec skips, takes out of all groups, or has passed for good.
func (v *version) forgive(w *world) {
	for _, namespace := range v.spans(w) {
		for _, l := range w.in(namespace).lost {
			g, selected := v.groupOfLost(l)
			passed := selected && v.cluster != nil && !v.continuous && v.cluster.groups[g].passed
			if !selected || v.groups[g].skip || passed {
				v.forgiven.Insert(l.uid)
			}
		}
	}
}
