package sequence

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
)

type verb string

const (
	verbApply   verb = "apply"
	verbRemove  verb = "remove"
	verbReplace verb = "replace" // all objects of a kind at once
	verbTick    verb = "tick"
	verbRestart verb = "restart"
	verbInstall verb = "install" // the kind PodSequence, or not
)

// event is something that engine and oracle are told.
type event struct {
	verb    verb
	kind    string
	object  metav1.Object
	objects []metav1.Object
	asOf    string // the version of a list, where that matters
	at      time.Time
	// installed reports whether the kind is from now on.
	installed bool
	// askFirst asks the engine about the pod before the engine is told of it.
	askFirst bool
}

func (e event) tellOracle(o *oracle) {
	asOf := e.asOf
	if e.object != nil {
		asOf = e.object.GetResourceVersion()
	}
	o.version, _ = strconv.Atoi(asOf) // 0 if it has none
	switch e.verb {
	case verbApply:
		o.apply(e.kind, e.object)
	case verbRemove:
		o.remove(e.kind, e.object)
	case verbReplace:
		o.replace(e.kind, e.objects)
	case verbTick:
		o.now = e.at
	case verbInstall:
		o.uninstalled = !e.installed
	}
}

// toldEngine is an engine that is told of events, whoever records its passes.
type toldEngine interface {
	ApplyPod(object *corev1.Pod) Changes
	RemovePod(object *corev1.Pod) Changes
	ReplacePods(objects []*corev1.Pod, version string) Changes
	ApplyNode(object *corev1.Node) Changes
	RemoveNode(name string) Changes
	ReplaceNodes(objects []*corev1.Node, version string) Changes
	ApplyNamespace(object *corev1.Namespace) Changes
	RemoveNamespace(object *corev1.Namespace) Changes
	ReplaceNamespaces(objects []*corev1.Namespace, version string) Changes
	ApplySequence(ps *v1alpha1.PodSequence, unreadable ...order.Unreadable) Changes
	ApplyClusterSequence(cluster *v1alpha1.ClusterPodSequence, unreadable ...order.Unreadable) Changes
	ReplaceClusterSequences(objects []order.Stored, version string) Changes
	RemoveSequence(key types.NamespacedName, version string) Changes
	ReplaceSequences(objects []order.Stored, version string) Changes
	ApplyWorkload(object metav1.Object) Changes
	RemoveWorkload(object metav1.Object) Changes
	ReplaceWorkloads(kind inventory.Kind, objects []metav1.Object, version string) Changes
	KindInstalled(installed bool) Changes
	Tick(now time.Time) Changes
}

func (e event) tellEngine(engine toldEngine) Changes {
	switch e.verb {
	case verbApply:
		switch object := e.object.(type) {
		case *corev1.Pod:
			return engine.ApplyPod(object)
		case *corev1.Node:
			return engine.ApplyNode(object)
		case *corev1.Namespace:
			return engine.ApplyNamespace(object)
		case *v1alpha1.PodSequence:
			return engine.ApplySequence(object)
		case *v1alpha1.ClusterPodSequence:
			return engine.ApplyClusterSequence(object)
		}
		return engine.ApplyWorkload(e.object)
	case verbRemove:
		switch object := e.object.(type) {
		case *corev1.Pod:
			return engine.RemovePod(object)
		case *corev1.Node:
			return engine.RemoveNode(object.Name)
		case *corev1.Namespace:
			return engine.RemoveNamespace(object)
		case *v1alpha1.PodSequence:
			return engine.RemoveSequence(types.NamespacedName{Namespace: object.Namespace, Name: object.Name}, object.ResourceVersion)
		case *v1alpha1.ClusterPodSequence:
			return engine.RemoveSequence(types.NamespacedName{Name: object.Name}, object.ResourceVersion)
		}
		return engine.RemoveWorkload(e.object)
	case verbReplace:
		return e.replaceInEngine(engine)
	case verbInstall:
		return engine.KindInstalled(e.installed)
	default:
		return engine.Tick(e.at)
	}
}

func (e event) replaceInEngine(engine toldEngine) Changes {
	switch e.kind {
	case "Pod":
		return engine.ReplacePods(typed[*corev1.Pod](e.objects), e.asOf)
	case "Node":
		return engine.ReplaceNodes(typed[*corev1.Node](e.objects), e.asOf)
	case "Namespace":
		return engine.ReplaceNamespaces(typed[*corev1.Namespace](e.objects), e.asOf)
	case "PodSequence":
		var stored []order.Stored
		for _, ps := range typed[*v1alpha1.PodSequence](e.objects) {
			stored = append(stored, order.Stored{PodSequence: ps})
		}
		return engine.ReplaceSequences(stored, e.asOf)
	case "ClusterPodSequence":
		var stored []order.Stored
		for _, cluster := range typed[*v1alpha1.ClusterPodSequence](e.objects) {
			stored = append(stored, order.OfCluster(cluster))
		}
		return engine.ReplaceClusterSequences(stored, e.asOf)
	}
	kinds := map[string]inventory.Kind{
		"Deployment": inventory.KindDeployment, "ReplicaSet": inventory.KindReplicaSet, "StatefulSet": inventory.KindStatefulSet,
		"DaemonSet": inventory.KindDaemonSet, "Job": inventory.KindJob, "ReplicationController": inventory.KindReplicationController,
	}
	return engine.ReplaceWorkloads(kinds[e.kind], e.objects, e.asOf)
}

