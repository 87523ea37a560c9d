package lint

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// What order that is enforced continuously does to pods that are replaced, and to what is cleaned up.

// isContinuous reports whether a group that is no longer satisfied holds new pods again.
func isContinuous(s *snapshot.Sequence) bool {
	return s.PerNode() || s.Spec.EnforcementMode == v1alpha1.Continuous
}

// continuous looks at the groups of a sequence whose order is enforced continuously.
func (l *linter) continuous(s *snapshot.Sequence) {
	if _, judged := l.Judged(s); !judged || l.isRefused(s) || !isContinuous(s) || s.Spec.DryRun {
		return
	}
	members := make([][]*template, len(s.Spec.PodGroups))
	for i := range members {
		members[i], _ = l.membersOf(s, i)
	}
	l.replacedTogether(s, members)
	for i := range members {
		if !s.PerNode() {
			l.recreated(s, i, members)
		}
		if l.isAwaited(s, i) {
			l.cleanedUp(s, i, members[i])
		}
	}
}

// replacedTogether looks for sets that delete a pod before they create the next one, in groups of which one waits for another.
func (l *linter) replacedTogether(s *snapshot.Sequence, members [][]*template) {
	var together []string
	for i := range members {
		for _, t := range members[i] {
			if deletesFirst(t) && l.isBesideAnother(s, i, t, members) && !slices.Contains(together, t.String()) {
				together = append(together, t.String())
			}
		}
	}
	if len(together) < 2 {
		return
	}
	severity := Warning
	if s.PerNode() {
		severity = Note
	}
	l.add(s, severity, "ReplacedTogether", "%s replace pods by deleting them first: if several of them change at once, each controller deletes a pod, "+
		"and the new pods of later groups are held, so all of these sets lack pods at the same time; change them one after another, "+
		"or set their updateStrategy to OnDelete and delete the pods in order", firstOf(together))
}

// isBesideAnother reports whether another set that deletes first is in a group that waits for group i, or for which that waits.
func (l *linter) isBesideAnother(s *snapshot.Sequence, i int, t *template, members [][]*template) bool {
	for j := range members {
		if j == i || !slices.Contains(l.Predecessors(s, max(i, j)), min(i, j)) || s.Spec.PodGroups[min(i, j)].Skip {
			continue
		}
		if slices.ContainsFunc(members[j], func(other *template) bool { return other != t && deletesFirst(other) }) {
			return true
		}
	}
	return false
}

// deletesFirst reports whether a set deletes a pod of an older revision before it creates the new one.
func deletesFirst(t *template) bool {
	switch o := t.object.(type) {
	case *appsv1.StatefulSet:
		return o.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType
	case *appsv1.DaemonSet:
		if o.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
			return false
		}
		update := o.Spec.UpdateStrategy.RollingUpdate
		return update == nil || isZero(update.MaxSurge)
	}
	return false
}

func isZero(value *intstr.IntOrString) bool {
	return value == nil || value.String() == "0" || value.String() == "0%"
}

// recreated looks for Deployments that delete all their pods before they create the next ones, which then wait for a Job.
func (l *linter) recreated(s *snapshot.Sequence, i int, members [][]*template) {
	for _, t := range members[i] {
		deployment, ok := t.object.(*appsv1.Deployment)
		if !ok || deployment.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
			continue
		}
		for _, before := range l.Predecessors(s, i) {
			at := slices.IndexFunc(members[before], func(t *template) bool { return t.kind == inventory.KindJob })
			if at < 0 || s.Spec.PodGroups[before].Skip {
				continue
			}
			l.addTo(t, Warning, "Recreate", "with strategy Recreate its pods are deleted first, and the new ones wait for %s (%s of %s): "+
				"if both change at once, it has no pods until that is complete; set strategy: RollingUpdate, or change it after the Job",
				members[before][at], s.Where(before), s)
			break
		}
	}
}

// cleanedUp looks for Jobs that are deleted when they have ended, in a group that is then not satisfied any more.
func (l *linter) cleanedUp(s *snapshot.Sequence, i int, members []*template) {
	if s.Spec.PodGroups[i].RequiredStatus == v1alpha1.RequireComplete {
		return // completion is final
	}
	for _, t := range members {
		job, ok := t.object.(*batchv1.Job)
		if !ok || job.Spec.TTLSecondsAfterFinished == nil {
			continue
		}
		l.addTo(t, Warning, "CleanedUp", "it is deleted %ds after it ends, and %s of %s is then no longer satisfied: new pods of later groups wait until "+
			"the Job exists again; set requiredStatus: Complete in the group, which then stays satisfied, or remove ttlSecondsAfterFinished",
			*job.Spec.TTLSecondsAfterFinished, s.Where(i), s)
	}
}

// awaited looks at what later groups wait for, in both modes.
func (l *linter) awaited(s *snapshot.Sequence, i int) {
	if !l.isAwaited(s, i) || s.Spec.PodGroups[i].Skip || s.Spec.DryRun {
		return
	}
	l.jobsAsObjects(s, i)
	if _, judged := l.Judged(s); !judged || l.isRefused(s) {
		return
	}
	members, _ := l.membersOf(s, i)
	for _, t := range members {
		switch o := t.object.(type) {
		case *batchv1.Job:
			l.idle(s, i, t, o)
		case *appsv1.DaemonSet:
			l.someNodes(s, i, t)
		}
	}
}

// jobsAsObjects looks for Jobs among the objects of a group: the default, Current, does not mean that they are complete.
func (l *linter) jobsAsObjects(s *snapshot.Sequence, i int) {
	for _, object := range s.Spec.PodGroups[i].Objects {
		group, _, _ := strings.Cut(object.APIVersion, "/")
		if group != batchv1.GroupName || object.Kind != string(inventory.KindJob) || (object.Until != "" && object.Until != v1alpha1.UntilCurrent) {
			continue
		}
		l.add(s, Warning, "JobNotAwaited", "%s waits until Job %s is %s, which it is as soon as it runs: set until: %s to wait for its end",
			s.Where(i), object.Name, v1alpha1.UntilCurrent, batchv1.JobComplete)
	}
}

// idle looks for Jobs that do not run by themselves, in a group that waits for their end.
func (l *linter) idle(s *snapshot.Sequence, i int, t *template, job *batchv1.Job) {
	const rule = "JobDoesNotRun"
	if s.Spec.PodGroups[i].RequiredStatus != v1alpha1.RequireComplete {
		return
	}
	where := fmt.Sprintf("%s of %s", s.Where(i), s)
	if parallelism := job.Spec.Parallelism; parallelism != nil && *parallelism == 0 {
		l.addTo(t, Warning, rule, "it has parallelism: 0, so it creates no pods and never completes: groups after %s wait until somebody raises it", where)
	}
	if suspend := job.Spec.Suspend; suspend != nil && *suspend {
		l.addTo(t, Note, rule, "it is suspended: groups after %s wait until somebody, such as Kueue, resumes it and it completes", where)
	}
	if by := job.Spec.ManagedBy; by != nil && *by != batchv1.JobControllerName {
		l.addTo(t, Note, rule, "it is run by %s, as managedBy says: groups after %s wait until that says that it is complete", *by, where)
	}
}
