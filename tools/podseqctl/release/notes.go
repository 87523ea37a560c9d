package release

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

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