func typed[T any](objects []metav1.Object) []T {
	list := make([]T, len(objects))
	for i, object := range objects {
		list[i] = object.(T)
	}
	return list
}

// String tells the event in a line, with everything that matters.
func (e event) String() string {
	switch e.verb {
	case verbTick:
		return "tick " + e.at.Format(clockLayout)
	case verbApply:
		ask := ""
		if e.askFirst {
			ask = " (asked of before)"
		}
		return fmt.Sprintf("apply %s %s%s", e.kind, describeObject(e.object), ask)
	case verbInstall:
		return fmt.Sprintf("installed is %t", e.installed)
	case verbRemove:
		return fmt.Sprintf("remove %s %s %s", e.kind, e.object.GetName(), e.object.GetUID())
	case verbReplace:
		lines := []string{"replace " + e.kind}
		for _, object := range e.objects {
			lines = append(lines, "    "+describeObject(object))
		}
		return strings.Join(lines, "\n")
	}
	return string(e.verb)
}

const clockLayout = "15:04:05.999"

// describeObject tells what matters of an object.
func describeObject(object metav1.Object) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s v%s created=%s", oracleKey(object), object.GetUID(), object.GetResourceVersion(),
		object.GetCreationTimestamp().Format(clockLayout))
	if len(object.GetLabels()) > 0 {
		fmt.Fprintf(&b, " labels=%v", object.GetLabels())
	}
	if object.GetDeletionTimestamp() != nil {
		b.WriteString(" terminating")
	}
	if ref := metav1.GetControllerOf(object); ref != nil {
		fmt.Fprintf(&b, " owner=%s/%s/%s", ref.APIVersion, ref.Kind, ref.UID)
	}
	if object.GetGeneration() != 0 {
		fmt.Fprintf(&b, " generation=%d", object.GetGeneration())
	}
	marshal := func(what string, values ...any) {
		for _, value := range values {
			text, err := json.Marshal(value)
			if err != nil {
				panic(err)
			}
			if string(text) != "{}" && string(text) != "null" {
				fmt.Fprintf(&b, " %s=%s", what, text)
			}
		}
	}
	workload := func(template *corev1.PodTemplateSpec, status any) {
		marshal("template-labels", template.Labels)
		marshal("template-annotations", template.Annotations)
		marshal("template", template.Spec.NodeSelector, template.Spec.Tolerations)
		marshal("status", status)
	}
	switch object := object.(type) {
	case *corev1.Pod:
		fmt.Fprintf(&b, " scheduler=%s node=%q phase=%s", object.Spec.SchedulerName, object.Spec.NodeName, object.Status.Phase)
		marshal("gates", object.Spec.SchedulingGates)
		if node := object.Status.NominatedNodeName; node != "" {
			fmt.Fprintf(&b, " nominated=%s", node)
		}
		marshal("spec", object.Spec.NodeSelector, object.Spec.Affinity)
		for _, c := range object.Status.Conditions {
			fmt.Fprintf(&b, " %s=%s@%s", c.Type, c.Status, c.LastTransitionTime.Format(clockLayout))
		}
		for _, s := range object.Status.ContainerStatuses {
			marshal("container", s.State, s.LastTerminationState)
		}
	case *corev1.Node:
		marshal("spec", object.Spec, object.Status.Allocatable)
	case *corev1.Namespace:
		marshal("annotations", object.Annotations)
	case *v1alpha1.ClusterPodSequence:
		marshal("spec", object.Spec)
		marshal("annotations", object.Annotations)
		marshal("recorded", object.Status.ObservedGeneration, object.Status.Groups, object.Status.NodeStatus, object.Status.Memory, object.Status.Conditions, object.Status.StartedOutOfOrder)
	case *v1alpha1.PodSequence:
		marshal("spec", object.Spec)
		marshal("annotations", object.Annotations)
		marshal("recorded", object.Status.ObservedGeneration, object.Status.Groups, object.Status.NodeStatus, object.Status.Memory, object.Status.Conditions, object.Status.StartedOutOfOrder)
	case *appsv1.Deployment:
		marshal("replicas", object.Spec.Replicas)
		workload(&object.Spec.Template, object.Status.ObservedGeneration)
	case *appsv1.ReplicaSet:
		marshal("replicas", object.Spec.Replicas)
		workload(&object.Spec.Template, object.Status.ObservedGeneration)
	case *appsv1.StatefulSet:
		marshal("replicas", object.Spec.Replicas)
		marshal("strategy", object.Spec.UpdateStrategy, object.Spec.Ordinals)
		workload(&object.Spec.Template, object.Status)
	case *corev1.ReplicationController:
		marshal("replicas", object.Spec.Replicas)
		workload(object.Spec.Template, object.Status.ObservedGeneration)
	case *appsv1.DaemonSet:
		marshal("strategy", object.Spec.UpdateStrategy)
		marshal("annotations", object.Annotations)
		workload(&object.Spec.Template, object.Status)
	case *batchv1.Job:
		marshal("size", object.Spec.Parallelism, object.Spec.Completions)
		workload(&object.Spec.Template, object.Status)
	}
	return b.String()
}

