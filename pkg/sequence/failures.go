package sequence

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// A Job or a pod without a controller that failed keeps its group from being satisfied also when it is deleted: by its time to live, by
// a tool that prunes, or by a person who is about to create it again. The engine sees the deletion, and status has the record for
// engines that did not. A failure ends when an object of its name is there again, when a later Job of its group is complete, when its group is
// skipped or passed, and when an edit takes the object out of all groups.

func (f *failure) key() inventory.WorkloadKey {
	return inventory.WorkloadKey{Kind: inventory.Kind(f.Kind), Namespace: f.Namespace, Name: f.Name}
}

// isSucceededBy reports whether a Job takes the place of one that failed: one of its name, or a newer one of its CronJob, which may have been
// created again under its name.
func (f *failure) isSucceededBy(w *inventory.Workload) bool {
	switch {
	case f.Kind != string(w.Kind), f.Namespace != w.Namespace, f.UID == w.UID:
		return false
	case f.CronJobName != "" && f.CronJobName == w.CronJob:
		return w.StartedAfter(&inventory.Workload{Name: f.Name, CreatedAt: f.CreatedAt.Time})
	}
	return f.Name == w.Name
}

// failedJob and failedPod are the records of what has failed.
func (s *sequence) failedJob(w *workload, group int) v1alpha1.Failure {
	return s.shortened(v1alpha1.Failure{
		Kind: string(inventory.KindJob), Namespace: w.Namespace, Name: w.Name, UID: w.UID, CreatedAt: metav1.NewTime(w.CreatedAt),
		Pods: int32(min(max(w.Expects(s.groups[group].Required), 1), maxPodsOfFailure)), CronJobName: w.CronJob, Labels: w.Labels,
		FailedAt: ptr.To(metav1.NewTime(w.FailedAt)),
	})
}

// maxLabelsOfFailure bounds, in bytes, the labels of a record: whoever may create pods may give them any number of labels.
const maxLabelsOfFailure = 1 << 10

// shortened returns the record as status has room for it. Of too many labels it keeps those that the groups ask for.
func (s *sequence) shortened(f v1alpha1.Failure) v1alpha1.Failure {
	size := 0
	for key, value := range f.Labels {
		size += len(key) + len(value)
	}
	if size <= maxLabelsOfFailure {
		return f
	}
	asked := map[string]string{}
	for _, g := range s.groups {
		if g.Selector == nil {
			continue
		}
		requirements, _ := g.Selector.Requirements()
		for _, r := range requirements {
			if value, has := f.Labels[r.Key()]; has {
				asked[r.Key()] = value
			}
		}
	}
	f.Labels = asked
	return f
}

func (s *sequence) failedPod(p *pod) v1alpha1.Failure {
	return s.shortened(v1alpha1.Failure{
		Kind: string(inventory.KindPod), Namespace: p.Namespace, Name: p.Name, UID: p.UID, CreatedAt: metav1.NewTime(p.CreatedAt.Time()),
		Pods: 1, Labels: p.Labels.Map(),
	})
}

// maxPodsOfFailure bounds a number of the API that others may have written to status.
const maxPodsOfFailure = 1 << 30

// rememberJob remembers a Job that failed and was deleted, in all sequences that counted it.
func (k *knowledge) rememberJob(w *workload, counted []*demand, tx *transaction) {
	if w.replaced {
		return
	}
	for _, demand := range counted {
		s := demand.sequence
		if f := (&failure{Failure: s.failedJob(w, demand.group)}); s.wasThereAt(tx) && k.isUnresolved(s, f) {
			k.remember(s, f, tx)
		}
	}
}

// noteDeletedPod remembers a pod that failed without a controller, and is a member no longer. A group by name expects the name anyway.
func (k *knowledge) noteDeletedPod(p *pod, tx *transaction) {
	if !p.IsLost() {
		return
	}
	for _, m := range p.memberships() {
		if len(m.sequence.Names(p.Namespace)[p.Name]) == 0 && m.sequence.wasThereAt(tx) {
			k.remember(m.sequence, &failure{Failure: m.sequence.failedPod(p)}, tx)
		}
	}
}

