package sequence

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// HeldPods counts the pods without a node that sequences hold.
type HeldPods struct {
	Pods int
	// Oldest is when the oldest of each namespace was created.
	Oldest map[string]time.Time
}

// HeldPods returns what is held now. It waits for no event.
func (e *Engine) HeldPods() HeldPods {
	all := HeldPods{Oldest: map[string]time.Time{}}
	for _, pod := range e.published.pods.all() {
		if !pod.held.Load() || pod.Terminating {
			continue
		}
		all.Pods++
		created := pod.CreatedAt.Time()
		if oldest, any := all.Oldest[pod.Namespace]; !any || created.Before(oldest) {
			all.Oldest[pod.Namespace] = created
		}
	}
	return all
}

// Holds reports whether a sequence holds the pod, as HeldPods counts it.
func (e *Engine) Holds(object *corev1.Pod) bool {
	seen, known := e.published.find(object)
	return known && seen.held.Load()
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
