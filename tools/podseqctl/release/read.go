package release

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/tools/holds"
)

// read reads the workload, and what it owns.
func (r *Releaser) read(ctx context.Context, w holds.Workload) (World, error) {
	world := World{Workload: kinds[w.Kind].empty()}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name}, world.Workload); err != nil {
		return world, readError(err, w.String(), w)
	}
	if w.Kind == "pod" {
		return world, nil
	}
	owners := sets.New(world.Workload.GetUID())
	switch w.Kind {
	case "deployment":
		list := &appsv1.ReplicaSetList{}
		if err := r.client.List(ctx, list, client.InNamespace(w.Namespace)); err != nil {
			return world, readError(err, "its ReplicaSets", w)
		}
		world.ReplicaSets = ownedBy(list.Items, owners)
		for _, set := range world.ReplicaSets {
			owners.Insert(set.UID)
		}
	case "cronjob":
		list := &batchv1.JobList{}
		if err := r.client.List(ctx, list, client.InNamespace(w.Namespace)); err != nil {
			return world, readError(err, "its Jobs", w)
		}
		world.Jobs = ownedBy(list.Items, owners)
		for _, job := range world.Jobs {
			owners.Insert(job.UID)
		}
	}
	list := &corev1.PodList{}
	if err := r.client.List(ctx, list, client.InNamespace(w.Namespace)); err != nil {
		return world, readError(err, "its pods", w)
	}
	world.Pods = ownedBy(list.Items, owners)
	return world, nil
}

// ownedBy returns the objects that one of the owners controls.
func ownedBy[T any, P interface {
	*T
	metav1.Object
}](items []T, owners sets.Set[types.UID]) []P {
	var owned []P
	for i := range items {
		object := P(&items[i])
		if owner := metav1.GetControllerOfNoCopy(object); owner != nil && owners.Has(owner.UID) {
			owned = append(owned, object)
		}
	}
	slices.SortFunc(owned, func(a, b P) int { return compareNames(a.GetName(), b.GetName()) })
	return owned
}

// compareNames sorts web-2 before web-10.
func compareNames(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	if a < b {
		return -1
	}
	return 1
}

// readError says what to do about an error of a read.
func readError(err error, what string, w holds.Workload) error {
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s does not exist in namespace %s: kubectl get %s -n %s lists those that do",
			w, w.Namespace, kinds[w.Kind].resource, w.Namespace)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("read %s: %w; ask for the role edit in namespace %s", what, err, w.Namespace)
	}
	return fmt.Errorf("read %s: %w", what, err)
}

// refuse returns an error if something else has to be released.
func (r *Releaser) refuse(ctx context.Context, world World, w holds.Workload) error {
	if world.Workload.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s is being deleted", w)
	}
	owner := metav1.GetControllerOf(world.Workload)
	if owner == nil {
		return nil
	}
	switch w.Kind {
	case "replicaset":
	case "pod":
		held := r.planner.held([]*corev1.Pod{world.Workload.(*corev1.Pod)})
		if len(held) == 0 || held[0].isGated() {
			return nil
		}
		if owner.Kind == "ReplicaSet" {
			set := &appsv1.ReplicaSet{}
			if err := r.client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: owner.Name}, set); err == nil {
				if over := metav1.GetControllerOf(set); over != nil {
					owner = over
				}
			}
		}
	default:
		return nil
	}
	over := holds.Workload{Kind: strings.ToLower(owner.Kind), Namespace: w.Namespace, Name: owner.Name}
	if _, known := kinds[over.Kind]; !known {
		return fmt.Errorf("%s belongs to %s, of a kind that this command does not know: change the pod template there", w, over)
	}
	return fmt.Errorf("%s belongs to %s: release that instead: kubectl podseq release -n %s %s --reason REASON", w, over, w.Namespace, over)
}