// wasThereAt reports whether the sequence was there when the event happened, which may come late.
func (s *sequence) wasThereAt(tx *transaction) bool {
	return tx.version == "" || !inventory.Behind(tx.version, s.sinceVersion)
}

// groupOfFailure is the group that would select the failed member.
func (s *sequence) groupOfFailure(f *failure) (int, bool) {
	return s.GroupOfTemplate(f.Namespace, labels.Set(f.Labels), s.groupsByNamespace[f.Namespace])
}

// remember keeps a failure as long as the sequence must.
func (k *knowledge) remember(s *sequence, f *failure, tx *transaction) {
	group, selected := s.groupOfFailure(f)
	switch {
	case s.PerNode, s.refused(), !selected, s.groups[group].Skip, !s.Continuous && s.nodeless.Passed.Has(group):
		return
	}
	if len(s.failures) >= v1alpha1.MaxFailures && !k.makeRoomFor(s, group, tx) {
		return
	}
	if s.failures == nil {
		s.failures = failuresOf{}
	}
	s.failures[f.UID] = f
	insert(k.failures, f.Namespace, s)
	tx.markGroupDirty(s.nodeless, group)
}

// makeRoomFor forgets a failure of the group that has most of them, if that has more than the group that needs room. There may be as many
// failures as groups, so none forgets its last one for another: its others would start those that wait.
func (k *knowledge) makeRoomFor(s *sequence, group int, tx *transaction) bool {
	in := map[int][]*failure{}
	most := group
	for _, f := range s.failures {
		if at, selected := s.groupOfFailure(f); selected {
			in[at] = append(in[at], f)
		}
	}
	for at := range s.groups {
		if len(in[at]) > len(in[most]) {
			most = at
		}
	}
	if most == group {
		return false
	}
	k.dropFailure(s, slices.MaxFunc(in[most], func(a, b *failure) int { return report.CompareFailures(a.Failure, b.Failure) }), tx)
	return true
}

// areIn reports whether anything in a namespace failed.
func (all failuresOf) areIn(namespace string) bool {
	for _, f := range all {
		if f.Namespace == namespace {
			return true
		}
	}
	return false
}

// dropFailure forgets a failure.
func (k *knowledge) dropFailure(s *sequence, f *failure, tx *transaction) {
	delete(s.failures, f.UID)
	if !s.failures.areIn(f.Namespace) {
		remove(k.failures, f.Namespace, s)
	}
	if group, selected := s.groupOfFailure(f); selected {
		tx.markGroupDirty(s.nodeless, group)
	}
}

// noteJob ends the failures that a Job succeeds, and forgets that of the Job itself: it is there.
func (k *knowledge) noteJob(w *workload, tx *transaction) {
	if w.Kind != inventory.KindJob {
		return
	}
	for s := range maps.Clone(k.failures[w.Namespace]) {
		for uid, f := range s.failures {
			if uid == w.UID || f.isSucceededBy(&w.Workload) {
				k.dropFailure(s, f, tx)
			}
		}
	}
}

// notePod is noteJob for a pod.
func (k *knowledge) notePod(p *pod, tx *transaction) {
	key := inventory.WorkloadKey{Kind: inventory.KindPod, Namespace: p.Namespace, Name: p.Name}
	for s := range maps.Clone(k.failures[p.Namespace]) {
		for uid, f := range s.failures {
			if f.key() == key && (uid != p.UID || !p.Terminating) {
				k.dropFailure(s, f, tx)
			}
		}
	}
}

// isOver reports whether a Job of the group was created after the failure of another one and has completed.
func (s *sequence) isOver(f *v1alpha1.Failure) bool {
	group, selected := s.groupOfFailure(&failure{Failure: *f})
	return selected && f.FailedAt != nil && f.CronJobName == "" && f.FailedAt.Time.Before(s.groups[group].failuresOverAt)
}

