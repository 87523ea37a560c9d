package deploymentcoordination

import (
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/internal/deployments"
	"example.com/podsequence/pkg/controllers/deploymentcoordination/handback"
	"example.com/podsequence/pkg/sequence"
)

// Member is a Deployment that the coordination matches, with what belongs to it.
type Member struct {
	Deployment *appsv1.Deployment
	// ReplicaSets are those that the Deployment controls.
	ReplicaSets []*appsv1.ReplicaSet
	// Hold is what would hold the Deployment's new pods.
	Hold sequence.Hold
	// Elsewhere is set for a Deployment that another coordination matches too, and pauses and unpauses.
	Elsewhere bool
	// Record is what is on record of the Deployment, be it in the status of another coordination. If it is nil, the status of
	// this one says it, if anything does.
	Record *v1.DeploymentState
	// Refused is set while the API server refuses to pause or unpause the Deployment.
	Refused *refusal
	// known is what template returns; nil until then.
	known *template
}

// name is how status names the Deployment.
func (m *Member) name() string { return m.key().String() }

func (m *Member) key() types.NamespacedName {
	return types.NamespacedName{Namespace: m.Deployment.Namespace, Name: m.Deployment.Name}
}

// pause is who has paused a Deployment.
type pause int

const (
	unpaused pause = iota
	pausedByUs
	pausedByOwner
)

func (m *Member) pause() pause {
	switch {
	case !m.Deployment.Spec.Paused:
		return unpaused
	case marked(m.Deployment) != "":
		return pausedByUs
	}
	return pausedByOwner
}

// takenOut reports whether the owner of a Deployment that waited has taken it out of the order: it is unpaused, and only
// PausedByAnnotation was removed. Whoever replaces the whole object removes both annotations, and does not mean that.
func (m *Member) takenOut() bool {
	_, left := m.Deployment.Annotations[v1.PauseReasonAnnotation]
	return m.pause() == unpaused && marked(m.Deployment) == "" && left
}

// marked is the coordination whose mark a Deployment carries, or empty.
func marked(d *appsv1.Deployment) string { return handback.PausedBy(d) }

// rolledOut reports whether the Deployment's present template has been rolled out in full, be it some time ago: scaling
// and failing pods do not undo that. The record is what status says of this Deployment, nil if nothing.
func (m *Member) rolledOut(record *v1.DeploymentState) bool {
	t := m.template()
	if t.current == nil { // of its template there is no pod: there is none yet, or somebody has deleted the ReplicaSet, which is no change
		return record != nil && !record.HasPendingChanges && record.TemplateHash == m.templateHash()
	}
	if t.mixed {
		return false
	}
	if m.complete() {
		return true
	}
	if record != nil && record.Paused && record.RolledOutTemplateHash == m.templateHash() && ptr.Deref(t.current.Spec.Replicas, 1) == m.replicas() {
		return true // it was changed back while it waited: nothing of the change was rolled out
	}
	if record != nil && record.TemplateHash != m.templateHash() {
		return false
	}
	if record != nil && !record.HasPendingChanges {
		return true
	}
	// It is seen for the first time, or since its turn, while it scales, or while a pod fails. The Deployment controller
	// remembers a rollout that was complete until the next begins, or until the Deployment is paused.
	finished, status := m.finishedSince(), &m.Deployment.Status
	return m.observed() && finished != nil && status.Replicas == status.UpdatedReplicas &&
		(record == nil || record.LastRolloutStarted.Before(finished))
}

// hasBegun reports whether the Deployment controller rolls out the present template.
func (m *Member) hasBegun() bool {
	current := m.template().current
	return current != nil && ptr.Deref(current.Spec.Replicas, 1) > 0
}

// complete reports whether the rollout is complete right now, by the Deployment controller's own rule: all replicas are of
// the present template, and available.
func (m *Member) complete() bool {
	return deployments.IsComplete(m.Deployment)
}

func (m *Member) observed() bool {
	return m.Deployment.Status.ObservedGeneration >= m.Deployment.Generation
}

// finishedSince is when the Deployment controller found the rollout complete, nil if it does not say so. It does not
// for Deployments without a progress deadline.
func (m *Member) finishedSince() *metav1.Time {
	progressing := m.progressing()
	if progressing == nil || progressing.Reason != deployments.NewReplicaSetAvailable {
		return nil
	}
	return &progressing.LastUpdateTime
}

