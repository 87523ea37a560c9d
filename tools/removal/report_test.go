package removal

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"example.com/podsequence/tools/holds"
)

func TestPodsThatAPolicyGaveToPodSequence(t *testing.T) {
	const gate = "podsequence.example.com/sequence-gate"
	byGate, byScheduler := holds.Hold{Gates: gate}, holds.Hold{Scheduler: "podsequence-scheduler"}
	web := holds.Workload{Kind: "deployment", Namespace: "shop", Name: "web"}
	for name, tc := range map[string]struct {
		owner     holds.Workload
		hold      holds.Hold
		templates map[holds.Workload]holds.Hold
		want      string
	}{
		"are deleted, for their template needs no change": {web, byScheduler, map[holds.Workload]holds.Hold{web: {}},
			"kubectl delete pod --ignore-not-found -n shop a b"},
		"only lose the gate that a policy added": {web, byGate, map[holds.Workload]holds.Hold{web: {}},
			`kubectl patch pod -n shop a b -p '{"spec":{"schedulingGates":[{"$patch":"delete","name":"` + gate + `"}]}}'`},
		"need a change of the template if it has the gate, although theirs was lifted": {web, byScheduler, map[holds.Workload]holds.Hold{web: byGate},
			`kubectl patch deployment -n shop web -p '{"spec":{"template":{"spec":{"schedulerName":"default-scheduler",` +
				`"schedulingGates":[{"$patch":"delete","name":"` + gate + `"}]}}}}'`},
		"are as those of every template that is not known": {web, byScheduler, nil,
			`kubectl patch deployment -n shop web -p '{"spec":{"template":{"spec":{"schedulerName":"default-scheduler"}}}}'`},
		"of a Job are created anew with it, for a pod that is deleted counts as failed": {
			holds.Workload{Kind: "job", Namespace: "shop", Name: "import"}, byScheduler,
			map[holds.Workload]holds.Hold{{Kind: "job", Namespace: "shop", Name: "import"}: {}},
			`kubectl get job -n shop import -o yaml | kubectl patch --local -f - -o yaml -p '{"spec":{"selector":null,"template":{` +
				`"metadata":{"labels":{"batch.kubernetes.io/controller-uid":null,"controller-uid":null}},` +
				`"spec":{"schedulerName":"default-scheduler"}}}}' | kubectl replace --force -f -`},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, podCommand(podGroup{tc.owner, tc.hold}, tc.templates, []string{"a", "b"}))
		})
	}
}

func TestWorkloadsThatHaveYetToCreatePodsAreListed(t *testing.T) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{SchedulerName: "podsequence-scheduler"}}
	ownedBy := func(apiVersion, kind, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "shop", Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: apiVersion, Kind: kind, Name: "owner", UID: "1", Controller: new(true)},
		}}
	}
	job := func(name string, completions *int32, status batchv1.JobStatus) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec: batchv1.JobSpec{Completions: completions, Parallelism: new(int32(2)), Template: template}, Status: status}
	}
	suspended := job("suspended", new(int32(1)), batchv1.JobStatus{})
	suspended.Spec.Suspend = new(true)
	failed := []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	r, out := newRemover(interceptor.Funcs{},
		job("two-of-ten-run", new(int32(10)), batchv1.JobStatus{Active: 2}), job("the-last-runs", new(int32(10)), batchv1.JobStatus{Active: 1, Succeeded: 9}),
		job("failed-early", new(int32(10)), batchv1.JobStatus{Conditions: failed}), suspended,
		job("queue-starts", nil, batchv1.JobStatus{Active: 1}), job("queue-ends", nil, batchv1.JobStatus{Active: 1, Succeeded: 1}),
		&appsv1.StatefulSet{ObjectMeta: ownedBy("kafka.example.com/v1", "Kafka", "of-an-operator"), Spec: appsv1.StatefulSetSpec{Template: template}},
		&appsv1.ReplicaSet{ObjectMeta: ownedBy("rollouts.example.com/v1", "Rollout", "of-a-rollout"), Spec: appsv1.ReplicaSetSpec{Template: template}},
		&appsv1.ReplicaSet{ObjectMeta: ownedBy("apps/v1", "Deployment", "of-a-deployment"), Spec: appsv1.ReplicaSetSpec{Template: template}})
	require.NoError(t, r.reportTemplates(t.Context(), []string{"podsequence-scheduler"}, nil))
	for _, listed := range []string{"job/two-of-ten-run", "job/suspended", "job/queue-starts", "statefulset/of-an-operator", "replicaset/of-a-rollout"} {
		assert.Contains(t, out.String(), listed+" ")
	}
	assert.Contains(t, out.String(), "Pods that 5 workloads create from now on")
	assert.Contains(t, out.String(), "repeats what it has completed")
	assert.NotContains(t, out.String(), "kubectl patch statefulset -n shop of-an-operator", "its owner would undo it")
	assert.Contains(t, out.String(), "kafka/owner in namespace shop, for statefulset/of-an-operator")
}
