package podgroup

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/internal/podgroups"
)

// The indexes of caches: pods by the group that they are in, workloads by the group that their template names and by the
// UID of their JobSet.
const (
	byGroup    = "podgroup.group"
	byTemplate = "podgroup.template"
	byJobSet   = "podgroup.jobSet"
)

func (o Options) indexPods(ctx context.Context, indexer client.FieldIndexer) error {
	extract := func(object client.Object) []string { return notEmpty(o.groupOf(object.(*corev1.Pod)).Name) }
	if err := indexer.IndexField(ctx, &corev1.Pod{}, byGroup, extract); err != nil {
		return fmt.Errorf("index pods by their group: %w", err)
	}
	return nil
}

func (o Options) indexWorkloads(ctx context.Context, indexer client.FieldIndexer, kind client.Object) error {
	extract := func(object client.Object) []string { return notEmpty(o.templateGroup(object).Name) }
	if err := indexer.IndexField(ctx, kind, byTemplate, extract); err != nil {
		return fmt.Errorf("index %T by the group of its template: %w", kind, err)
	}
	if _, ok := kind.(*batchv1.Job); !ok {
		return nil
	}
	extract = func(object client.Object) []string { return notEmpty(string(jobSetOf(object.(*batchv1.Job)).uid)) }
	if err := indexer.IndexField(ctx, kind, byJobSet, extract); err != nil {
		return fmt.Errorf("index Jobs by their JobSet: %w", err)
	}
	return nil
}

func notEmpty(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// gather learns what the caches know of a group. The pods belong to the cache: read only.
func (r *reconciler) gather(ctx context.Context, group types.NamespacedName) (world, error) {
	w := world{
		options: r.options, now: r.clock.Now(), minimums: map[podgroups.Reference]int32{},
		workloads: map[types.UID]workload{}, absent: map[types.UID]bool{}, jobs: map[types.UID]int{},
	}
	var pods corev1.PodList
	err := r.pods.List(ctx, &pods, client.InNamespace(group.Namespace), client.MatchingFields{byGroup: group.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return world{}, fmt.Errorf("list pods: %w", err)
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			w.pods = append(w.pods, &pods.Items[i])
		}
	}
	if len(w.pods) == 0 {
		return w, nil
	}
	slices.SortFunc(w.pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, pod := range w.pods {
		for _, reference := range podgroups.Of(pod) {
			if minimum, known := r.podGroups.Minimum(reference); known {
				w.minimums[reference] = minimum
			}
		}
	}
	return w, r.gatherWorkloads(ctx, group, w)
}

// gatherWorkloads enters the workloads that own pods of the group, and those that make pods for it but have none yet.
func (r *reconciler) gatherWorkloads(ctx context.Context, group types.NamespacedName, w world) error {
	for _, kind := range workloadKinds {
		list := kind.list()
		err := r.workloads.List(ctx, list, client.InNamespace(group.Namespace), client.MatchingFields{byTemplate: group.Name}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return fmt.Errorf("list workloads: %w", err)
		}
		if err := w.enter(list, ""); err != nil {
			return err
		}
	}
	for uid, owner := range w.unseenOwners() {
		object := workloadKinds[owner.Kind].object()
		err := r.workloads.Get(ctx, types.NamespacedName{Namespace: group.Namespace, Name: owner.Name}, object, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("get %s %s: %w", owner.Kind, owner.Name, err)
		}
		switch found, ok := workloadOf(object); {
		case found.uid != uid: // the cache lacks it, or has another of its name
		case ok:
			w.workloads[uid] = found
		default:
			w.absent[uid] = true
		}
	}
	for _, job := range w.workloads {
		set := job.jobSet.uid
		if _, counted := w.jobs[set]; counted || set == "" {
			continue
		}
		var jobs batchv1.JobList
		err := r.workloads.List(ctx, &jobs, client.InNamespace(group.Namespace), client.MatchingFields{byJobSet: string(set)}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return fmt.Errorf("list Jobs of a JobSet: %w", err)
		}
		w.jobs[set] = 0
		for i := range jobs.Items {
			if jobs.Items[i].DeletionTimestamp == nil {
				w.jobs[set]++
			}
		}
	}
	return nil
}

// unseenOwners are the owners of pods that are of a kind whose size can be known, and not known.
func (w world) unseenOwners() map[types.UID]*metav1.OwnerReference {
	owners := map[types.UID]*metav1.OwnerReference{}
	for _, pod := range w.pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil {
			continue
		}
		if _, known := w.workloads[owner.UID]; known {
			continue
		}
		if kind, ok := workloadKinds[owner.Kind]; ok && kind.apiVersion == owner.APIVersion {
			owners[owner.UID] = owner
		}
	}
	return owners
}

// enter enters the workloads of a list, or the one of them that has the UID.
func (w world) enter(list client.ObjectList, only types.UID) error {
	return meta.EachListItem(list, func(object runtime.Object) error {
		if found, ok := workloadOf(object.(client.Object)); ok && (only == "" || found.uid == only) {
			w.workloads[found.uid] = found
		}
		return nil
	})
}
