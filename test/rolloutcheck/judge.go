package rolloutcheck

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/test/revisions"
)

// change is a write of a Deployment, or its end.
type change = revisions.Change[deployment]

// deployment is a version of a Deployment, in as many words as judging it takes.
type deployment struct {
	key      types.NamespacedName
	uid      types.UID
	paused   bool
	template string
	complete bool
}

func readDeployment(d *appsv1.Deployment) deployment {
	replicas := int32(1)
	if d.Spec.Replicas != nil {
		replicas = *d.Spec.Replicas
	}
	return deployment{
		key: types.NamespacedName{Namespace: d.Namespace, Name: d.Name}, uid: d.UID,
		paused: d.Spec.Paused, template: d.Spec.Template.String(),
		// Without replicas a paused Deployment is complete by its numbers, whatever its template.
		complete: (replicas > 0 || !d.Spec.Paused) &&
			d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas == replicas &&
			d.Status.UpdatedReplicas == replicas && d.Status.AvailableReplicas == replicas,
	}
}

// Verdict is what there is to say about the rollouts of a namespace.
type Verdict struct {
	// Rollouts are all that were seen, in the order in which they began. One that is interrupted by a pause and goes on
	// later counts as two.
	Rollouts []Rollout
	// Overlaps are the pairs of Deployments that were rolling at once.
	Overlaps []Overlap
}

// Rollout is the time during which a Deployment was rolling.
type Rollout struct {
	Deployment types.NamespacedName
	// From and To are the resource versions between which it was; To is empty if it still is.
	From, To string
	// Began and Ended are when the watcher heard of these.
	Began, Ended time.Time
	// Complete reports whether it ended because the template was rolled out, rather than by a pause or a deletion.
	Complete bool
}

// Overlap is the time during which two Deployments were rolling.
type Overlap struct {
	First, Second types.NamespacedName
	// From is the resource version since which the second rolled beside the first.
	From string
	// Lasted is until one of them stopped, or until the last change that was seen.
	Lasted time.Duration
}

// Order names the Deployments in the order in which they began to roll.
func (v Verdict) Order() []string {
	var names []string
	for _, r := range v.Rollouts {
		names = append(names, r.Deployment.Name)
	}
	return names
}

// String is the verdict for people.
func (v Verdict) String() string {
	var b strings.Builder
	if len(v.Overlaps) == 0 {
		fmt.Fprintf(&b, "saw %d rollouts, never two at once: %s", len(v.Rollouts), strings.Join(v.Order(), ", "))
		return b.String()
	}
	fmt.Fprintf(&b, "saw %d rollouts, and %d times two at once:", len(v.Rollouts), len(v.Overlaps))
	for _, o := range v.Overlaps {
		fmt.Fprintf(&b, "\n  %s and %s from resource version %s for %s", o.First, o.Second, o.From, o.Lasted.Round(time.Millisecond))
	}
	return b.String()
}

// judge replays the changes of a namespace.
func judge(history []change, namespace string) Verdict {
	j := &replay{rolledOut: map[types.UID]string{}, rolling: map[types.UID]int{}, overlaps: map[[2]types.UID]openOverlap{}}
	for _, c := range history {
		if c.Object.key.Namespace == namespace {
			j.take(c)
		}
	}
	for pair := range j.overlaps {
		j.endOverlap(pair, j.last)
	}
	return j.verdict
}

type replay struct {
	verdict   Verdict
	rolledOut map[types.UID]string         // the template that each last rolled out
	rolling   map[types.UID]int            // index into the verdict's rollouts
	overlaps  map[[2]types.UID]openOverlap // of those that are rolling
	last      change
}

// openOverlap is one that has not ended yet.
type openOverlap struct {
	index int // into the verdict's overlaps
	began time.Time
}

func (j *replay) take(c change) {
	j.last = c
	d := c.Object
	if d.complete {
		j.rolledOut[d.uid] = d.template
	}
	pending := j.rolledOut[d.uid] != d.template
	i, was := j.rolling[d.uid]
	switch is := pending && !d.paused && !c.Deleted; {
	case is && !was:
		j.begin(c)
	case !is && was:
		r := &j.verdict.Rollouts[i]
		r.To, r.Ended, r.Complete = c.Revision.String(), c.Arrived, !pending
		delete(j.rolling, d.uid)
		for pair := range j.overlaps {
			if pair[0] == d.uid || pair[1] == d.uid {
				j.endOverlap(pair, c)
			}
		}
	case is && was:
		// What it has begun, it has not finished: the template of before is not rolled out any more either.
		delete(j.rolledOut, d.uid)
	}
}

func (j *replay) begin(c change) {
	d, revision := c.Object, c.Revision.String()
	for uid, i := range j.rolling {
		j.overlaps[[2]types.UID{uid, d.uid}] = openOverlap{len(j.verdict.Overlaps), c.Arrived}
		j.verdict.Overlaps = append(j.verdict.Overlaps,
			Overlap{First: j.verdict.Rollouts[i].Deployment, Second: d.key, From: revision})
	}
	j.rolling[d.uid] = len(j.verdict.Rollouts)
	j.verdict.Rollouts = append(j.verdict.Rollouts, Rollout{Deployment: d.key, From: revision, Began: c.Arrived})
}

func (j *replay) endOverlap(pair [2]types.UID, c change) {
	open := j.overlaps[pair]
	j.verdict.Overlaps[open.index].Lasted = c.Arrived.Sub(open.began)
	delete(j.overlaps, pair)
}
