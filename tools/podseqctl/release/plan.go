// Package release takes one workload away from PodSequence: it changes the pod template, and then deals with the pods that are not
// bound. A pod that has a node is never touched.
package release

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/holds"
)

// World is what a plan depends on.
type World struct {
	// Workload is the object to release: a workload with a pod template, or a pod.
	Workload client.Object
	// ReplicaSets are those of a Deployment.
	ReplicaSets []*appsv1.ReplicaSet
	// Jobs are those of a CronJob.
	Jobs []*batchv1.Job
	// Pods are those of the workload, directly or through its ReplicaSets or Jobs.
	Pods []*corev1.Pod
}

// Action is what happens to a pod.
type Action string

// The actions.
const (
	Lift   Action = "lift"   // its gates are removed
	Delete Action = "delete" // its owner creates it again, from the changed template
)

// PodStep is what happens to one pod that is not bound.
type PodStep struct {
	Pod    *corev1.Pod
	Action Action
	Hold   holds.Hold
}

// PodPlan is what happens to the pods of a workload after its template is as it should be.
type PodPlan struct {
	Steps []PodStep
	// StayHeld says which pods stay held, and what to do about them.
	StayHeld []string
	// Notes say what else follows.
	Notes []string
}

// Planner plans.
type Planner struct {
	holds.Finder
}

// Template returns what the template of the workload has that must go. A label that the selector of the workload needs cannot be
// removed; it is returned as kept.
func (p Planner) Template(workload client.Object) (remove holds.Hold, kept bool) {
	kind, template := holds.TemplateOf(workload)
	if template == nil || kind == "job" {
		return holds.Hold{}, false
	}
	remove = p.InTemplate(template)
	if remove.Sequence != "" && selectorNeedsLabel(workload, template.Labels) {
		remove.Sequence = ""
		return remove, true
	}
	return remove, false
}

// selectorNeedsLabel reports whether the selector of the workload no longer matches its template without the label.
func selectorNeedsLabel(workload client.Object, of map[string]string) bool {
	var selector *metav1.LabelSelector
	switch o := workload.(type) {
	case *appsv1.Deployment:
		selector = o.Spec.Selector
	case *appsv1.StatefulSet:
		selector = o.Spec.Selector
	case *appsv1.DaemonSet:
		selector = o.Spec.Selector
	case *appsv1.ReplicaSet:
		selector = o.Spec.Selector
	case *corev1.ReplicationController:
		selector = &metav1.LabelSelector{MatchLabels: o.Spec.Selector}
	}
	matches, err := metav1.LabelSelectorAsSelector(selector)
	if selector == nil || err != nil {
		return false
	}
	rest := labels.Set{}
	for key, value := range of {
		if key != v1alpha1.SequenceLabel {
			rest[key] = value
		}
	}
	return !matches.Matches(rest)
}

// heldPod is a pod that is not bound, and what holds it.
type heldPod struct {
	pod  *corev1.Pod
	hold holds.Hold
}

// isGated reports whether nothing but gates holds the pod: they can be removed. The scheduler of a pod cannot be changed.
func (h heldPod) isGated() bool { return h.hold.Scheduler == "" }

// held returns the pods that are held: not those that are bound, have ended, or are being deleted.
func (p Planner) held(pods []*corev1.Pod) []heldPod {
	var held []heldPod
	for _, pod := range pods {
		if isBound(pod) || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if hold := p.InSpec(&pod.Spec); hold != (holds.Hold{}) {
			held = append(held, heldPod{pod, hold})
		}
	}
	return held
}

func isBound(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }

// Pods plans for the pods. changed says that the template was changed just now, so that a workload that rolls out changes replaces
// its pods by itself.
func (p Planner) Pods(w World, changed bool) PodPlan {
	plan := &PodPlan{}
	held := p.held(w.Pods)
	switch o := w.Workload.(type) {
	case *corev1.Pod:
		plan.barePods(p.held([]*corev1.Pod{o}))
	case *appsv1.Deployment:
		p.deployment(plan, w, o, held, changed)
	case *appsv1.StatefulSet:
		p.statefulSet(plan, w, o, held, changed)
	case *appsv1.DaemonSet:
		p.daemonSet(plan, w, o, held, changed)
	case *batchv1.Job:
		p.job(plan, o, held)
	case *batchv1.CronJob:
		for _, job := range w.Jobs {
			p.job(plan, job, held)
		}
	default: // a ReplicaSet or a ReplicationController
		plan.liftOrDelete(held)
	}
	plan.noteOtherGates()
	return *plan
}

