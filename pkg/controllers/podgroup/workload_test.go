package podgroup

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestWorkloadOf(t *testing.T) {
	at := func(second int64) metav1.Time { return metav1.Unix(second, 0) }
	job := func(parallelism, completions *int32) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: "1", Name: "work", CreationTimestamp: at(5)}, Spec: batchv1.JobSpec{Parallelism: parallelism, Completions: completions}}
	}
	complete := job(new(int32(2)), new(int32(2)))
	complete.Status.Succeeded = 2
	complete.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: at(9)}}
	failed := job(nil, nil)
	failed.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, LastTransitionTime: at(7)},
		{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: at(9)},
	}
	owned := job(nil, nil)
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch.example.com/v1alpha1", Kind: "SequentialJob", UID: "set", Controller: new(true)}}
	ofSet := jobOfSet("1", 1)
	ofSet.Name, ofSet.CreationTimestamp = "work", at(5)
	leaving := job(new(int32(2)), nil)
	leaving.DeletionTimestamp = &metav1.Time{}
	nightly := job(nil, nil)
	nightly.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", UID: "cron", Controller: new(true)}}
	set := func(object client.Object) client.Object {
		object.SetUID("1")
		object.SetName("work")
		object.SetCreationTimestamp(at(5))
		return object
	}
	for name, tc := range map[string]struct {
		object client.Object
		want   workload
		none   bool
	}{
		"a Job by default":                        {object: job(nil, nil), want: workload{desired: 1}},
		"a Job that runs some at a time":          {object: job(new(int32(4)), nil), want: workload{desired: 4}},
		"a Job that wants more than run at once":  {object: job(new(int32(4)), new(int32(9))), want: workload{desired: 4, completions: 9}},
		"a Job that wants fewer than may run":     {object: job(new(int32(9)), new(int32(4))), want: workload{desired: 4, completions: 4}},
		"a Job that is complete":                  {object: complete, want: workload{desired: 2, completions: 2, succeeded: 2, complete: true, ended: 9}},
		"a Job that failed":                       {object: failed, want: workload{desired: 1, failed: true, ended: 9}},
		"a Job on its way out":                    {object: leaving, none: true},
		"a Job of a CronJob":                      {object: nightly, want: workload{desired: 1, cronJob: "cron"}},
		"a Job of another owner":                  {object: owned, want: workload{desired: 1, run: "set"}},
		"a Job of a JobSet":                       {object: ofSet, want: workload{desired: 1, run: "set", jobSet: jobSet{uid: "set", jobs: 5, replicated: "workers", replicas: 4}}},
		"a StatefulSet by default":                {object: set(&appsv1.StatefulSet{}), want: workload{name: "StatefulSet work", desired: 1}},
		"a StatefulSet":                           {object: set(&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))}}), want: workload{name: "StatefulSet work", desired: 3}},
		"a ReplicaSet":                            {object: set(&appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3))}}), want: workload{name: "ReplicaSet work", desired: 3}},
		"something else, whose size is not known": {object: set(&appsv1.DaemonSet{}), none: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := workloadOf(tc.object)
			assert.Equal(t, !tc.none, ok)
			if ok {
				want := tc.want
				want.uid, want.created = "1", 5
				if want.name == "" {
					want.name, want.run = "Job work", cmp.Or(want.run, "1")
				}
				assert.Equal(t, want, got)
			}
		})
	}
}

func TestCountIndexes(t *testing.T) {
	for text, want := range map[string]int{"": 0, "7": 1, "1,3": 2, "1,3-5": 4, "0-9,11": 11, "5-3": 0, "many": 0} {
		assert.Equal(t, want, countIndexes(text), text)
	}
}