// replicas is how many pods the Deployment is to have.
func (m *Member) replicas() int32 { return ptr.Deref(m.Deployment.Spec.Replicas, 1) }

// wantedReady is how many pods must have been ready for minReadySeconds: as many as the rollout had at its end. Pods that
// scaling adds later are not of the rollout, and those that it removes are not waited for.
func (m *Member) wantedReady(record *v1.DeploymentState) int {
	wanted := m.replicas()
	if record != nil && record.RolloutReplicas != nil {
		wanted = min(wanted, max(*record.RolloutReplicas, 0)) // status is read back, and may say anything
	}
	return int(wanted)
}

// progressDeadlineExceeded reports whether the rollout that started then has failed by the Deployment's own deadline. The
// Deployment controller keeps that on record while a Deployment is paused, and until it gets on: what is not later than the
// start, which a deadline is by a second at least, is of another rollout.
func (m *Member) progressDeadlineExceeded(started *metav1.Time) bool {
	progressing := m.progressing()
	return progressing != nil && progressing.Reason == deployments.ProgressDeadlineExceeded && m.observed() &&
		started.Before(&progressing.LastUpdateTime)
}

// nextDeadline is when the rollout that started then fails by the Deployment's own deadline if an earlier failure is still on record: the
// Deployment controller takes that off only when a pod gets on, and does not write it twice. See SetDeploymentCondition and
// checkPausedConditions in pkg/controller/deployment of Kubernetes 1.37.1.
func (m *Member) nextDeadline(started *metav1.Time) (at time.Time, ok bool) {
	progressing, seconds := m.progressing(), m.Deployment.Spec.ProgressDeadlineSeconds
	if progressing == nil || progressing.Reason != deployments.ProgressDeadlineExceeded || !m.observed() || m.pause() != unpaused || started == nil || seconds == nil {
		return time.Time{}, false
	}
	return nextSecond(started.Time).Add(time.Duration(*seconds) * time.Second), true
}

func (m *Member) progressing() *appsv1.DeploymentCondition {
	return deployments.Condition(m.Deployment, appsv1.DeploymentProgressing)
}

// template works out what the member's template comes to, if that is not known.
func (m *Member) template() *template {
	if m.known != nil {
		return m.known
	}
	t := &template{hash: m.templateHash(), current: deployments.NewestReplicaSet(m.Deployment, m.ReplicaSets)}
	for _, rs := range m.ReplicaSets {
		if t.current != nil && rs.UID != t.current.UID && (ptr.Deref(rs.Spec.Replicas, 1) > 0 || rs.Status.Replicas > 0) {
			t.mixed = true
		}
	}
	if t.current != nil { // what is remembered must not keep the whole list that it is of
		current := *t.current
		t.current = &current
	}
	m.known = t
	return t
}

// templateHash stands for the pod template. It only tells one template from the next of the same Deployment.
func (m *Member) templateHash() string {
	if m.known != nil {
		return m.known.hash
	}
	hash := fnv.New64a()
	encoded, _ := m.Deployment.Spec.Template.Marshal() // what came from the API server can be encoded
	hash.Write(encoded)
	return strconv.FormatUint(hash.Sum64(), 36)
}

// readySince is since when as many of the pods as are wanted have been ready without a break, nil if they are not. Pods that
// have ended or are about to are none. Times that are yet to come are of clocks that are wrong, and do not count.
func readySince(pods []corev1.Pod, wanted int, now time.Time) *time.Time {
	var ready []time.Time
	for i := range pods {
		if !isActive(&pods[i]) {
			continue
		}
		at := readyTime(&pods[i])
		switch {
		case at == nil:
		case at.After(now):
			ready = append(ready, time.Time{})
		default:
			ready = append(ready, *at)
		}
	}
	if len(ready) < wanted {
		return nil
	}
	slices.SortFunc(ready, time.Time.Compare)
	since := time.Time{}
	if wanted > 0 {
		since = ready[wanted-1]
	}
	return &since
}

// isActive reports whether a ReplicaSet counts the pod: it replaces those that have ended, such as evicted ones, though they
// may stay for long.
func isActive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

func readyTime(pod *corev1.Pod) *time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return &c.LastTransitionTime.Time
		}
	}
	return nil
}
