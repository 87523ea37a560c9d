package sequence

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
)

// A Job or a pod without a controller that failed keeps its group from being satisfied also when it is deleted: by its time to live, by
// a tool that prunes, or by a person who is about to create it again. Status records it while it is there, and the engine remembers what went
// before status had it. A failure ends when an object of its name is there again, when a Job of its group is complete that was created after
// it, when its group is skipped or passed, and when an edit takes the object out of all groups.

// failedJob and failedPod are the records of what has failed.
func (s *sequence) failedJob(w *workload, group int) v1alpha1.Failure {
	return s.shortened(v1alpha1.Failure{
		Kind: string(inventory.KindJob), Namespace: w.Namespace, Name: w.Name, UID: w.UID, CreatedAt: metav1.NewTime(w.CreatedAt),
		Pods: int32(min(max(w.Expects(s.groups[group].Required), 1), maxPodsOfFailure)), Labels: w.Labels, FailedAt: ptr.To(metav1.NewTime(w.FailedAt)),
	})
}

func (s *sequence) failedPod(p *pod) v1alpha1.Failure {
	return s.shortened(v1alpha1.Failure{
		Kind: string(inventory.KindPod), Namespace: p.Namespace, Name: p.Name, UID: p.UID, CreatedAt: metav1.NewTime(p.CreatedAt.Time()),
		Pods: 1, Labels: p.Labels.Map(),
	})
}

const (
	// maxPodsOfFailure bounds a number of the API that others may have written to status.
	maxPodsOfFailure = 1 << 30
	// maxLabelsOfFailure bounds, in bytes, the labels of a record: whoever may create pods may give them any number of labels.
	maxLabelsOfFailure = 1 << 10
)

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

// rememberJob remembers a Job that failed and was deleted, in all sequences that counted it.
func (k *knowledge) rememberJob(w *workload, counted []*demand, tx *transaction) {
	if w.replaced {
		return
	}
	for _, demand := range counted {
		demand.sequence.remember(demand.sequence.failedJob(w, demand.group), tx)
	}
}

// rememberPod remembers a pod that failed without a controller, and is a member no longer. A group by name expects the name anyway.
func (k *knowledge) rememberPod(p *pod, tx *transaction) {
	if !p.IsLost() {
		return
	}
	for _, m := range p.memberships() {
		if s := m.sequence; len(s.Names(p.Namespace)[p.Name]) == 0 {
			s.remember(s.failedPod(p), tx)
		}
	}
}

// remember keeps a failure until status has it. Of one group it keeps as many as status may list: so none forgets its last failure for those of
// another, which would start those that wait.
func (s *sequence) remember(f v1alpha1.Failure, tx *transaction) {
	group, selected := s.groupOfFailure(&f)
	if !selected || s.PerNode || !s.wasThereAt(tx) || s.isRecorded(f.UID) {
		return
	}
	inGroup := 0
	for _, other := range s.gone {
		if at, selected := s.groupOfFailure(&other); selected && at == group {
			inGroup++
		}
	}
	if inGroup >= v1alpha1.MaxFailures {
		return
	}
	if s.gone == nil {
		s.gone = map[types.UID]v1alpha1.Failure{}
	}
	s.gone[f.UID] = f
	tx.markGroupDirty(s.nodeless, group)
}

// wasThereAt reports whether the sequence was there when the event happened, which may come late.
func (s *sequence) wasThereAt(tx *transaction) bool {
	return tx.version == "" || !inventory.Behind(tx.version, s.sinceVersion)
}

// isRecorded reports whether status lists the failure.
func (s *sequence) isRecorded(uid types.UID) bool {
	return slices.ContainsFunc(s.object.Status.Failures, func(f v1alpha1.Failure) bool { return f.UID == uid })
}

// groupOfFailure is the group that selects the failed member, and waits for it.
func (s *sequence) groupOfFailure(f *v1alpha1.Failure) (int, bool) {
	group, selected := s.GroupOfTemplate(f.Namespace, labels.Set(f.Labels), s.groupsByNamespace[f.Namespace])
	return group, selected && !s.groups[group].Skip && (s.Continuous || !s.nodeless.Passed.Has(group))
}

// namesake returns the UID of the object that has the name of the failed one, which may be that itself; empty if there is none. A failed pod
// that is going is gone.
func (k *knowledge) namesake(f *v1alpha1.Failure) types.UID {
	if inventory.Kind(f.Kind) == inventory.KindPod {
		if p := k.namespaces.pods(f.Namespace)[f.Name]; p != nil && (p.UID != f.UID || !p.Terminating) {
			return p.UID
		}
	} else if w := k.workloads.byName[inventory.WorkloadKey{Kind: inventory.Kind(f.Kind), Namespace: f.Namespace, Name: f.Name}]; w != nil {
		return w.UID
	}
	return ""
}