// has reports whether the plan has a step with the action.
func (plan *PodPlan) has(action Action) bool {
	return slices.ContainsFunc(plan.Steps, func(step PodStep) bool { return step.Action == action })
}

func (plan *PodPlan) add(action Action, h heldPod) {
	plan.Steps = append(plan.Steps, PodStep{h.pod, action, h.hold})
}

// liftOrDelete is for owners that do not replace the pods by themselves.
func (plan *PodPlan) liftOrDelete(held []heldPod) {
	for _, h := range held {
		if h.isGated() {
			plan.add(Lift, h)
		} else {
			plan.add(Delete, h)
		}
	}
}

func (plan *PodPlan) deleteAll(held []heldPod) {
	for _, h := range held {
		plan.add(Delete, h)
	}
}

func (plan *PodPlan) barePods(held []heldPod) {
	for _, h := range held {
		if h.isGated() {
			plan.add(Lift, h)
			continue
		}
		w := holds.Workload{Kind: "pod", Namespace: h.pod.Namespace, Name: h.pod.Name}
		h.hold.Sequence = h.pod.Labels[v1alpha1.SequenceLabel] // with it, a policy would give the new pod to our scheduler again
		plan.stayHeld("The scheduler of %s cannot be changed. The pod has never run: create it again:\n  %s", w, w.PodCommand(h.hold, nil))
	}
}

func (plan *PodPlan) stayHeld(format string, args ...any) {
	plan.StayHeld = append(plan.StayHeld, fmt.Sprintf(format, args...))
}

func (plan *PodPlan) note(format string, args ...any) {
	plan.Notes = append(plan.Notes, fmt.Sprintf(format, args...))
}

// noteRollout says what a changed template does to running pods.
func (plan *PodPlan) noteRollout(w holds.Workload, strategy string, bound int) {
	also := ""
	if bound > 0 {
		also = fmt.Sprintf(" It also replaces %s that had a node (%s).", countOf(bound, "pod", "pods"), strategy)
	}
	plan.note("%s rolls out the changed template.%s Watch it:\n  kubectl rollout status -n %s %s", w, also, w.Namespace, w)
}

// paused says how a paused Deployment rolls out.
func (plan *PodPlan) paused(d *appsv1.Deployment, waiting int) {
	resume := fmt.Sprintf("kubectl rollout resume -n %s deployment/%s", d.Namespace, d.Name)
	text := fmt.Sprintf("deployment/%s is paused, so it does not roll out the changed template. Resume it:\n  %s", d.Name, resume)
	if by := d.Annotations[appsapi.PausedByAnnotation]; by != "" {
		text = fmt.Sprintf("DeploymentCoordination %s keeps deployment/%s paused until it has the turn to roll out. "+
			"To roll it out now, take it out of the order:\n  kubectl annotate -n %s deployment %s %s-\n  %s",
			by, d.Name, d.Namespace, d.Name, appsapi.PausedByAnnotation, resume)
	}
	if waiting > 0 {
		plan.stayHeld("%s", text)
	} else {
		plan.note("%s", text)
	}
}

// noteOtherGates says which of the pods wait for somebody else as well.
func (plan *PodPlan) noteOtherGates() {
	pods := map[string]int{}
	for _, step := range plan.Steps {
		for _, gate := range step.Pod.Spec.SchedulingGates {
			if !slices.Contains(step.Hold.GateNames(), gate.Name) {
				pods[gate.Name]++
			}
		}
	}
	for _, gate := range slices.Sorted(maps.Keys(pods)) {
		plan.note("The gate %s of %s does not belong to PodSequence: whoever set it must remove it.", gate, countOf(pods[gate], "pod", "pods"))
	}
}

// deployment leaves pods to the rollout. Pods whose ReplicaSet has no hold in its template, because an admission policy added the
// hold, are deleted.
func (p Planner) deployment(plan *PodPlan, w World, d *appsv1.Deployment, held []heldPod, changed bool) {
	if changed && !d.Spec.Paused {
		plan.noteRollout(holds.Workload{Kind: "deployment", Namespace: d.Namespace, Name: d.Name}, deploymentStrategy(d), countBound(w.Pods))
		return
	}
	waiting := 0
	for _, h := range held {
		switch {
		case p.isClean(w.ReplicaSets, h.pod):
			plan.add(Delete, h)
		case !d.Spec.Paused: // an earlier change rolls out
		case h.isGated():
			plan.add(Lift, h)
		default:
			waiting++
		}
	}
	if d.Spec.Paused && (changed || waiting > 0) {
		plan.paused(d, waiting)
	}
}

