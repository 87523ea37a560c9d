package podgroup

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestWorkloadOf(t *testing.T) {
	job := func(parallelism, completions *int32) *batchv1.Job {
		return &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: parallelism, Completions: completions}}
	}
	complete := job(new(int32(2)), new(int32(2)))
	complete.Status.Succeeded = 2
	complete.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	leaving := job(new(int32(2)), nil)
	leaving.DeletionTimestamp = &metav1.Time{}
	nightly := job(nil, nil)
	nightly.Name, nightly.CreationTimestamp = "nightly-1", metav1.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	nightly.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", UID: "cron", Controller: new(true)}}
	for name, tc := range map[string]struct {
		object client.Object
		want   workload
		none   bool
	}{
		"a Job by default":                        {object: job(nil, nil), want: workload{desired: 1}},
		"a Job that runs some at a time":          {object: job(new(int32(4)), nil), want: workload{desired: 4}},
		"a Job that wants more than run at once":  {object: job(new(int32(4)), new(int32(9))), want: workload{desired: 4}},
		"a Job that wants fewer than may run":     {object: job(new(int32(9)), new(int32(4))), want: workload{desired: 4}},
		"a Job that is complete":                  {object: complete, want: workload{desired: 2, succeeded: 2, complete: true}},
		"a Job on its way out":                    {object: leaving, none: true},
		"a Job of a CronJob":                      {object: nightly, want: workload{desired: 1, cronJob: "cron", made: "2026-11-21T03:00:00Z nightly-1"}},
		"a StatefulSet by default":                {object: &appsv1.StatefulSet{}, want: workload{desired: 1}},
		"a StatefulSet":                           {object: &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))}}, want: workload{desired: 3}},
		"a ReplicaSet":                            {object: &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3))}}, want: workload{desired: 3}},
		"something else, whose size is not known": {object: &appsv1.DaemonSet{}, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := workloadOf(tc.object)
			assert.Equal(t, !tc.none, ok)
			if ok {
				assert.Equal(t, tc.want, got)
			}
		})
	}
}
