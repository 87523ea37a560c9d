package podgroup

import (
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The labels by which a JobSet says on each of its Jobs of how many that is one.
const (
	replicatedJobLabel         = "jobset.sigs.k8s.io/replicatedjob-name"
	replicatedJobReplicasLabel = "jobset.sigs.k8s.io/replicatedjob-replicas"
	globalReplicasLabel        = "jobset.sigs.k8s.io/global-replicas"
)

// jobSet is what a Job says of the JobSet that it is a part of.
type jobSet struct {
	uid        types.UID // empty if it is a part of none
	jobs       int       // how many Jobs it has in all; 0 if that is not known
	replicated string    // the name of the replicated Job, of which there are
	replicas   int
}

func jobSetOf(job *batchv1.Job) jobSet {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil || owner.Kind != "JobSet" || !strings.HasPrefix(owner.APIVersion, "jobset.x-k8s.io/") {
		return jobSet{}
	}
	number := func(label string) int {
		n, err := strconv.ParseInt(job.Labels[label], 10, 32)
		if err != nil {
			return 0
		}
		return int(n)
	}
	return jobSet{
		uid: owner.UID, jobs: number(globalReplicasLabel),
		replicated: job.Labels[replicatedJobLabel], replicas: number(replicatedJobReplicasLabel),
	}
}
