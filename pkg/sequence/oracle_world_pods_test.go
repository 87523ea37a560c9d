package sequence

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// stepPods changes pods. Most often it makes some of those ready that may be scheduled, so that sequences make progress.
func (w *randomWorld) stepPods(c *comparison) []event {
	if w.oneIn(3) {
		w.progress(c)
		return nil
	}
	namespace, name := w.anyNamespace(), "pod-"+strconv.Itoa(w.IntN(6))
	if pods := sorted[*corev1.Pod](w, "Pod"); len(pods) > 0 && !w.oneIn(3) {
		some := pick(w, pods...)
		namespace, name = some.Namespace, some.Name
	}
	p, _ := w.objects["Pod"][oracleName(namespace, name)].(*corev1.Pod)
	if p == nil {
		p = &corev1.Pod{}
		p.Namespace, p.Name, p.Labels, p.Spec = namespace, name, w.randomLabels(), w.randomPodSpec()
		w.addGate(p)
		if w.oneIn(16) {
			p.OwnerReferences = []metav1.OwnerReference{pick(w,
				controllerRef("apps.example.com/v1", "Deployment", "clones", "uid-of-clones"),
				controllerRef("apps/v1", "ReplicaSet", "unseen", "uid-of-unseen"),
				controllerRef("v1", "ReplicationController", "unseen", "uid-of-unseen"),
			)}
		}
		if w.oneIn(16) {
			w.makeStatic(p)
		}
		w.put("Pod", p)
		return nil
	}
	w.change(c, p.DeepCopy())
	return nil
}

// progress makes some pods ready that may be scheduled.
func (w *randomWorld) progress(c *comparison) {
	some := 1 + w.IntN(4)
	pods := sorted[*corev1.Pod](w, "Pod")
	w.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	for _, p := range pods {
		if ref := metav1.GetControllerOf(p); ref != nil && w.oneIn(3) && w.isGarbage(p.Namespace, ref) {
			w.drop("Pod", p)
			continue
		}
		ready, _ := said(p, v1alpha1.RequireReady)
		if w.isOver(p) {
			continue
		}
		if some == 0 || ready || p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed {
			continue
		}
		if p.Spec.NodeName == "" && c.oracle.held(p) && !w.oneIn(20) {
			continue
		}
		some--
		p = p.DeepCopy()
		w.bind(c, p)
		w.finish(p)
		w.put("Pod", p)
	}
}

// makeStatic makes a pod what a kubelet shows of one that it runs from a file.
func (w *randomWorld) makeStatic(p *corev1.Pod) {
	p.Spec.NodeName, p.Spec.SchedulingGates = "node-"+strconv.Itoa(w.IntN(4)), nil
	p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
	p.OwnerReferences = []metav1.OwnerReference{controllerRef("v1", "Node", p.Spec.NodeName, "uid-of-"+p.Spec.NodeName)}
}

// isGarbage reports whether the owner of a known kind is gone.
func (w *randomWorld) isGarbage(namespace string, ref *metav1.OwnerReference) bool {
	kind := ownerKind(ref)
	if kind == "" {
		return false
	}
	owner := w.objects[kind][oracleName(namespace, ref.Name)]
	return owner == nil || owner.GetUID() != ref.UID
}

// isOver reports whether the pod is of a Job that is complete: nothing happens to it any more.
func (w *randomWorld) isOver(p *corev1.Pod) bool {
	ref := metav1.GetControllerOf(p)
	if ref == nil || w.objects["Job"][oracleName(p.Namespace, ref.Name)] == nil {
		return false
	}
	complete, _ := jobCompletedAt(w.objects["Job"][oracleName(p.Namespace, ref.Name)])
	return complete
}

// change does one random thing to a pod.
func (w *randomWorld) change(c *comparison, p *corev1.Pod) {
	if w.isOver(p) {
		return
	}
	switch w.IntN(16) {
	case 0, 1, 2:
		if p.Spec.NodeName == "" && c.oracle.held(p) && !w.oneIn(5) {
			return
		}
		w.bind(c, p)
		if w.oneIn(2) {
			w.finish(p)
		}
	case 3, 4:
		p.Status = corev1.PodStatus{Phase: pick(w, corev1.PodPending, corev1.PodRunning)}
	case 5:
		w.succeed(p)
		if w.oneIn(3) {
			endedByKubelet(p)
		}
	case 6:
		p.Status.Phase = corev1.PodFailed
		if w.oneIn(2) {
			p.Status.Conditions = nil // else what the kubelet left behind
		}
	case 7:
		if w.oneIn(2) {
			p.Labels = w.randomLabels()
			break
		}
		p.Spec.Containers = nil
		w.probe(&p.Spec)
		p.Spec.Tolerations = append(p.Spec.Tolerations, w.randomPodSpec().Tolerations...)
	case 8:
		now := metav1.NewTime(w.clock.Truncate(time.Second))
		p.DeletionTimestamp = &now
	case 9: // gone and made again, with only the second event seen
		p.UID, p.DeletionTimestamp, p.Status = "", nil, corev1.PodStatus{}
		if !oracleIsStatic(p) {
			p.Spec.NodeName = ""
			w.addGate(p)
		}
	case 10:
		if p.Spec.NodeName != "" || !c.oracle.liftable(p) || c.oracle.held(p) {
			return
		}
		p.Spec.SchedulingGates = nil
	case 11:
		if p.Spec.NodeName != "" || c.oracle.held(p) {
			return
		}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: pick(w,
			corev1.PodReasonUnschedulable, corev1.PodReasonSchedulerError, corev1.PodReasonSchedulingGated)}}
	case 12, 13:
		p.Status.NominatedNodeName = pick(w, "", "node-0", "node-1")
	default:
		w.drop("Pod", p)
		return
	}
	w.aside(func() { w.changeReached(p) })
	w.asideBy(9, func() { w.changeHook(p) })
	w.put("Pod", p)
}

