package deploymentcoordination

import (
	"time"

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
