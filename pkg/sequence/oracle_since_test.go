package sequence

import (
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// satisfaction is whether group i is satisfied, and since when.
func (o *oracle) satisfaction(v *view, c *course, i int, g groupCount, before satisfaction, counted bool) satisfaction {
	s, ready := satisfaction{satisfied: g.satisfied}, g.readySince()
	recorded, isRecorded := o.recordedSince(v, c, i)
	news, waits := o.news(v, i, g), oracleDuration(v.Spec.PodGroups[i].WaitDuration) > 0
	switch {
	case !g.satisfied:
	case !counted && isRecorded && !recorded.IsZero() && waits:
		s.since = o.clamp(later(recorded, ready))
	case !counted && isRecorded && !recorded.IsZero():
		s.since = o.clamp(recorded)
	case !counted && isRecorded && !ready.After(recordedAt(v.PodSequence)):
		s.since = o.second() // it was ready when status said that the group was not
	case !counted:
		s.since = o.clamp(ready)
	case before.satisfied && waits && news.After(before.since) && !ready.IsZero(): // else there are enough without the news
		s.since = later(before.since, o.clamp(ready))
	case before.satisfied:
		s.since = before.since
	case news.IsZero():
		s.since = o.second() // something else than a pod's readiness completed it
	default:
		s.since = o.clamp(later(news, ready))
	}
	return s
}

// recordedSince is since when group i is satisfied as status says, zero if it says that it is not.
func (o *oracle) recordedSince(v *view, c *course, i int) (since time.Time, isRecorded bool) {
	since, isRecorded = o.recordedSatisfiedAt(v, c, i)
	if g := v.Spec.PodGroups[i]; since.IsZero() && isMemberless(g) && len(g.NodeConditions) == 0 {
		return time.Time{}, false // the same status says when its objects were ready
	}
	return since, isRecorded
}

func (o *oracle) recordedSatisfiedAt(v *view, c *course, i int) (since time.Time, isRecorded bool) {
	index := o.recordIndex(v, i)
	if index < 0 {
		return time.Time{}, false
	}
	if c.node == "" {
		if at := v.Status.Groups[index].SatisfiedAt; at != nil {
			return at.Time, true
		}
		return time.Time{}, true
	}
	for _, n := range v.Status.NodeStatus {
		switch {
		case n.NodeName != c.node || index < int(n.CurrentIndex):
		case index == int(n.CurrentIndex) && n.SatisfiedAt != nil:
			if now := o.node(c.node); now != nil && n.SatisfiedAt.Before(&now.CreationTimestamp) {
				return time.Time{}, false
			}
			return n.SatisfiedAt.Time, true
		default:
			return time.Time{}, true
		}
	}
	return time.Time{}, false
}

// news is the latest time at which a pod that counts turned ready, or a Job complete, of which this event tells.
func (o *oracle) news(v *view, i int, g groupCount) time.Time {
	news := later(g.objectsNews, g.conditionsNews)
	for uid, at := range g.times {
		switch was := o.before[types.UID(strings.Split(uid, "/")[0])].(type) {
		case *corev1.Pod:
			if ok, before := o.doneBefore(was, v.Spec.PodGroups[i]); ok && before.Equal(at) {
				continue
			}
		case *batchv1.Job:
			if complete, _ := jobCompletedAt(was); complete {
				continue
			}
		}
		news = later(news, at)
	}
	return news
}

// recordedAt is when status was written.
func recordedAt(ps *v1alpha1.PodSequence) time.Time {
	for _, entry := range ps.ManagedFields {
		if entry.Subresource == "status" {
			return entry.Time.Time
		}
	}
	return time.Time{}
}
