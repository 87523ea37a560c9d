package sequence

import (
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// oracleFailure is a Job or a pod that failed and is gone.
type oracleFailure struct {
	v1alpha1.Failure
	recorded bool // as status says
}

// failedAt is when a Job failed; nil if it did not.
func failedAt(j *batchv1.Job) *metav1.Time {
	for i := range j.Status.Conditions {
		if c := &j.Status.Conditions[i]; c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
			return &c.LastTransitionTime
		}
	}
	return nil
}

// noteComplete notes which Jobs have completed: failures from before they were created are over.
func (o *oracle) noteComplete(v *view) {
	over := v.memory.failuresOver
	for i, definition := range v.definitions {
		if at := o.recordIndex(v, i); at >= 0 && v.Status.Memory != nil && at < len(v.Status.Memory.Groups) && v.Spec.Scope != v1alpha1.ScopeNode {
			if said := v.Status.Memory.Groups[at].FailuresOverAt; said != nil {
				over[definition] = later(over[definition], said.Time)
			}
		}
	}
	for uid, i := range v.placedIn {
		if complete, _ := jobCompletedAt(o.byUID[uid]); complete && v.Spec.Scope != v1alpha1.ScopeNode {
			over[v.definitions[i]] = later(over[v.definitions[i]], o.byUID[uid].GetCreationTimestamp().Time)
		}
	}
	maps.DeleteFunc(over, func(definition string, _ time.Time) bool { return !slices.Contains(v.definitions, definition) })
}

// isOver reports whether a Job of group i that failed at a time no longer counts.
func (v *view) isOver(i int, failed *metav1.Time) bool {
	return i >= 0 && failed != nil && failed.Time.Before(v.memory.failuresOver[v.definitions[i]])
}

// noteFailures works out which members failed and are gone.
func (o *oracle) noteFailures(v *view) {
	m := v.memory
	if v.Spec.Scope == v1alpha1.ScopeNode {
		return
	}
	maps.DeleteFunc(m.failures, func(_ types.UID, f oracleFailure) bool { return f.recorded }) // status says it again, or no more
	for uid, f := range m.failures {
		group := o.groupOfFailure(v, f)
		if o.isResolved(v, f) || group < 0 || v.Spec.PodGroups[group].Skip {
			delete(m.failures, uid)
		}
	}
	for _, was := range o.before {
		if f, failed := o.wentFailed(v, was); failed && (o.version == 0 || o.version >= m.came) {
			o.rememberFailure(v, f)
		}
	}
	for _, recorded := range v.Status.Failures {
		delete(m.failures, recorded.UID)
		f := oracleFailure{recorded, true}
		if other := o.objects[f.Kind][oracleName(f.Namespace, f.Name)]; other != nil && other.GetUID() != f.UID || v.isOver(o.groupOfFailure(v, f), f.FailedAt) {
			m.ended.Insert(f.UID)
		}
		if !m.ended.Has(f.UID) && !o.isResolved(v, f) {
			o.rememberFailure(v, f)
		}
	}
	maps.DeleteFunc(m.ended, func(uid types.UID, _ sets.Empty) bool {
		return !slices.ContainsFunc(v.Status.Failures, func(f v1alpha1.Failure) bool { return f.UID == uid })
	})
}

func (o *oracle) rememberFailure(v *view, f oracleFailure) {
	m := v.memory
	group := o.groupOfFailure(v, f)
	if group >= 0 && !v.Spec.PodGroups[group].Skip && !o.isPassedForGood(v, group) {
		m.failures[f.UID] = f
	}
}

// reviewFailures forgets failures in groups that have been passed.
func (o *oracle) reviewFailures(v *view) (changed bool) {
	for uid, f := range v.memory.failures {
		if group := o.groupOfFailure(v, f); group < 0 || o.isPassedForGood(v, group) {
			delete(v.memory.failures, uid)
			changed = true
		}
	}
	return changed
}

func (o *oracle) isPassedForGood(v *view, group int) bool {
	_, passed := v.memory.passes[v.definitions[group]]
	if _, recorded := o.recordOf(v, group); recorded {
		passed = true
	}
	return passed && v.Spec.Mode() == v1alpha1.BootstrapOnly
}

// wentFailed reports whether something that had failed when last looked at has gone, and nothing makes up for it.
func (o *oracle) wentFailed(v *view, was metav1.Object) (oracleFailure, bool) {
	switch was := was.(type) {
	case *batchv1.Job:
		group := placedIn(v, was)
		at := failedAt(was)
		if at == nil || (was.DeletionTimestamp != nil && at.After(was.DeletionTimestamp.Time)) || group < 0 || o.byUID[was.UID] != nil || o.objects["Job"][oracleKey(was)] != nil || o.wasSuperseded.Has(was.UID) {
			return oracleFailure{}, false
		}
		expected, _ := wanted(was, requirementOf(v.Spec.PodGroups[group]))
		f := oracleFailure{v1alpha1.Failure{
			Kind: "Job", Namespace: was.Namespace, Name: was.Name, UID: was.UID, CreatedAt: was.CreationTimestamp, FailedAt: failedAt(was),
			Pods: int32(max(1, expected)), Labels: was.Spec.Template.Labels,
		}, false}
		return f, !o.isResolved(v, f)
	case *corev1.Pod:
		if endOf(was) != corev1.PodFailed || metav1.GetControllerOf(was) != nil || was.DeletionTimestamp != nil {
			return oracleFailure{}, false
		}
		now, there := o.objects["Pod"][oracleKey(was)].(*corev1.Pod)
		if there && (now.UID != was.UID || now.DeletionTimestamp == nil) {
			return oracleFailure{}, false
		}
		f := oracleFailure{v1alpha1.Failure{
			Kind: "Pod", Namespace: was.Namespace, Name: was.Name, UID: was.UID, CreatedAt: was.CreationTimestamp, Pods: 1, Labels: was.Labels,
		}, false}
		for i, g := range v.Spec.PodGroups {
			for _, name := range g.Pods {
				if name == was.Name && makesSense(g) && v.in(i, was.Namespace) {
					return f, false
				}
			}
		}
		return f, groupOf(v, was) >= 0
	}
	return oracleFailure{}, false
}

// groupOfFailure is the first group by label that what failed would belong to, or -1.
func (o *oracle) groupOfFailure(v *view, f oracleFailure) int {
	if isOurs(f.Namespace, f.Labels) {
		return -1
	}
	for i, g := range v.Spec.PodGroups {
		if makesSense(g) && g.PodSelector != nil && v.in(i, f.Namespace) && oracleSelects(g.PodSelector, f.Labels) {
			return i
		}
	}
	return -1
}

// isResolved reports whether what failed is there itself, or something makes up for it.
func (o *oracle) isResolved(v *view, f oracleFailure) bool {
	if there := o.objects[f.Kind][oracleName(f.Namespace, f.Name)]; there != nil {
		return there.GetUID() != f.UID || f.Kind == "Job" || there.GetDeletionTimestamp() == nil
	}
	return v.isOver(o.groupOfFailure(v, f), f.FailedAt)
}
