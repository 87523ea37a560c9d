package sequence

import (
	"iter"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
)

// A Job or a pod without a controller that failed keeps its group from being satisfied also when it is deleted: by its time to live, by
// a tool that prunes, or by a person who is about to create it again. Status records it while it is there, and the engine remembers what went
// before status had it. A failure ends when an object of its name is there again, when a Job of its group is complete that was created after
// it, when its group is skipped or passed, and when an edit takes the object out of all groups.

// failures are those of members of a sequence.
type failures struct {
	of *sequence
	// gone are those of members that went before status listed them.
	gone map[types.UID]v1alpha1.Failure
	// ended are those that are over and that status still lists.
	ended sets.Set[types.UID]
}

// ofJob and ofPod are the records of what has failed.
func (f *failures) ofJob(w *workload, group int) v1alpha1.Failure {
	return f.shortened(v1alpha1.Failure{
		Kind: string(inventory.KindJob), Namespace: w.Namespace, Name: w.Name, UID: w.UID, CreatedAt: metav1.NewTime(w.CreatedAt),
		Pods: int32(min(max(w.Expects(f.of.groups[group].Required), 1), maxPodsOfFailure)), Labels: w.Labels, FailedAt: ptr.To(metav1.NewTime(w.FailedAt)),
	})
}

