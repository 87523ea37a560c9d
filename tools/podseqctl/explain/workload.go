package explain

import (
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	coordinationv1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/internal/podtrouble"
	"example.com/podsequence/pkg/sequence/inventory"
)

// ownReasons explains what keeps a workload from making pods. present is how many of its pods there are.
func (e *Explainer) ownReasons(kind inventory.Kind, object metav1.Object, present int) []Reason {
	subject := e.name(string(kind), object)
	var reasons []Reason
	add := func(state State, format string, args ...any) {
		reasons = append(reasons, Reason{Subject: subject, State: state, Message: fmt.Sprintf(format, args...)})
	}
	objects := []metav1.Object{object}
	wanted := 0
	switch o := object.(type) {
	case *appsv1.Deployment:
		wanted = int(ptr.Deref(o.Spec.Replicas, 1))
		if by := o.Annotations[coordinationv1.PausedByAnnotation]; o.Spec.Paused && by != "" {
			add(Waiting, "is paused by DeploymentCoordination %s until its turn", by)
		} else if o.Spec.Paused {
			add(Stuck, "is paused: kubectl rollout resume deployment/%s -n %s", o.Name, o.Namespace)
		}
		objects = append(objects, e.ReplicaSetsOf(o)...)
	case *appsv1.ReplicaSet:
		wanted = int(ptr.Deref(o.Spec.Replicas, 1))
	case *corev1.ReplicationController:
		wanted = int(ptr.Deref(o.Spec.Replicas, 1))
	case *appsv1.StatefulSet:
		wanted = int(ptr.Deref(o.Spec.Replicas, 1))
		if o.Spec.PodManagementPolicy != appsv1.ParallelPodManagement && present > 0 && present < wanted {
			add(Waiting, "creates its pods one after another: the next when those before it are ready")
			return reasons
		}
	case *appsv1.DaemonSet:
		wanted = int(o.Status.DesiredNumberScheduled)
	case *batchv1.Job:
		if jobFailed(o) != nil {
			return nil // it creates no more pods
		}
		if state, why := idle(o); why != "" {
			add(state, "%s", why)
		}
		wanted = podsOfJob(o)
	}
	if present >= wanted {
		return reasons
	}
	for _, each := range objects {
		if warning := e.Warning(each.GetUID(), "FailedCreate", "FailedDaemonPod"); warning != nil {
			add(Stuck, "cannot create its pods: %s", podtrouble.OneLine(warning.Message))
			return reasons
		}
	}
	if len(reasons) == 0 {
		add(Waiting, "%d of its %d pods do not exist yet", wanted-present, wanted)
	}
	return reasons
}

// podsOfJob returns how many pods a Job should have now, those that have succeeded included.
func podsOfJob(job *batchv1.Job) int {
	parallelism, succeeded := int(ptr.Deref(job.Spec.Parallelism, 1)), int(job.Status.Succeeded)
	if job.Spec.Completions == nil {
		if succeeded > 0 {
			return 0 // it creates no more pods after the first has succeeded
		}
		return parallelism
	}
	return min(int(*job.Spec.Completions), succeeded+parallelism)
}

// recreate says how to repeat a Job that failed: its owner has to create it again.
func recreate(job metav1.Object) string {
	owner := metav1.GetControllerOfNoCopy(job)
	switch {
	case owner == nil:
		return "delete it and create it again"
	case owner.Kind == "CronJob":
		return fmt.Sprintf("create a newer Job with kubectl create job --from=cronjob/%s, or wait for the next one", owner.Name)
	}
	return fmt.Sprintf("delete its owner, %s %s, and create that again", owner.Kind, owner.Name)
}

// isMemberOf reports whether a pod's name is one that a StatefulSet gives.
func isMemberOf(pod, set string) bool {
	ordinal, ok := strings.CutPrefix(pod, set+"-")
	if !ok {
		return false
	}
	_, err := strconv.ParseUint(ordinal, 10, 32)
	return err == nil
}
