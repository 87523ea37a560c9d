package deploymentcoordination

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/podsequence/apis/apps/v1"
)

// knownReadiness is what the API server has said of a Deployment's pods.
type knownReadiness struct {
	// replicaSet is the version of the ReplicaSet, of which the number of ready pods is a part, and wanted how many must be.
	replicaSet string
	wanted     int
	asked      time.Time
	since      *time.Time
}

// readySince is since when the pods of the active Deployment's rollout have been ready, once that matters. It asks for the
// pods when the rollout is complete, when the cached ReplicaSet says that something about them has changed, and when the
// wait is over by what is known, or could be: so that a pod which was unready for a moment is noticed, and other events
// cost nothing. A watch would keep all pods of the cluster.
func (t *turn) readySince(ctx context.Context, in Input) (*time.Time, error) {
	if in.Coordination.Spec.MinReadySeconds == 0 {
		return nil, nil
	}
	for i := range in.Members {
		m := &in.Members[i]
		record := m.Record
		if m.name() != in.Coordination.Status.ActiveDeployment || !m.rolledOut(record) || m.template().current == nil {
			continue
		}
		known, ok := t.readiness[m.Deployment.UID]
		wanted, version := m.wantedReady(record), m.template().current.ResourceVersion
		if ok && known.replicaSet == version && known.wanted == wanted && !known.over(record, in) {
			return known.since, nil
		}
		pods, err := t.pods(ctx, m)
		if err != nil {
			return nil, err
		}
		since := readySince(pods, wanted, in.Now)
		t.readiness[m.Deployment.UID] = knownReadiness{version, wanted, in.Now, since}
		return since, nil
	}
	return nil, nil
}

// over reports whether the wait has come to its end since the pods were asked for, or might have if they were not ready.
func (k *knownReadiness) over(record *v1.DeploymentState, in Input) bool {
	if k.since == nil {
		return !in.Now.Before(k.asked.Add(unreadyWait(in.Coordination.Spec.MinReadySeconds)))
	}
	if record == nil {
		return false
	}
	end := waitOver(*k.since, record.LastRolloutFinished, in.Coordination.Spec.MinReadySeconds)
	return k.asked.Before(end) && !in.Now.Before(end)
}

// unreadyWait is how long after they were not ready pods are asked for again if nothing happens: before that they cannot have
// been ready for long enough. A pod that becomes ready changes the ReplicaSet, which leads here sooner, but not if it was
// unready for a moment only. So this rarely matters, and is not often either.
func unreadyWait(minReadySeconds int32) time.Duration {
	return max(time.Duration(minReadySeconds)*time.Second, 30*time.Second)
}

// pods are those of the Deployment's present template.
func (t *turn) pods(ctx context.Context, m *Member) ([]corev1.Pod, error) {
	current := m.template().current
	selector, err := metav1.LabelSelectorAsSelector(current.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("read selector of ReplicaSet %s: %w", current.Name, err)
	}
	var pods corev1.PodList
	t.requests++
	if err := t.live.List(ctx, &pods, client.InNamespace(current.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("list pods of %s: %w", m.name(), err)
	}
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, current) }), nil
}
