package sequence

import (
	"reflect"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Worlds with several namespaces of pods, and ClusterPodSequences over them. The namespaces come, go, and change their labels; pods
// and workloads of the same name live in several of them.

var oracleNamespaces = []string{oracleNamespace, "web", "infra", "kube-system", oracleInstallation}

// oracleInstallation is where PodSequence itself runs.
const oracleInstallation = "podsequence-system"

// isOurs reports whether pods with these labels are PodSequence's own. They belong to nothing.
func isOurs(namespace string, podLabels map[string]string) bool {
	return namespace == "podsequence-system" && podLabels["app.kubernetes.io/name"] == "podsequence"
}

// oracleName is under which name objects of a namespace are kept: in the namespace of the simpler worlds their own.
func oracleName(namespace, name string) string {
	if slices.Contains(oracleNamespaces[1:], namespace) {
		return namespace + "/" + name
	}
	return name
}

func oracleKey(object metav1.Object) string {
	return oracleName(object.GetNamespace(), object.GetName())
}

// in reports whether members of group i may live in a namespace.
func (v *view) in(i int, namespace string) bool {
	if v.cluster == nil {
		return namespace == targetOf(v.PodSequence)
	}
	g := v.cluster.Spec.PodGroups[i]
	if g.NamespaceSelector == nil {
		return slices.Contains(g.Namespaces, namespace)
	}
	if namespace == "kube-system" || namespace == "podsequence-system" {
		return false // these must be listed
	}
	object, exists := v.oracle.objects["Namespace"][namespace]
	return exists && oracleSelects(g.NamespaceSelector, object.GetLabels())
}

// inCommon is what a ClusterPodSequence has in common with a PodSequence.
func inCommon(cluster *v1alpha1.ClusterPodSequence) *v1alpha1.PodSequence {
	ps := &v1alpha1.PodSequence{ObjectMeta: *cluster.ObjectMeta.DeepCopy(), Status: *cluster.Status.DeepCopy()}
	ps.Spec.Scope, ps.Spec.EnforcementMode, ps.Spec.Suspend = cluster.Spec.Scope, cluster.Spec.EnforcementMode, cluster.Spec.Suspend
	ps.Spec.DryRun, ps.Spec.SchedulingGateName = cluster.Spec.DryRun, cluster.Spec.SchedulingGateName
	for _, g := range cluster.Spec.PodGroups {
		ps.Spec.PodGroups = append(ps.Spec.PodGroups, *g.PodGroup.DeepCopy())
	}
	return ps
}

// sequenceOf is the kind of a sequence, and what both kinds have in common.
func sequenceOf(object metav1.Object) (string, *v1alpha1.PodSequence) {
	if cluster, ok := object.(*v1alpha1.ClusterPodSequence); ok {
		return "ClusterPodSequence", inCommon(cluster)
	}
	return "PodSequence", object.(*v1alpha1.PodSequence)
}

// withStatus is a copy of a sequence of either kind with another status.
func withStatus(object metav1.Object, status v1alpha1.PodSequenceStatus, fields []metav1.ManagedFieldsEntry) metav1.Object {
	if cluster, ok := object.(*v1alpha1.ClusterPodSequence); ok {
		next := cluster.DeepCopy()
		next.Status, next.ManagedFields = status, fields
		return next
	}
	next := object.(*v1alpha1.PodSequence).DeepCopy()
	next.Status, next.ManagedFields = status, fields
	return next
}

// anyNamespace is where something is made.
func (w *randomWorld) anyNamespace() string {
	if w.namespaces == 0 {
		return oracleNamespace
	}
	if w.oneIn(2) {
		return pick(w, oracleNamespaces[:3]...)
	}
	return pick(w, oracleNamespaces...)
}

func (w *randomWorld) namespaceLabels() map[string]string {
	if w.oneIn(4) {
		return map[string]string{}
	}
	return map[string]string{"team": pick(w, "a", "b")}
}

// stepNamespaces creates or deletes a namespace, or changes its labels.
func (w *randomWorld) stepNamespaces(*comparison) []event {
	namespace := &corev1.Namespace{}
	namespace.Name = pick(w, oracleNamespaces...)
	if old, there := w.objects["Namespace"][namespace.Name].(*corev1.Namespace); there {
		namespace = old.DeepCopy()
		switch w.IntN(8) {
		case 0:
			w.drop("Namespace", namespace)
			return nil
		case 1: // gone and made again, with only the second event seen
			namespace.UID, namespace.DeletionTimestamp = "", nil
		}
	}
	if namespace.UID != "" && w.oneIn(6) {
		now := metav1.NewTime(w.clock.Truncate(time.Second))
		namespace.DeletionTimestamp = &now
	}
	namespace.Labels = w.namespaceLabels()
	w.addRequirement(&namespace.ObjectMeta)
	w.put("Namespace", namespace)
	return nil
}

// stepClusterSequences creates, edits or deletes a ClusterPodSequence, or records its state in its status.
func (w *randomWorld) stepClusterSequences(c *comparison) []event {
	name := "all-" + strconv.Itoa(w.IntN(2))
	old, _ := w.objects["ClusterPodSequence"][name].(*v1alpha1.ClusterPodSequence)
	if old == nil {
		w.put("ClusterPodSequence", w.acrossNamespaces(&v1alpha1.ClusterPodSequence{}, w.randomSequence(name)))
		return nil
	}
	cluster, ps := old.DeepCopy(), inCommon(old)
	switch w.IntN(8) {
	case 0:
		if w.oneIn(2) {
			w.drop("ClusterPodSequence", cluster)
			return nil
		}
		if w.oneIn(2) { // gone and made again, with only the second event seen
			cluster, ps = &v1alpha1.ClusterPodSequence{}, w.randomSequence(name)
		}
	case 1, 2, 3:
		w.record(c, ps)
	case 4:
		ps.Generation++
		ps.Spec.Suspend = !ps.Spec.Suspend && w.oneIn(2)
		if w.oneIn(3) {
			w.edit(c, ps)
		}
	case 5:
		ps.Generation++
		i := w.IntN(len(cluster.Spec.PodGroups))
		cluster.Spec.PodGroups[i] = w.somewhere(cluster.Spec.PodGroups[i].PodGroup)
	default:
		ps.Generation++
		w.edit(c, ps)
	}
	if w.oneIn(8) {
		w.override(ps)
	}
	w.aside(func() { w.changeObjects(ps) })
	w.put("ClusterPodSequence", w.acrossNamespaces(cluster, ps))
	return nil
}

// acrossNamespaces is a ClusterPodSequence that has in common with others what is given. Groups that it had before stay where they
// are.
func (w *randomWorld) acrossNamespaces(before *v1alpha1.ClusterPodSequence, ps *v1alpha1.PodSequence) *v1alpha1.ClusterPodSequence {
	cluster := &v1alpha1.ClusterPodSequence{ObjectMeta: ps.ObjectMeta, Status: ps.Status}
	cluster.Namespace = ""
	cluster.Spec = v1alpha1.ClusterPodSequenceSpec{
		Scope: ps.Spec.Scope, EnforcementMode: ps.Spec.EnforcementMode, Suspend: ps.Spec.Suspend, DryRun: ps.Spec.DryRun, SchedulingGateName: ps.Spec.SchedulingGateName,
	}
	for at, g := range ps.Spec.PodGroups {
		if at < len(before.Spec.PodGroups) && reflect.DeepEqual(before.Spec.PodGroups[at].PodGroup, g) {
			cluster.Spec.PodGroups = append(cluster.Spec.PodGroups, before.Spec.PodGroups[at])
			continue
		}
		i := slices.IndexFunc(before.Spec.PodGroups, func(was v1alpha1.ClusterPodGroup) bool { return reflect.DeepEqual(was.PodGroup, g) })
		if i < 0 {
			cluster.Spec.PodGroups = append(cluster.Spec.PodGroups, w.somewhere(g))
			continue
		}
		cluster.Spec.PodGroups = append(cluster.Spec.PodGroups, before.Spec.PodGroups[i])
	}
	return cluster
}

// somewhere is a group in some namespaces.
func (w *randomWorld) somewhere(g v1alpha1.PodGroup) v1alpha1.ClusterPodGroup {
	group := v1alpha1.ClusterPodGroup{PodGroup: g}
	switch names := slices.Clone(oracleNamespaces); {
	case len(g.Pods) > 0:
		group.Namespaces = []string{pick(w, names...)}
	case w.oneIn(3):
		w.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		group.Namespaces = names[:1+w.IntN(3)]
	case w.oneIn(4):
		group.NamespaceSelector = &v1alpha1.LabelSelector{}
	case w.oneIn(4):
		group.NamespaceSelector = &v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelSelectorRequirement{
			{Key: "team", Operator: v1alpha1.LabelSelectorOpDoesNotExist},
		}}
	default:
		group.NamespaceSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"team": pick[v1alpha1.LabelValue](w, "a", "b")}}
	}
	return group
}