func (f *failures) ofPod(p *pod) v1alpha1.Failure {
	return f.shortened(v1alpha1.Failure{
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
func (f *failures) shortened(failure v1alpha1.Failure) v1alpha1.Failure {
	size := 0
	for key, value := range failure.Labels {
		size += len(key) + len(value)
	}
	if size <= maxLabelsOfFailure {
		return failure
	}
	asked := map[string]string{}
	for _, g := range f.of.groups {
		if g.Selector == nil {
			continue
		}
		requirements, _ := g.Selector.Requirements()
		for _, r := range requirements {
			if value, has := failure.Labels[r.Key()]; has {
				asked[r.Key()] = value
			}
		}
	}
	failure.Labels = asked
	return failure
}

// rememberJob remembers a Job that failed and was deleted, in all sequences that counted it.
func rememberJob(w *workload, counted []*demand, tx *transaction) {
	if w.replaced {
		return
	}
	for _, demand := range counted {
		failures := &demand.sequence.failures
		failures.remember(failures.ofJob(w, demand.group), tx)
	}
}

// rememberPod remembers a pod that failed without a controller, and is a member no longer. A group by name expects the name anyway.
func rememberPod(p *pod, tx *transaction) {
	if !p.IsLost() {
		return
	}
	for _, m := range p.memberships() {
		if s := m.sequence; len(s.Names(p.Namespace)[p.Name]) == 0 {
			s.failures.remember(s.failures.ofPod(p), tx)
		}
	}
}

// remember keeps a failure until status has it. Of one group it keeps as many as status may list: so none forgets its last failure for those of
// another, which would start those that wait.
func (f *failures) remember(failure v1alpha1.Failure, tx *transaction) {
	group, selected := f.groupOf(&failure)
	tooEarly := tx.version != "" && inventory.Behind(tx.version, f.of.sinceVersion) // the sequence was not there; events may come late
	if !selected || f.of.PerNode || tooEarly || f.isRecorded(failure.UID) {
		return
	}
	inGroup := 0
	for _, other := range f.gone {
		if at, selected := f.groupOf(&other); selected && at == group {
			inGroup++
		}
	}
	if inGroup >= v1alpha1.MaxFailures {
		return
	}
	if f.gone == nil {
		f.gone = map[types.UID]v1alpha1.Failure{}
	}
	f.gone[failure.UID] = failure
	tx.markGroupDirty(f.of.nodeless, group)
}

// isRecorded reports whether status lists the failure.
func (f *failures) isRecorded(uid types.UID) bool {
	return slices.ContainsFunc(f.of.object.Status.Failures, func(failure v1alpha1.Failure) bool { return failure.UID == uid })
}

// groupOf is the group that selects the failed member, and waits for it.
func (f *failures) groupOf(failure *v1alpha1.Failure) (int, bool) {
	group, selected := f.of.GroupOfTemplate(failure.Namespace, labels.Set(failure.Labels), f.of.groupsByNamespace[failure.Namespace])
	return group, selected && !f.of.groups[group].Skip && (f.of.Continuous || !f.of.nodeless.Passed.Has(group))
}

// isOver reports whether the failure will never count again, if it is one in this group: a Job of the group is complete that was created after
// it, or another object of its name is there, or was.
func (f *failures) isOver(failure *v1alpha1.Failure, group int) bool {
	namesake := f.of.knowledge.namesake(failure)
	return f.ended.Has(failure.UID) || failure.FailedAt != nil && failure.FailedAt.Time.Before(f.of.groups[group].failuresOverAt) || namesake != "" && namesake != failure.UID
}

// mayCount reports whether any failure may count.
func (f *failures) mayCount() bool {
	return len(f.gone)+len(f.of.object.Status.Failures) > 0 && !f.of.PerNode && !f.of.refused()
}

// counting are those that may count, with the group in which they do.
func (f *failures) counting() iter.Seq2[int, *v1alpha1.Failure] {
	return func(yield func(int, *v1alpha1.Failure) bool) {
		if !f.mayCount() {
			return
		}
		for _, failure := range slices.AppendSeq(slices.Clone(f.of.object.Status.Failures), maps.Values(f.gone)) {
			if group, selected := f.groupOf(&failure); selected && !yield(group, &failure) {
				return
			}
		}
	}
}

// review marks for re-evaluation the groups in which failures may count, and notes which are over, as long as status lists them.
func (f *failures) review(tx *transaction) {
	if !f.mayCount() {
		return
	}
	for group, failure := range f.counting() {
		tx.markGroupDirty(f.of.nodeless, group)
		if f.isOver(failure, group) {
			f.ended.Insert(failure.UID)
		}
	}
	maps.DeleteFunc(f.gone, func(uid types.UID, failure v1alpha1.Failure) bool {
		_, selected := f.groupOf(&failure)
		return !selected || f.ended.Has(uid) || f.of.knowledge.namesake(&failure) == uid || f.isRecorded(uid)
	})
	maps.DeleteFunc(f.ended, func(uid types.UID, _ sets.Empty) bool { return !f.isRecorded(uid) })
}

// reviewFailuresOf reviews the failures of all sequences of a namespace, nil if it has none, in which an object of this name failed, which
// has come or gone.
func reviewFailuresOf(kind inventory.Kind, ns *namespace, namespace, name string, tx *transaction) {
	if ns == nil {
		return
	}
	for s := range ns.sequences {
		for _, failure := range s.failures.counting() {
			if failure.Kind == string(kind) && failure.Namespace == namespace && failure.Name == name {
				s.failures.review(tx)
				break
			}
		}
	}
}

// in are the failures in a group, of members that are gone, sorted.
func (f *failures) in(group int) []v1alpha1.Failure {
	var all []v1alpha1.Failure
	for at, failure := range f.counting() {
		if at == group && f.of.knowledge.namesake(failure) == "" && !f.isOver(failure, group) {
			all = append(all, *failure)
		}
	}
	slices.SortFunc(all, report.CompareFailures)
	return all
}

// listed are the failures that status is to have: of members that are gone, and of those that may go. If they are too many, all
// groups have as many, as far as they have.
func (f *failures) listed() []v1alpha1.Failure {
	if f.of.PerNode || f.of.refused() {
		return nil
	}
	in, most := make([][]v1alpha1.Failure, len(f.of.groups)), 0
	for i, g := range f.of.groups {
		if g.Skip || (!f.of.Continuous && f.of.nodeless.Passed.Has(i)) {
			continue
		}
		in[i] = append(f.in(i), slices.SortedFunc(slices.Values(f.ofMembers(i)), report.CompareFailures)...)
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

// ofMembers are the failures of members that may go.
func (f *failures) ofMembers(i int) []v1alpha1.Failure {
	var all []v1alpha1.Failure
	g, state := f.of.groups[i], f.of.nodeless.peek(i)
	if state.demands.Failed > 0 {
		for demand := range g.demands {
			if readiness.IsFailedJob(&demand.workload.Workload) && demand.entered.Failed > 0 {
				all = append(all, f.ofJob(demand.workload, i))
			}
		}
	}
	if state.sums.Failed > 0 {
		for p := range state.members {
			if p.IsLost() && len(f.of.Names(p.Namespace)[p.Name]) == 0 {
				all = append(all, f.ofPod(p))
			}
		}
	}
	return all
}

// unreplaced are the failures in a group of members that are gone, except of Jobs after which another one was created.
func (f *failures) unreplaced(group int) []v1alpha1.Failure {
	newest := f.of.groups[group].newestJob()
	return slices.DeleteFunc(f.in(group), func(failure v1alpha1.Failure) bool {
		return failure.FailedAt != nil && newest.CreatedAt.After(failure.FailedAt.Time)
	})
}