// isOver reports whether the failure will never count again, if it is one in this group: a Job of the group is complete that was created after
// it, or another object of its name is there, or was.
func (s *sequence) isOver(f *v1alpha1.Failure, group int) bool {
	namesake := s.knowledge.namesake(f)
	return s.ended.Has(f.UID) || f.FailedAt != nil && f.FailedAt.Time.Before(s.groups[group].failuresOverAt) || namesake != "" && namesake != f.UID
}

// mayHaveFailures reports whether any failure may count.
func (s *sequence) mayHaveFailures() bool {
	return len(s.gone)+len(s.object.Status.Failures) > 0 && !s.PerNode && !s.refused()
}

// failures are those that may count, with the group in which they do.
func (s *sequence) failures() iter.Seq2[int, *v1alpha1.Failure] {
	return func(yield func(int, *v1alpha1.Failure) bool) {
		if !s.mayHaveFailures() {
			return
		}
		for _, f := range slices.AppendSeq(slices.Clone(s.object.Status.Failures), maps.Values(s.gone)) {
			if group, selected := s.groupOfFailure(&f); selected && !yield(group, &f) {
				return
			}
		}
	}
}

// reviewFailures marks for re-evaluation the groups in which failures may count, and notes which are over, as long as status lists them.
func (s *sequence) reviewFailures(tx *transaction) {
	if !s.mayHaveFailures() {
		return
	}
	for group, f := range s.failures() {
		tx.markGroupDirty(s.nodeless, group)
		if s.isOver(f, group) {
			s.ended.Insert(f.UID)
		}
	}
	maps.DeleteFunc(s.gone, func(uid types.UID, f v1alpha1.Failure) bool {
		_, selected := s.groupOfFailure(&f)
		return !selected || s.ended.Has(uid) || s.knowledge.namesake(&f) == uid || s.isRecorded(uid)
	})
	maps.DeleteFunc(s.ended, func(uid types.UID, _ sets.Empty) bool { return !s.isRecorded(uid) })
}

// reviewFailuresOf is reviewFailures for all sequences in which an object of this name failed, which has come or gone.
func (k *knowledge) reviewFailuresOf(kind inventory.Kind, namespace, name string, tx *transaction) {
	ns := k.namespaces[namespace]
	if ns == nil {
		return
	}
	for s := range ns.sequences {
		for _, f := range s.failures() {
			if f.Kind == string(kind) && f.Namespace == namespace && f.Name == name {
				s.reviewFailures(tx)
				break
			}
		}
	}
}

// lost sums up the failures in a group.
func (s *sequence) lost(group int) (lost readiness.Lost) {
	for _, f := range s.failuresIn(group) {
		lost.Add(int(f.Pods))
	}
	return lost
}

// failuresIn are the failures in a group, of members that are gone, sorted.
func (s *sequence) failuresIn(group int) []v1alpha1.Failure {
	var in []v1alpha1.Failure
	for at, f := range s.failures() {
		if at == group && s.knowledge.namesake(f) == "" && !s.isOver(f, group) {
			in = append(in, *f)
		}
	}
	slices.SortFunc(in, report.CompareFailures)
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
		in[i] = append(s.failuresIn(i), slices.SortedFunc(slices.Values(s.failedMembers(i)), report.CompareFailures)...)
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

// failedGroups returns the groups under way that will not be satisfied without intervention, because members failed, or that are too late.
func (d *domain) failedGroups() order.GroupSet {
	failed := order.GroupSet(0)
	for i := range d.Current().All() {
		state, tooLate := d.peek(i), !d.sequence.groups[i].ContinueOnTimeout && d.timedOut(i, d.sequence.knowledge.now)
		if !state.satisfied && (tooLate || state.sums.Failed > 0 || len(d.failedJobs(i)) > 0) {
			failed.Add(i)
		}
	}
	return failed
}

// failureOfMembers says which members of a group failed, and how to replace them; nil if none did.
func (d *domain) failureOfMembers(i int) *order.Problem {
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
		if demand.entered.Failed > 0 && !newest.CreatedAt.After(demand.workload.FailedAt) {
			jobs = append(jobs, &demand.workload.Workload)
		}
	}
	return jobs
}

// lostIn are the failures in a group of members that are gone, except of Jobs after which somebody created another one.
func (d *domain) lostIn(i int) []v1alpha1.Failure {
	newest := d.newestJob(i)
	return slices.DeleteFunc(d.sequence.failuresIn(i), func(f v1alpha1.Failure) bool {
		return f.FailedAt != nil && newest.CreatedAt.After(f.FailedAt.Time)
	})
}

// newestJob is the Job of a group that was created last and is not being deleted; the zero value if there is none. Of several of one second
// it is the first by name, however often it is asked for: status names it.
func (d *domain) newestJob(i int) *inventory.Workload {
	newest := &inventory.Workload{}
	for demand := range d.sequence.groups[i].demands {
		w := &demand.workload.Workload
		if w.Kind != inventory.KindJob || w.Terminating {
			continue
		}
		if cmp.Or(w.CreatedAt.Compare(newest.CreatedAt), strings.Compare(newest.Namespace, w.Namespace), strings.Compare(newest.Name, w.Name)) > 0 {
			newest = w
		}
	}
	return newest
}
