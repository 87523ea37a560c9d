package podgroup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// fieldOwner and the name of a group are who our writes say they come from.
	fieldOwner = "podsequence-controller-podgroup"
	// writers is how many labels of one group are written at once.
	writers = 16
	// labelsInATurn is how many labels of one group are written before other groups have their turn.
	labelsInATurn = 250
)

// write gives pods their label, and takes it from others. A failure does not keep the others from theirs. It reports whether
// some are left to the next turn.
func (r *reconciler) write(ctx context.Context, m *memory, label, remove []*corev1.Pod) (more bool, err error) {
	pods := m.unwritten(slices.Concat(remove, label))
	if len(pods) == 0 {
		return false, nil
	}
	if more = len(pods) > labelsInATurn; more {
		pods = pods[:labelsInATurn]
	}
	versions, failures := make([]string, len(pods)), make([]error, len(pods))
	var group errgroup.Group
	group.SetLimit(writers)
	for i, pod := range pods {
		group.Go(func() error {
			versions[i], failures[i] = r.writeOne(ctx, pod)
			return nil
		})
	}
	_ = group.Wait()
	written := 0
	for i, pod := range pods {
		if versions[i] != "" {
			m.written[pod.UID] = versions[i]
			written++
		}
	}
	klog.FromContext(ctx).V(2).Info("Wrote labels of a pod group", "ready", len(label) > 0, "written", written)
	return more, errors.Join(failures...)
}

// writeOne gives a pod its label, or takes it from a pod that has it for another group. It returns the version of the pod that
// results; none if the pod is gone, or another has its name.
func (r *reconciler) writeOne(ctx context.Context, pod *corev1.Pod) (version string, err error) {
	var value any = ReadyValue
	if r.options.isMoved(pod) {
		value = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "labels": map[string]any{r.options.ReadyLabel: value},
	}})
	if err != nil {
		return "", fmt.Errorf("encode label: %w", err)
	}
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	owner := client.FieldOwner(fieldOwner + "/" + pod.Labels[r.options.NameLabel])
	err = r.writer.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), owner)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("label pod %s: %w", pod.Name, err)
	}
	return object.ResourceVersion, nil
}

// unwritten returns the pods that we have not labelled as far as the cache may not know. It forgets the others: if the
// cache has them as they were after the write, or later, then somebody has taken the label off again.
func (m *memory) unwritten(pods []*corev1.Pod) []*corev1.Pod {
	var todo []*corev1.Pod
	lagging := map[types.UID]string{}
	for _, pod := range pods {
		version, ok := m.written[pod.UID]
		if ok && isOlder(pod.ResourceVersion, version) {
			lagging[pod.UID] = version
			continue
		}
		todo = append(todo, pod)
	}
	m.written = lagging
	return todo
}

func isOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
