package sequence

import (
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// HeldPods counts the pods without a node that sequences hold.
type HeldPods struct {
	Pods int
	// OldestCreatedAt is when the oldest of them was created; zero if there are none.
	OldestCreatedAt time.Time
}

// HeldPods returns what is held now. It waits for no event, and none waits for it.
func (e *Engine) HeldPods() HeldPods {
	var all HeldPods
	e.published.pods.Range(func(_, value any) bool {
		pod := value.(*publishedPod)
		if !pod.held.Load() || pod.facts.Terminating {
			return true
		}
		all.Pods++
		if created := time.Unix(pod.times.created, 0); all.OldestCreatedAt.IsZero() || created.Before(all.OldestCreatedAt) {
			all.OldestCreatedAt = created
		}
		return true
	})
	return all
}

// ReleasedAt returns when this process released a pod that it had held and that has no node yet; zero if it held it at no
// time. It is for metrics: after a restart nobody knows it any more.
func (e *Engine) ReleasedAt(object *corev1.Pod) time.Time {
	if seen, known := e.published.find(object); known && seen.uid == object.UID {
		if nanos := seen.times.released.Load(); nanos != 0 {
			return time.Unix(0, nanos)
		}
	}
	return time.Time{}
}

// publishedTimes are times of a pod that metrics are made from.
type publishedTimes struct {
	created  int64        // in seconds
	released atomic.Int64 // when it was held last, in nanoseconds; 0 while it is held, and if it never was
}

// note notes whether the pod is held, and was before.
func (t *publishedTimes) note(was, is bool, now time.Time) {
	switch {
	case is:
		t.released.Store(0)
	case was && !now.IsZero():
		t.released.Store(now.UnixNano())
	}
}
