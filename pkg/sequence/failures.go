package sequence

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// A Job or a pod without a controller that failed keeps its group from being satisfied also when it is deleted: by its time to live, by
// a tool that prunes, or by a person who is about to create it again. The engine sees the deletion, and status has the record for
// engines that did not. A failure ends when the object has a successor, when its group is skipped or passed, and when an edit takes the
// object out of all groups.

func (f *failure) key() inventory.WorkloadKey {
	return inventory.WorkloadKey{Kind: inventory.Kind(f.Kind), Namespace: f.Namespace, Name: f.Name}
}

// isSucceededBy reports whether a Job takes the place of one that failed: one of its name, a newer one of its CronJob, which may have been
// created again under its name, or one of the same purpose and group that was created after the failure under a new name, as each release
// brings one.
func (s *sequence) isSucceededBy(f *failure, w *inventory.Workload) bool {
	switch {
	case f.Kind != string(w.Kind), f.UID == w.UID:
		return false
	case f.key() == w.Key():
		return true
	case f.CronJobUID != "":
		failed := inventory.Workload{Name: f.Name, CreatedAt: f.CreatedAt.Time}
		same := f.CronJobUID == w.Owner || f.CronJobName != "" && f.CronJobName == w.CronJob && f.Namespace == w.Namespace
		return same && w.StartedAfter(&failed)
	}
	return f.hasRoleOf(w) && !slices.Contains(f.Peers, w.Name) && s.inGroupOf(f, w)
}

// inGroupOf reports whether the failed member's group selects the pods of a Job, too.
func (s *sequence) inGroupOf(f *failure, w *inventory.Workload) bool {
	if !w.Counts() {
		return false
	}
	group, selected := s.groupOfFailure(f)
	at, is := s.GroupOfTemplate(w.Namespace, labels.Set(w.Labels), s.groupsByNamespace[w.Namespace])
	return selected && is && at == group
}

// hasRoleOf reports whether a Job that was created after the failure is of the same purpose.
func (f *failure) hasRoleOf(w *inventory.Workload) bool {
	return f.FailedAt != nil && w.CreatedAt.After(f.FailedAt.Time) && f.Namespace == w.Namespace && inventory.SamePurpose(f.Labels, w.Labels)
}

// failedJob and failedPod are the records of what has failed.
func (s *sequence) failedJob(w *workload, group int) v1alpha1.Failure {
	f := v1alpha1.Failure{
		Kind: string(inventory.KindJob), Namespace: w.Namespace, Name: w.Name, UID: w.UID, CreatedAt: metav1.NewTime(w.CreatedAt),
		Pods: int32(min(max(w.Expects(s.groups[group].Required), 1), maxPodsOfFailure)), CronJobUID: w.Owner, CronJobName: w.CronJob, Labels: w.Labels,
		FailedAt: ptr.To(metav1.NewTime(w.FailedAt)), Peers: w.peers,
	}
	// A program that was started after the failure does not know the peers that are gone since.
	for _, recorded := range s.object.Status.Failures {
		if recorded.UID == w.UID {
			f.Peers = peers(slices.Concat(f.Peers, recorded.Peers))
		}
	}
	return s.shortened(f)
}

// maxLabelsOfFailure bounds, in bytes, the labels and peers of a record: whoever may create pods may give them any number of labels.
const maxLabelsOfFailure = 1 << 10

// shortened returns the record as status has room for it. Of too many labels it keeps those that the groups ask for. These do not say
// what a Job was for, so that only one of its name or of its CronJob succeeds it.
func (s *sequence) shortened(f v1alpha1.Failure) v1alpha1.Failure {
	size := 0
	for key, value := range f.Labels {
		size += len(key) + len(value)
	}
	for _, name := range f.Peers {
		size += len(name)
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
	f.Labels, f.Peers, f.FailedAt = asked, nil, nil
	return f
}

// peers are the names of Jobs as status may have them.
func peers(names []string) []string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	return names[:min(len(names), v1alpha1.MaxPeers)]
}

// noteSuccessor remembers, with the Jobs that failed and are still there, that one which succeeded them is gone.
func (all *workloads) noteSuccessor(gone *workload) {
	const most = 4 // with other labels; they differ in versions only
	if gone.Kind != inventory.KindJob || !gone.Counts() || len(all.failedJobs) == 0 {
		return
	}
	for w := range all.failedJobs[purposeOf(gone)] {
		known := slices.ContainsFunc(w.successors, func(labels map[string]string) bool { return maps.Equal(labels, gone.Labels) })
		if gone.CreatedAt.After(w.FailedAt) && !slices.Contains(w.peers, gone.Name) && !known && len(w.successors) < most {
			w.successors = append(w.successors, gone.Labels)
		}
	}
}

