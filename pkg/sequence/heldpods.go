package sequence

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// HeldPods counts the pods without a node that sequences hold.
type HeldPods struct {
	Pods int
	// OldestCreatedAt is when the oldest of them was created; zero if there are none.
	OldestCreatedAt time.Time
}

// HeldPods returns what is held now. It waits for no event.
func (e *Engine) HeldPods() HeldPods {
	var all HeldPods
	for _, pod := range e.published.pods.all() {
		if !pod.held.Load() || pod.Terminating {
			continue
		}
		all.Pods++
		if created := pod.CreatedAt.Time(); all.OldestCreatedAt.IsZero() || created.Before(all.OldestCreatedAt) {
			all.OldestCreatedAt = created
		}
	}
	return all
}

// ReleasedAt returns when this process released a pod that it had held and that has no node yet; zero if it held it at no
// time. It is for metrics: after a restart nobody knows it any more.
func (e *Engine) ReleasedAt(object *corev1.Pod) time.Time {
	if seen, known := e.published.find(object); known && seen.UID == object.UID {
		if nanos := seen.releasedAt.Load(); nanos != 0 {
			return time.Unix(0, nanos)
		}
	}
	return time.Time{}
}

// noteRelease notes whether the pod is held, and was before.
func (p *publishedPod) noteRelease(was, is bool, now time.Time) {
	switch {
	case is:
		p.releasedAt.Store(0)
	case was && !now.IsZero():
		p.releasedAt.Store(now.UnixNano())
	}
}
