package main

import (
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
)

const (
	// coordinated is how many Deployments of the tenant's roll out in turn.
	coordinated = 3
	// roundAnnotation of a pod template says for which of the rollouts it was changed.
	roundAnnotation = "bench.podsequence.example.com/round"
)

// rolloutWatch counts the Deployments that have been given their turn in a round, and those that have ended it.
type rolloutWatch struct {
	lock      sync.Mutex
	round     int // the newest that has begun
	begun     map[string]int
	finished  map[string]int
	nBegun    map[int]int
	nFinished map[int]int
}

func newRolloutWatch() rolloutWatch {
	return rolloutWatch{begun: map[string]int{}, finished: map[string]int{}, nBegun: map[int]int{}, nFinished: map[int]int{}}
}

// The names of what is seen of a round: its i-th Deployment has its turn, or has rolled out.
func begun(round, i int) string    { return fmt.Sprintf("round %d: begun %d", round, i) }
func finished(round, i int) string { return fmt.Sprintf("round %d: finished %d", round, i) }

func rolledOut(d *appsv1.Deployment) bool {
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == *d.Spec.Replicas &&
		s.Replicas == s.UpdatedReplicas && s.AvailableReplicas == s.UpdatedReplicas
}