// isUnresolved reports whether nothing that is known ends the failure: neither is the object there, nor a successor.
func (k *knowledge) isUnresolved(s *sequence, f *failure) bool {
	if s.isOver(&f.Failure) {
		return false
	}
	if inventory.Kind(f.Kind) == inventory.KindPod {
		p := k.namespaces.pods(f.Namespace)[f.Name]
		return p == nil || (p.UID == f.UID && p.Terminating)
	}
	for w := range k.workloads.byNamespace[f.Namespace] {
		if w.UID == f.UID || f.isSucceededBy(&w.Workload) {
			return false
		}
	}
	return true
}

// restoreFailures takes from status the failures that the engine did not see: when it first sees the sequence, or keeps its failures again.
func (k *knowledge) restoreFailures(s *sequence, tx *transaction) {
	for _, recorded := range s.object.Status.Failures {
		if f := (&failure{Failure: recorded, recorded: true}); k.isUnresolved(s, f) {
			k.remember(s, f, tx)
		}
	}
}

// endRecordedFailures forgets the failures that status does not have any more, of those that the engine has from there.
func (k *knowledge) endRecordedFailures(s *sequence, tx *transaction) {
	for uid, f := range s.failures {
		if f.recorded && !slices.ContainsFunc(s.object.Status.Failures, func(listed v1alpha1.Failure) bool { return listed.UID == uid }) {
			k.dropFailure(s, f, tx)
		}
	}
}

// inheritFailures takes over what an earlier spec of the same object remembered. The edit may have taken members out, or skip their group.
func (k *knowledge) inheritFailures(s, old *sequence, tx *transaction) {
	if s.UID != old.UID || s.PerNode || old.PerNode {
		return
	}
	for _, f := range old.failures {
		if k.isUnresolved(s, f) {
			k.remember(s, f, tx)
		}
	}
}

// reviewFailures forgets the failures that are over: in groups that are passed permanently, or that do not select their members any more, and
// those that a Job of the group made up for. It reports whether there were any.
func (k *knowledge) reviewFailures(s *sequence, tx *transaction) (changed bool) {
	for _, f := range s.failures {
		if group, selected := s.groupOfFailure(f); !selected || !s.Continuous && s.nodeless.Passed.Has(group) || s.isOver(&f.Failure) {
			k.dropFailure(s, f, tx)
			changed = true
		}
	}
	return changed
}

// lost sums up the failures in a group.
func (s *sequence) lost(group int) (lost readiness.Lost) {
	for _, f := range s.failuresIn(group) {
		lost.Add(int(f.Pods))
	}
	return lost
}

// failuresIn are the failures in a group, of members that are gone.
func (s *sequence) failuresIn(group int) []v1alpha1.Failure {
	var in []v1alpha1.Failure
	for _, f := range s.failures {
		if at, selected := s.groupOfFailure(f); selected && at == group {
			in = append(in, f.Failure)
		}
	}
	return in
}

// allFailures are the failures that status is to have: of members that are gone, and of those that may go. If they are too many, all
// groups have as many, as far as they have.
func (s *sequence) allFailures() []v1alpha1.Failure {
	if s.PerNode || s.refused() {
		return nil
	}
	in, most := make([][]v1alpha1.Failure, len(s.groups)), 0
	for i, g := range s.groups {
		if g.Skip || (!s.Continuous && s.nodeless.Passed.Has(i)) {
			continue
		}
		in[i] = slices.SortedFunc(slices.Values(s.failuresIn(i)), report.CompareFailures)
		in[i] = append(in[i], slices.SortedFunc(slices.Values(s.failedMembers(i)), report.CompareFailures)...)
		most = max(most, len(in[i]))
	}
	var all []v1alpha1.Failure
	for n := range most {
		for _, failures := range in {
			if n < len(failures) && len(all) < v1alpha1.MaxFailures {
				all = append(all, failures[n])
			}
		}
	}
	return all
}