// bind gives the pod a node if it has none, most often one that is open to it.
func (w *randomWorld) bind(c *comparison, p *corev1.Pod) {
	p.Spec.SchedulingGates = nil
	if p.Spec.NodeName != "" {
		return
	}
	p.Spec.NodeName = "node-" + strconv.Itoa(w.IntN(4))
	if names, pinned := c.oracle.pinnedTo(p); pinned && len(names) > 0 {
		p.Spec.NodeName = names[0]
		return
	}
	nodes := sorted[*corev1.Node](w, "Node")
	w.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	for _, node := range nodes {
		if suits, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(node); suits && err == nil && (w.oneIn(10) || c.oracle.mayPlace(p, node.Name)) {
			p.Spec.NodeName = node.Name
		}
	}
}

// finish makes the pod ready; pods of Jobs often succeed.
func (w *randomWorld) finish(p *corev1.Pod) {
	if ref := metav1.GetControllerOf(p); w.oneIn(8) || (ref != nil && ref.Kind == "Job" && w.oneIn(2)) {
		w.succeed(p)
		return
	}
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.boundAt(p))},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: w.apiTime()},
	}
	w.aside(func() {
		w.start(p)
		if w.oneIn(2) {
			w.setCondition(p)
		}
	})
}

// boundAt is when the API server says that the pod was bound: sometimes just now.
func (w *randomWorld) boundAt(p *corev1.Pod) time.Time {
	if w.oneIn(3) {
		return w.clock.Truncate(time.Second)
	}
	return p.CreationTimestamp.Time
}

func (w *randomWorld) succeed(p *corev1.Pod) {
	at := w.apiTime()
	p.Status.Phase, p.Status.Conditions = corev1.PodSucceeded, nil
	p.Status.ContainerStatuses = []corev1.ContainerStatus{
		{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: at}}},
	}
	w.aside(func() {
		p.Status.ContainerStatuses[0].State.Terminated.StartedAt = w.startedAtSuccess(at)
		if w.oneIn(3) {
			w.setCondition(p)
		}
	})
}

// endedByKubelet makes the pod one that its kubelet evicted, and whose programs exited 0 when they were asked to stop.
func endedByKubelet(p *corev1.Pod) {
	p.Status.Phase = corev1.PodSucceeded
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet,
	})
}

// apiTime is about now, in whole seconds, by a clock that may be wrong.
func (w *randomWorld) apiTime() metav1.Time {
	at := w.clock.Truncate(time.Second)
	if w.truthful && w.hasTrials() {
		return metav1.NewTime(at)
	}
	switch w.IntN(12) {
	case 0:
		if !w.truthful {
			at = at.Add(3 * time.Second)
		}
	case 1, 2:
		if w.truthful && w.nodeScope >= 8 {
			break // a new engine cannot see that the pod was not ready on this node then, and may take it for ready on an earlier one
		}
		at = at.Add(-time.Duration(w.IntN(20)) * time.Second)
	}
	return metav1.NewTime(at)
}

func (w *randomWorld) addGate(p *corev1.Pod) {
	p.Spec.SchedulingGates = nil
	if w.oneIn(4) {
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
	}
}

func (w *randomWorld) randomPodSpec() (spec corev1.PodSpec) {
	spec = corev1.PodSpec{SchedulerName: oracleScheduler}
	defer func() { w.probe(&spec) }()
	if w.oneIn(6) {
		spec.SchedulerName = corev1.DefaultSchedulerName
	}
	if w.theme.nodes == 0 {
		return spec
	}
	switch w.IntN(10) {
	case 0, 1:
		spec.NodeSelector = map[string]string{"pool": pick(w, "a", "b")}
	case 2:
		spec.NodeSelector = map[string]string{corev1.LabelHostname: "node-" + strconv.Itoa(w.IntN(4))}
	case 3:
		spec.Affinity = pinnedAffinity("node-" + strconv.Itoa(w.IntN(4)))
	case 4:
		spec.Affinity = requiredAffinity(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "pool", Operator: corev1.NodeSelectorOpNotIn, Values: []string{pick(w, "a", "b")}},
		}})
	}
	if w.oneIn(4) {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists})
	}
	if w.oneIn(8) {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
		})
	}
	return spec
}

// pinnedAffinity is what pods of DaemonSets carry.
func pinnedAffinity(node string) *corev1.Affinity {
	return requiredAffinity(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
		{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
	}})
}

func requiredAffinity(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: slices.Clone(terms)},
	}}
}

func controllerRef(apiVersion, kind, name, uid string) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(uid), Controller: &yes}
}
