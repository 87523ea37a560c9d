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
	cronJob owner      // of a Job; zero if it has none
	labels  labels.Set // of the pod, or of the Job's pods
	of      func(groupFacts) int
	// failedAt is when a Job failed.
	failedAt time.Time
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
	cronJob := f.owner
	if f.owner.kind != "CronJob" {
		cronJob = owner{}
	}
	byDeletion := f.terminating && f.job.failedAt.After(f.deletedAt) // its pods were ended before it
	if f.job.failed && !f.aside && !byDeletion && !ns.superseded(f) && !ns.replaced.Has(f.uid) {
		l := &lost{
			NamespacedName: f.NamespacedName, uid: f.uid, created: f.created, cronJob: cronJob, labels: f.template,
			of: func(g groupFacts) int { return max(1, f.expects(g.reached)) }, failedAt: f.job.failedAt,
		}
		succeeded := false
		for _, other := range ns.workloads {
			succeeded = succeeded || other.uid != f.uid && l.isSucceededBy(other)
		}
		if !succeeded {
			ns.lost = append(ns.lost, l)
		}
	}
	ns.replaced.Delete(f.uid)
	for _, other := range ns.workloads {
		if cronJob != (owner{}) && other.owner == cronJob && f.youngerThan(other.created, other.Name) {
			ns.replaced.Insert(other.uid)
		}
	}
	if cronJob != (owner{}) && !f.complete() {
		ns.unfinished[cronJob.uid] = later(ns.unfinished[cronJob.uid], f.created)
	}
}

// failedAtOf is when a Job failed; zero for anything else.
func failedAtOf(f *workloadFacts) time.Time {
	if f.job == nil || !f.job.failed {
		return time.Time{}
	}
	return f.job.failedAt
}

// findJob ends what a Job succeeds.
func (ns *namespace) findJob(f *workloadFacts) {
	if f.job != nil {
		ns.lost = slices.DeleteFunc(ns.lost, func(l *lost) bool { return l.isSucceededBy(f) })
	}
}

// isSucceededBy reports whether a Job takes the place of a lost one: by its name, or as a younger one of the CronJob.
func (l *lost) isSucceededBy(f *workloadFacts) bool {
	switch {
	case l.pod, f.job == nil:
		return false
	case l.Name == f.Name:
		return true
	}
	// The CronJob may have been created again.
	return l.cronJob != (owner{}) && l.cronJob.kind == f.owner.kind && l.cronJob.name == f.owner.name && f.youngerThan(l.created, l.Name)
}

// losePod notes a pod that goes: it is being deleted, or gone.
func (ns *namespace) losePod(p *podFacts) {
	if p.failed && p.owner.uid == "" && !p.aside && !p.terminating {
		ns.lost = append(ns.lost, &lost{
			NamespacedName: p.NamespacedName, uid: p.uid, pod: true, labels: p.labels, of: func(groupFacts) int { return 1 },
		})
	}
}

// findPod ends what a pod succeeds.
func (ns *namespace) findPod(p *podFacts) {
	before := len(ns.lost)
	defer func() { ns.found = len(ns.lost) < before }()
	ns.lost = slices.DeleteFunc(ns.lost, func(l *lost) bool { return l.pod && l.Name == p.Name && (l.uid != p.uid || !p.terminating) })
}

// noteComplete notes that a Job has completed: it makes up for those of its group that failed before it was created.
func (v *version) noteComplete(f *workloadFacts) {
	if g := v.homeOf(f); g >= 0 && v.cluster != nil && f.complete() && f.owner.kind != "CronJob" {
		p := &v.cluster.groups[g]
		p.failuresOver = later(p.failuresOver, f.created)
	}
}

// isOver reports whether a Job of a group that failed at a time no longer counts; a zero time is no failure.
func (v *version) isOver(g int, failedAt time.Time) bool {
	return v.cluster != nil && !failedAt.IsZero() && failedAt.Before(v.cluster.groups[g].failuresOver)
}

// lostIn are the lost members of a group by label, and how many pods it expects of them.
func (v *version) lostIn(g int, w *world) (members []*lost, pods int) {
	for _, namespace := range v.spans(w) {
		for _, l := range w.in(namespace).lost {
			if at, selected := v.groupOfLost(l); selected && at == g && v.minds(l) && !(l.cronJob == (owner{}) && v.isOver(g, l.failedAt)) {
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
