package release

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsapi "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/tools/holds"
)

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

func deploymentStrategy(d *appsv1.Deployment) string {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return "Recreate: all of them end before new ones start"
	}
	text := "RollingUpdate"
	if update := d.Spec.Strategy.RollingUpdate; update != nil {
		text += budget("maxUnavailable", update.MaxUnavailable) + budget("maxSurge", update.MaxSurge)
	}
	return text
}

func daemonSetStrategy(d *appsv1.DaemonSet) string {
	text := "RollingUpdate"
	if update := d.Spec.UpdateStrategy.RollingUpdate; update != nil {
		text += budget("maxUnavailable", update.MaxUnavailable) + budget("maxSurge", update.MaxSurge)
	}
	return text
}

func budget(name string, value *intstr.IntOrString) string {
	if value == nil {
		return ""
	}
	return ", " + name + " " + value.String()
}

func countOf(count int, one, many string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", count, many)
}