// hadSuccessor reports whether a Job that failed had a successor in its group that is gone.
func (s *sequence) hadSuccessor(w *workload, group int) bool {
	return w.replaced || slices.ContainsFunc(w.successors, func(of map[string]string) bool {
		at, selected := s.GroupOfTemplate(w.Namespace, labels.Set(of), s.groupsByNamespace[w.Namespace])
		return selected && at == group
	})
}

// notePeers remembers of Jobs, when they are first seen to have failed, which others of their purpose there were then. One that was
// created later is none, though it was there when the program started.
func (all *workloads) notePeers(failed []*workload) {
	same, namespaces := map[purpose][]*workload{}, map[string]struct{}{}
	for _, w := range failed {
		same[purposeOf(w)], namespaces[w.Namespace] = nil, struct{}{}
	}
	for namespace := range namespaces {
		for w := range all.byNamespace[namespace] {
			if w.Kind != inventory.KindJob {
				continue
			}
			if jobs, asked := same[purposeOf(w)]; asked {
				same[purposeOf(w)] = append(jobs, w)
			}
		}
	}
	for _, jobs := range same {
		slices.SortFunc(jobs, func(a, b *workload) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, w := range failed {
		w.peers = nil
		for _, other := range same[purposeOf(w)] {
			if len(w.peers) == v1alpha1.MaxPeers {
				break
			}
			if other.UID != w.UID && !other.CreatedAt.After(w.FailedAt) {
				w.peers = append(w.peers, other.Name)
			}
		}
	}
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
	for _, demand := range counted {
		s := demand.sequence
		f := &failure{Failure: s.failedJob(w, demand.group)}
		if s.hadSuccessor(w, demand.group) {
			s.endFailure(f.UID)
		} else if s.wasThereAt(tx) && k.isUnresolved(s, f) {
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
	return tx.version == "" || s.knowledge.questions.versionsIncomparable || !inventory.Behind(tx.version, s.sinceVersion)
}

// groupOfFailure is the group that would select the failed member.
func (s *sequence) groupOfFailure(f *failure) (int, bool) {
	return s.GroupOfTemplate(f.Namespace, labels.Set(f.Labels), s.groupsByNamespace[f.Namespace])
}

// remember keeps a failure as long as the sequence must. What it need not keep it takes for ended.
func (k *knowledge) remember(s *sequence, f *failure, tx *transaction) {
	group, selected := s.groupOfFailure(f)
	switch {
	case s.PerNode, s.refused():
		return
	case !selected, s.groups[group].Skip, !s.Continuous && s.nodeless.Passed.Has(group):
		s.endFailure(f.UID)
		return
	}
	if len(s.failures.byUID) >= v1alpha1.MaxFailures && !k.makeRoomFor(s, group, tx) {
		return
	}
	if s.failures.byUID == nil {
		s.failures.byUID = map[types.UID]*failure{}
	}
	s.failures.byUID[f.UID] = f
	insert(k.failures, f.Namespace, s)
	tx.markGroupDirty(s.nodeless, group)
}

// makeRoomFor forgets a failure of the group that has most of them, if that has more than the group that needs room. There may be as many
// failures as groups, so none forgets its last one for another: its others would start those that wait.
func (k *knowledge) makeRoomFor(s *sequence, group int, tx *transaction) bool {
	in := map[int][]*failure{}
	most := group
	for _, f := range s.failures.byUID {
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

// endFailure notes that a failure is over though status may have it. Of very many only those are kept that status has now.
func (s *sequence) endFailure(uid types.UID) {
	if s.failures.ended == nil {
		s.failures.ended = map[types.UID]struct{}{}
	}
	if len(s.failures.ended) >= maxEnded {
		s.forgetEnded()
	}
	s.failures.ended[uid] = struct{}{}
}

// maxEnded is more than can end between two versions of status, unless somebody creates members that fail so that they are
// remembered.
const maxEnded = 4 * v1alpha1.MaxFailures

// forgetEnded forgets those that ended and that status does not have.
func (s *sequence) forgetEnded() {
	maps.DeleteFunc(s.failures.ended, func(uid types.UID, _ struct{}) bool {
		return !slices.ContainsFunc(s.object.Status.Failures, func(f v1alpha1.Failure) bool { return f.UID == uid })
	})
}

// areIn reports whether anything in a namespace failed.
func (all *failuresOf) areIn(namespace string) bool {
	for _, f := range all.byUID {
		if f.Namespace == namespace {
			return true
		}
	}
	return false
}

// dropFailure forgets a failure.
func (k *knowledge) dropFailure(s *sequence, f *failure, tx *transaction) {
	delete(s.failures.byUID, f.UID)
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
		for uid, f := range s.failures.byUID {
			if s.isSucceededBy(f, &w.Workload) {
				s.endFailure(uid)
			} else if uid != w.UID {
				continue
			}
			k.dropFailure(s, f, tx)
		}
	}
}

// notePod is noteJob for a pod.
func (k *knowledge) notePod(p *pod, tx *transaction) {
	key := inventory.WorkloadKey{Kind: inventory.KindPod, Namespace: p.Namespace, Name: p.Name}
	for s := range maps.Clone(k.failures[p.Namespace]) {
		for uid, f := range s.failures.byUID {
			switch {
			case f.key() != key, uid == p.UID && p.Terminating:
				continue
			case uid != p.UID:
				s.endFailure(uid)
			}
			k.dropFailure(s, f, tx)
		}
	}
}

// isOver reports whether a Job of the group was created after the failure of another one and has completed.
func (s *sequence) isOver(f *v1alpha1.Failure) bool {
	group, selected := s.groupOfFailure(&failure{Failure: *f})
	return selected && f.FailedAt != nil && f.CronJobUID == "" && f.FailedAt.Time.Before(s.groups[group].failuresOverAt)
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
		if w.UID == f.UID || s.isSucceededBy(f, &w.Workload) {
			return false
		}
	}
	return true
}

// restoreFailures takes from status the failures that the engine did not see.
func (k *knowledge) restoreFailures(s *sequence, tx *transaction) {
	if s.PerNode || s.refused() {
		return
	}
	listed := map[types.UID]struct{}{}
	for _, recorded := range s.object.Status.Failures {
		listed[recorded.UID] = struct{}{}
		f := &failure{Failure: recorded, recorded: true}
		_, ended := s.failures.ended[f.UID]
		if s.failures.byUID[f.UID] == nil && !ended && k.isUnresolved(s, f) {
			k.remember(s, f, tx)
		}
	}
	for uid, f := range s.failures.byUID {
		if _, is := listed[uid]; f.recorded && !is {
			k.dropFailure(s, f, tx)
		}
	}
	s.forgetEnded()
}

// inheritFailures takes over what an earlier spec of the same object remembered. The edit may have taken members out, or skip their group.
func (k *knowledge) inheritFailures(s, old *sequence, tx *transaction) {
	if s.UID != old.UID || s.PerNode || old.PerNode {
		return
	}
	s.failures.ended = old.failures.ended
	for _, f := range old.failures.byUID {
		k.remember(s, f, tx)
	}
	k.findSuccessors(s, tx)
}

// findSuccessors ends the failures to whose groups a successor came by an edit, or with the labels of a namespace.
func (k *knowledge) findSuccessors(s *sequence, tx *transaction) {
	for uid, f := range s.failures.byUID {
		if !k.isUnresolved(s, f) {
			s.endFailure(uid)
			k.dropFailure(s, f, tx)
		}
	}
}

// forgetFailures forgets those of a sequence that counts no longer.
func (k *knowledge) forgetFailures(s *sequence) {
	for _, f := range s.failures.byUID {
		remove(k.failures, f.Namespace, s)
	}
}

// reviewFailures forgets the failures in groups that are passed permanently, or that do not select their members any more. It reports
// whether there were any.
func (k *knowledge) reviewFailures(s *sequence, tx *transaction) (changed bool) {
	for uid, f := range s.failures.byUID {
		if group, selected := s.groupOfFailure(f); !selected || (!s.Continuous && s.nodeless.Passed.Has(group)) {
			s.endFailure(uid)
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
	for _, f := range s.failures.byUID {
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

// failedGroups returns the groups under way that will not be satisfied unless somebody acts, because members failed.
func (d *domain) failedGroups() spec.GroupSet {
	failed := spec.GroupSet(0)
	for i := range d.Current().All() {
		if state := d.peek(i); !state.satisfied && (state.sums.Failed > 0 || len(d.failedJobs(i)) > 0) {
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
		return f.FailedAt != nil && f.CronJobUID == "" && newest.CreatedAt.After(f.FailedAt.Time)
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