// count counts the states that matter.
func (c *comparison) count() {
	see := func(what string, is bool) {
		if is {
			c.seen[what]++
		}
	}
	c.seen["events"]++
	c.countMissing()
	c.countHooks()
	see("pods on nodes that are gone", len(c.oracle.nowhereNow) > 0)
	c.countTrials()
	c.countReached()
	c.countObjects()
	c.countConditionsSeen()
	for _, v := range c.oracle.views {
		c.oracle.countOverride(v, see)
		for _, course := range v.courses {
			scope := "cluster: "
			if course.node != "" {
				scope = "a node: "
			}
			n := len(course.groups)
			for i := range course.groups {
				is := course.node == "" && v.memory.completed.Has(v.definitions[i]) && course.groups[i].finished
				see("a group that was complete and was cleaned up", is)
				see("the same, by Continuous, of which others wait", is && v.Spec.Mode() == v1alpha1.Continuous && i < n-1)
				see("a group that was complete and was opened again", v.memory.reopened.Has(v.definitions[i]))
			}
			for _, i := range v.placedIn {
				g := course.groups[i]
				see(scope+"workload in a group that is satisfied by all", g.satisfied && g.expected > 0 && v.Spec.PodGroups[i].MinAvailable == nil)
				see(scope+"workload in a group that is not", !g.satisfied)
			}
			see(scope+"a failed member is gone", len(v.memory.failures) > 0)
			see(scope+"all groups passed", course.current == n)
			see(scope+"some groups passed", course.current > 0 && course.current < n)
			see(scope+"suspended with a dry run", course.suspended && v.Spec.DryRun)
			see(scope+"suspended with more to release", course.suspended && course.current < n && !course.released[course.current])
			under := 0
			for i, g := range v.Spec.PodGroups {
				if course.reached[i] && !course.passed[i] {
					under++
				}
				see(scope+"a group is skipped that is not passed", g.Skip && !course.passed[i] && course.reached[i])
				see(scope+"a group passed that is not reached", course.passed[i] && !course.reached[i])
			}
			see(scope+"several groups are current", under > 1)
			if course.current == n {
				continue
			}
			g := v.Spec.PodGroups[course.current]
			see(scope+"current group waits", course.waiting[course.current])
			see(scope+"current group was too late", course.timedOut[course.current])
			see(scope+"current group has all but one", course.groups[course.current].ready == course.groups[course.current].expected-1)
			see(scope+"current group by number", g.MinAvailable != nil)
			see(scope+"current group to complete", requirementOf(g) == v1alpha1.RequireComplete)
			for i := range course.current {
				g := v.Spec.PodGroups[i]
				see(scope+"went on after a time-out", course.timedOut[i] && g.OnTimeout == v1alpha1.TimeoutContinue)
				see(scope+"passed and no longer satisfied", !course.groups[i].satisfied)
			}
		}
	}
	for _, answer := range c.before.pods {
		see("pod held", answer.held)
		see("pod may go", !answer.held)
		see("pod to be tried though no node is open", !answer.held && answer.open.Len() == 0)
		see("pod may go to some nodes only", !answer.held && answer.open.Len() > 0 && answer.open.Len() < c.before.nodes.Len())
	}
	for _, w := range c.oracle.byUID {
		see("workload that is being deleted", w.GetDeletionTimestamp() != nil)
	}
	see("Job of a CronJob went before it was complete, others are left", len(c.oracle.unfinished) > 0)
	for _, p := range c.oracle.pods {
		see("static pod that failed", oracleIsStatic(p) && p.Status.Phase == corev1.PodFailed)
		see("pod of a controller not seen", c.oracle.ownerOf[p].unseen)
		if by := c.oracle.ownerOf[p]; by.object != nil {
			see("pod of an old revision", !c.oracle.isCurrent(p, by))
			see("pod of the newest revision", c.oracle.isCurrent(p, by))
		}
	}
}

// version is that of what the event is about; 0 if it is about a list.
func (e event) version() int {
	if e.object == nil {
		return 0
	}
	return oracleVersion(e.object)
}
