package explain

import (
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

// idle says why a Job does not create pods by itself; empty if it does.
func idle(job *batchv1.Job) (State, string) {
	switch by := ptr.Deref(job.Spec.ManagedBy, batchv1.JobControllerName); {
	case ptr.Deref(job.Spec.Suspend, false):
		return Stuck, "is suspended: set its spec.suspend to false"
	case by != batchv1.JobControllerName:
		return Waiting, fmt.Sprintf("is run by %s, as its spec.managedBy says, and not by kube-controller-manager; if that does not change, does %[1]s run?", by)
	case job.Spec.Parallelism != nil && *job.Spec.Parallelism == 0:
		return Stuck, "has parallelism 0, so it creates no pods: raise its spec.parallelism"
	}
	return "", ""
}

// namedPods says which pods a StatefulSet creates, such as: db-1 to db-3.
func namedPods(set *appsv1.StatefulSet) string {
	first, replicas := firstOrdinal(set), int(ptr.Deref(set.Spec.Replicas, 1))
	switch replicas {
	case 0:
		return "no pods"
	case 1:
		return fmt.Sprintf("%s-%d", set.Name, first)
	}
	return fmt.Sprintf("%s-%d to %[1]s-%[3]d", set.Name, first, first+replicas-1)
}

func firstOrdinal(set *appsv1.StatefulSet) int {
	if set.Spec.Ordinals == nil {
		return 0
	}
	return int(set.Spec.Ordinals.Start)
}

// createsPod reports whether a StatefulSet creates a pod of this name with the replicas that it has.
func createsPod(set *appsv1.StatefulSet, pod string) bool {
	ordinal, err := strconv.Atoi(strings.TrimPrefix(pod, set.Name+"-"))
	first := firstOrdinal(set)
	return err == nil && ordinal >= first && ordinal < first+int(ptr.Deref(set.Spec.Replicas, 1))
}

// neverCreated says why a StatefulSet of whose names this is one does not create the pod.
func neverCreated(set *appsv1.StatefulSet, pod string) string {
	first, fix := firstOrdinal(set), "scale it up, or correct the name in the group"
	why := fmt.Sprintf("does not exist, and StatefulSet %s creates %s", set.Name, namedPods(set))
	if ordinal, _ := strconv.Atoi(strings.TrimPrefix(pod, set.Name+"-")); ordinal < first {
		why, fix = why+", because its spec.ordinals.start is "+strconv.Itoa(first), "correct the name in the group"
	}
	return why + ": " + fix
}