// failedMembers are the failures of members that may go.
func (s *sequence) failedMembers(i int) []v1alpha1.Failure {
	var all []v1alpha1.Failure
	g, state := s.groups[i], s.nodeless.peek(i)
	if state.demands.Failed > 0 {
		for demand := range g.demands {
			if readiness.IsFailedJob(&demand.workload.Workload) && demand.entered.Failed > 0 {
				all = append(all, s.failedJob(demand.workload, i))
			}
		}
	}
	if state.sums.Failed > 0 {
		for p := range state.members {
			if p.IsLost() && len(s.Names(p.Namespace)[p.Name]) == 0 {
				all = append(all, s.failedPod(p))
			}
		}
	}
	return all
}

// failedGroups returns the groups under way that will not be satisfied unless somebody acts, because members failed, or that are too late.
func (d *domain) failedGroups() spec.GroupSet {
	failed := spec.GroupSet(0)
	for i := range d.Current().All() {
		state, tooLate := d.peek(i), !d.sequence.groups[i].ContinueOnTimeout && d.timedOut(i, d.sequence.knowledge.now)
		if !state.satisfied && (tooLate || state.sums.Failed > 0 || len(d.failedJobs(i)) > 0) {
			failed.Add(i)
		}
	}
	return failed
}

// failureOfMembers says which members of a group failed, and how to replace them; nil if none did.
func (d *domain) failureOfMembers(i int) *spec.Problem {
	if d.peek(i).sums.Failed > 0 {
		return ptr.To(report.PodFailed(d.where(i), d.failedPods(i)))
	}
	if jobs := d.failedJobs(i); len(jobs) > 0 {
		return ptr.To(report.JobFailed(d.where(i), jobs, d.sequence.Cluster))
	}
	return nil
}

func (d *domain) failedPods(i int) []string {
	var names []string
	collect := func(p *pod) {
		if p.IsLost() {
			names = append(names, "pod "+d.sequence.nameOf(p))
		}
	}
	for p := range d.peek(i).members {
		collect(p)
	}
	if len(names) == 0 { // a pod that this group names starts with an earlier one
		for j := range i {
			for p := range d.peek(j).members {
				if d.sequence.groups[i].NamesPod(p.Namespace, p.Name) {
					collect(p)
				}
			}
		}
	}
	return names
}

// failedJobs are the Jobs of a group that failed, and after which nobody created another one. Such a Job is over when the other completes.
func (d *domain) failedJobs(i int) []*inventory.Workload {
	if d.peek(i).demands.Failed == 0 {
		return nil
	}
	var jobs []*inventory.Workload
	newest := d.newestJob(i)
	for demand := range d.sequence.groups[i].demands {
		if demand.entered.Failed > 0 && (demand.workload.CronJob != "" || !newest.CreatedAt.After(demand.workload.FailedAt)) {
			jobs = append(jobs, &demand.workload.Workload)
		}
	}
	return jobs
}

// lostIn are the failures in a group of members that are gone, except of Jobs after which somebody created another one.
func (d *domain) lostIn(i int) []v1alpha1.Failure {
	newest := d.newestJob(i)
	return slices.DeleteFunc(d.sequence.failuresIn(i), func(f v1alpha1.Failure) bool {
		return f.FailedAt != nil && f.CronJobName == "" && newest.CreatedAt.After(f.FailedAt.Time)
	})
}

// newestJob is the Job of a group that was created last and is not being deleted; the zero value if there is none. Of several of one second
// it is the first by name, whenever somebody asks: status names it.
func (d *domain) newestJob(i int) *inventory.Workload {
	newest := &inventory.Workload{}
	for demand := range d.sequence.groups[i].demands {
		w := &demand.workload.Workload
		if w.Kind != inventory.KindJob || w.Terminating || w.CronJob != "" {
			continue
		}
		if cmp.Or(w.CreatedAt.Compare(newest.CreatedAt), strings.Compare(newest.Namespace, w.Namespace), strings.Compare(newest.Name, w.Name)) > 0 {
			newest = w
		}
	}
	return newest
}
