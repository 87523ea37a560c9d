package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// group explains a group that others wait for.
func (e *Explainer) group(s *snapshot.Sequence, i int) Reason {
	subject := fmt.Sprintf("%s of %s", s.Where(i), s)
	return e.below(fmt.Sprintf("%s#%d", s, i), subject, func() Reason {
		report, _ := e.Report(s)
		g := report.Groups[i]
		r := Reason{Subject: subject, State: Held, Message: g.Progress}
		if g.Failure != nil {
			r.State, r.Message = Stuck, g.Progress+": "+g.Failure.Reason
			r.Because = append(r.Because, Reason{Subject: g.Failure.Reason, State: Stuck, Message: g.Failure.Message})
		}
		if status := e.Status(s).Groups[i]; status.ReleasedAt != nil && g.Failure == nil {
			r.Message += fmt.Sprintf(", released %s ago", e.ago(status.ReleasedAt.Time))
		}
		if g.Satisfied {
			r.State = Waiting
			return r
		}
		if g.Timeout > 0 && !g.ReleasedAt.IsZero() && g.Failure == nil {
			r.Message += ", its timeout is over " + e.until(g.ReleasedAt.Add(g.Timeout))
		}
		if selector, err := order.Selector(s.Spec.PodGroups[i].PodSelector); err == nil && len(g.Members)+len(e.Parts(s, i)) == 0 && selector.String() != "" {
			r.Message += "; it selects " + selector.String()
		}
		r.Because = append(r.Because, e.members(s, i, g.Members, g.ReadyMembers)...)
		return r
	})
}

// members explains what a group lacks: workloads that are short, pods that are missing or not ready, and objects.
func (e *Explainer) members(s *snapshot.Sequence, i int, members, ready []string) []Reason {
	group := s.Spec.PodGroups[i]
	byOwner, others := map[string][]*corev1.Pod{}, []*corev1.Pod{}
	parts := e.Parts(s, i)
	for _, name := range members {
		pod := e.Member(s, name)
		if pod == nil || slices.Contains(ready, name) {
			continue
		}
		if owner := e.ownerAmong(pod, parts); owner != "" {
			byOwner[owner] = append(byOwner[owner], pod)
		} else {
			others = append(others, pod)
		}
	}
	var reasons []Reason
	for _, part := range parts {
		if part.Short || part.Unobserved || part.Failure != "" {
			reasons = append(reasons, e.part(part, byOwner[ownerKey(part)], group.PodGroup))
		}
	}
	reasons = append(reasons, e.pods(others, group.PodGroup)...)
	reasons = append(reasons, e.missing(s, i)...)
	return append(reasons, e.objects(s, i)...)
}

// missing explains named pods that do not exist, and those that an earlier group has.
func (e *Explainer) missing(s *snapshot.Sequence, i int) []Reason {
	group := s.Spec.PodGroups[i]
	namespace := s.Target
	if s.IsCluster() && len(group.Namespaces) == 1 {
		namespace = group.Namespaces[0]
	}
	var reasons []Reason
	for _, name := range group.Pods {
		if e.Snapshot.Pod(namespace, name) != nil {
			continue
		}
		r := Reason{Subject: "pod " + e.short(namespace, name), State: Stuck, Message: "does not exist, and no StatefulSet creates it: create it, or remove its name from the group"}
		for _, set := range e.Snapshot.Workloads[inventory.KindStatefulSet] {
			if set.GetNamespace() != namespace || !isMemberOf(name, set.GetName()) {
				continue
			}
			if of := set.(*appsv1.StatefulSet); !createsPod(of, name) {
				r.Message = neverCreated(of, name)
				continue
			}
			r.State, r.Message = Waiting, fmt.Sprintf("does not exist yet; StatefulSet %s should create it", set.GetName())
			present, _ := splitReplaced(e.Owned(set))
			r.Because = e.ownReasons(inventory.KindStatefulSet, set, len(present))
		}
		reasons = append(reasons, r)
	}
	return reasons
}

// part explains a workload that lacks pods.
func (e *Explainer) part(part sequence.WorkloadPart, pods []*corev1.Pod, group v1alpha1.PodGroup) Reason {
	r := Reason{
		Subject: fmt.Sprintf("%s %s", part.Kind, e.short(part.Namespace, part.Name)), State: Held,
		Message: fmt.Sprintf("%d of %d pods ready", part.Ready, part.Expected),
	}
	switch {
	case group.RequiredCondition != "":
		r.Message = fmt.Sprintf("%d of %d pods with condition %s", part.Ready, part.Expected, group.RequiredCondition)
	case group.RequiredStatus != "" && group.RequiredStatus != v1alpha1.RequireReady:
		r.Message = fmt.Sprintf("%d of %d pods %s", part.Ready, part.Expected, strings.ToLower(string(group.RequiredStatus)))
	}
	if part.Failure != "" {
		r.State, r.Message = Stuck, "failed: "+part.Failure
		if job := e.Snapshot.Workload(part.Kind, part.Namespace, part.Name); job != nil {
			r.Message += "; " + recreate(job)
		}
	}
	if part.Unobserved {
		r.Because = append(r.Because, Reason{Subject: r.Subject, State: Waiting,
			Message: "its controller has not seen its latest change yet; if that does not change, is kube-controller-manager running?"})
	}
	if object := e.Snapshot.Workload(part.Kind, part.Namespace, part.Name); object != nil {
		r.Because = append(r.Because, e.ownReasons(part.Kind, object, part.Ready+len(pods))...)
	}
	r.Because = append(r.Because, e.pods(pods, group)...)
	if object := e.Snapshot.Workload(part.Kind, part.Namespace, part.Name); object != nil && part.Short {
		_, replaced := splitReplaced(e.Owned(object))
		r.Because = append(r.Because, e.replaced(replaced)...)
	}
	return r
}

func ownerKey(part sequence.WorkloadPart) string {
	return fmt.Sprintf("%s/%s/%s", part.Kind, part.Namespace, part.Name)
}

// ownerAmong returns the key of the part whose workload owns the pod; empty if none does.
func (e *Explainer) ownerAmong(pod *corev1.Pod, parts []sequence.WorkloadPart) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return ""
	}
	kind, name := owner.Kind, owner.Name
	if set := e.Snapshot.Workload(inventory.KindReplicaSet, pod.Namespace, owner.Name); set != nil && kind == string(inventory.KindReplicaSet) {
		if deployment := metav1.GetControllerOfNoCopy(set); deployment != nil {
			kind, name = deployment.Kind, deployment.Name
		}
	}
	for _, part := range parts {
		if string(part.Kind) == kind && part.Namespace == pod.Namespace && part.Name == name {
			return ownerKey(part)
		}
	}
	return ""
}

// ago says how long ago something was.
func (e *Explainer) ago(at time.Time) string { return duration.HumanDuration(max(0, e.Now.Sub(at))) }

// until says when something is, from now.
func (e *Explainer) until(at time.Time) string {
	if at.Before(e.Now) {
		return e.ago(at) + " ago"
	}
	return "in " + duration.HumanDuration(at.Sub(e.Now))
}
