package lint

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"example.com/podsequence/pkg/sequence"
)

// A held pod counts in a quota. So a quota must have room for the pods of all groups together, or those of later groups may use up what an
// earlier group needs.

// quotaNames are what a quota may call what pods ask for, which is called otherwise in a pod.
var quotaNames = map[corev1.ResourceName]corev1.ResourceName{
	"count/pods": corev1.ResourcePods, corev1.ResourceRequestsCPU: corev1.ResourceCPU, corev1.ResourceRequestsMemory: corev1.ResourceMemory,
	corev1.ResourceRequestsEphemeralStorage: corev1.ResourceEphemeralStorage,
}

// quota compares what a quota allows with what the pods of its namespace ask for. One that counts only some pods is left out.
func (l *linter) quota(q *corev1.ResourceQuota) {
	if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil || !l.holdsIn(q.Namespace) {
		return
	}
	asked := l.askedIn(q.Namespace)
	var exceeded, needed []string
	for name, hard := range q.Spec.Hard {
		pods := name
		if other, is := quotaNames[name]; is {
			pods = other
		}
		if total, is := asked[pods]; is && total.Cmp(hard) > 0 {
			exceeded = append(exceeded, fmt.Sprintf("%s=%s, but it allows %s", name, total.String(), hard.String()))
			needed = append(needed, fmt.Sprintf("%s to at least %s", name, total.String()))
		}
	}
	if len(exceeded) == 0 {
		return
	}
	slices.Sort(exceeded)
	slices.Sort(needed)
	object := fmt.Sprintf("ResourceQuota %s/%s", q.Namespace, q.Name)
	l.findings.add(l.sources[object], object, Warning, "Quota", "the workloads of namespace %s ask for %s: held pods count, so those of later groups may use up "+
		"what an earlier group needs, and then both wait; raise %s", q.Namespace, strings.Join(exceeded, ", and for "), strings.Join(needed, " and "))
}

// holdsIn reports whether some pods of a namespace wait for others.
func (l *linter) holdsIn(namespace string) bool {
	return slices.ContainsFunc(l.templates, func(t *template) bool {
		return t.object.GetNamespace() == namespace && slices.ContainsFunc(l.waiting(t), func(place sequence.Place) bool { return place.Governed })
	})
}

// askedIn adds up what the pods of all workloads of a namespace ask for.
func (l *linter) askedIn(namespace string) corev1.ResourceList {
	all := corev1.ResourceList{}
	add := func(name corev1.ResourceName, amount resource.Quantity, times int64) {
		amount.Mul(times)
		sum := all[name]
		sum.Add(amount)
		all[name] = sum
	}
	for _, t := range l.templates {
		if t.object.GetNamespace() != namespace || len(t.pods) == 0 || t.isUnordered() {
			continue
		}
		count := t.count()
		add(corev1.ResourcePods, resource.MustParse("1"), count)
		for name, amount := range resourcehelper.PodRequests(t.pods[0], resourcehelper.PodResourcesOptions{}) {
			add(name, amount, count)
		}
	}
	return all
}