// isClean reports whether the template of the pod's ReplicaSet has no hold.
func (p Planner) isClean(sets []*appsv1.ReplicaSet, pod *corev1.Pod) bool {
	for _, set := range sets {
		if metav1.IsControlledBy(pod, set) {
			return p.InTemplate(&set.Spec.Template) == holds.Hold{}
		}
	}
	return false
}

// statefulSet deletes what the rollout would wait for: a StatefulSet does not replace a pod that has never run. Pods below the
// partition would be created again from the old template.
func (p Planner) statefulSet(plan *PodPlan, w World, s *appsv1.StatefulSet, held []heldPod, changed bool) {
	rolls := s.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType
	partition := 0
	if update := s.Spec.UpdateStrategy.RollingUpdate; rolls && update != nil && update.Partition != nil {
		if partition = int(*update.Partition); s.Spec.Ordinals != nil {
			partition += int(s.Spec.Ordinals.Start) // it counts from the first pod
		}
	}
	var below []string
	for _, h := range held {
		isOld := changed || h.pod.Labels[appsv1.StatefulSetRevisionLabel] != s.Status.UpdateRevision
		isBelow := isOld && ordinal(h.pod.Name) < partition
		switch {
		case h.isGated() && (isBelow || !rolls):
			plan.add(Lift, h)
		case isBelow:
			below = append(below, h.pod.Name)
		default: // without its gate alone the pod would start, and then the rollout would replace it
			plan.add(Delete, h)
		}
	}
	if len(below) > 0 {
		plan.stayHeld("%s: below the partition, statefulset/%s creates pods from the old template. "+
			"Lower the partition, then run this command again:\n"+
			`  kubectl patch statefulset -n %s %s -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'`,
			strings.Join(below, ", "), s.Name, s.Namespace, s.Name)
	}
	if changed && rolls {
		replaced := slices.DeleteFunc(slices.Clone(w.Pods), func(pod *corev1.Pod) bool { return ordinal(pod.Name) < partition })
		plan.noteRollout(holds.Workload{Kind: "statefulset", Namespace: s.Namespace, Name: s.Name},
			"RollingUpdate, one after another from the highest number", countBound(replaced))
	}
}

// ordinal returns the number at the end of the name of a StatefulSet's pod.
func ordinal(name string) int {
	number, err := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
	if err != nil {
		return 0
	}
	return number
}

// daemonSet leaves pods to the rollout, which replaces those first that are not available.
func (p Planner) daemonSet(plan *PodPlan, w World, d *appsv1.DaemonSet, held []heldPod, changed bool) {
	switch rolls := d.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType; {
	case rolls && changed:
		plan.noteRollout(holds.Workload{Kind: "daemonset", Namespace: d.Namespace, Name: d.Name}, daemonSetStrategy(d), countBound(w.Pods))
	case rolls:
		plan.deleteAll(held)
	default:
		plan.liftOrDelete(held)
	}
}

// job lifts the gates of the Job's pods. It deletes none: a Job counts a deleted pod as failed.
func (p Planner) job(plan *PodPlan, job *batchv1.Job, held []heldPod) {
	if holds.JobIsFinished(job) {
		return
	}
	w := holds.Workload{Kind: "job", Namespace: job.Namespace, Name: job.Name}
	template := p.InTemplate(&job.Spec.Template)
	hold := template
	stuck := 0
	for _, h := range held {
		switch {
		case !metav1.IsControlledBy(h.pod, job):
		case h.isGated():
			plan.add(Lift, h)
		default:
			stuck++
			hold.Scheduler = h.hold.Scheduler // an admission policy may have set it
		}
	}
	const again = "The template of a Job cannot be changed: create the Job again. It repeats what it has completed:\n  %s"
	switch {
	case stuck > 0:
		plan.stayHeld("The scheduler of %s of %s cannot be changed. "+again, countOf(stuck, "pod", "pods"), w, w.TemplateCommand(hold))
	case template != holds.Hold{}:
		plan.note("The pods that %s creates from now on are held. "+again, w, w.TemplateCommand(template))
	}
}

func countBound(pods []*corev1.Pod) int {
	bound := 0
	for _, pod := range pods {
		if isBound(pod) && pod.DeletionTimestamp == nil {
			bound++
		}
	}
	return bound
}
