package workloads

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

// jobs creates Jobs of a JobSet as its controller does, each of one pod labelled app=APP. The attempt is part of their pods' labels: when a Job
// fails, the controller deletes all Jobs and creates them again.
func (s *story) jobs(owner client.Object, app string, count, attempt int, annotations map[string]string) {
	s.Helper()
	gvk, err := s.API.GroupVersionKindFor(owner)
	if err != nil {
		s.Fatal(err)
	}
	for i := range count {
		job := &batchv1.Job{ObjectMeta: s.Meta(fmt.Sprintf("%s-%s-%d", owner.GetName(), app, i))}
		job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, gvk)}
		job.Spec.BackoffLimit = new(int32)
		job.Spec.Template = template(app)
		job.Spec.Template.Labels["attempt"] = fmt.Sprint(attempt)
		job.Spec.Template.Annotations = annotations
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		s.AwaitCreated(job) // its name may still be taken by the one before
	}
}

func (s *story) phase(phase v1alpha1.Phase) {
	s.Helper()
	s.Await(fmt.Sprintf("phase %s", phase), func() bool {
		return cluster.Get(s.Story, &v1alpha1.PodSequence{}, "shop").Status.Phase == phase
	})
}

func TestAJobSetThatRestartsIsWaitedFor(t *testing.T) {
	s := newStory(t)
	ps := MakeSequence(s.Namespace, "shop").
		Label("Driver", "app", "driver").Label("Workers", "app", "worker").Complete().Label("Report", "app", "report").Obj()
	ps.Spec.PodGroups[0].ExpectedPods, ps.Spec.PodGroups[1].ExpectedPods = 1, 2
	s.Create(ps)
	s.podsOf("report", 1)
	set := s.ofKind("jobset.x-k8s.io/v1alpha2", "JobSet", "train")
	s.Create(set)
	lasts := map[string]string{cluster.CompleteAfter: "never", cluster.ReadyAfter: "0s"}
	s.jobs(set, "driver", 1, 0, lasts)
	s.awaitBound("driver", 1)
	s.jobs(set, "worker", 2, 0, map[string]string{cluster.FailAfter: "0s"})
	s.phase(v1alpha1.PhaseFailed)
	s.expectHeld("report", 1)

	for _, name := range []string{"train-driver-0", "train-worker-0", "train-worker-1"} {
		job := &batchv1.Job{ObjectMeta: s.Meta(name)}
		if err := s.API.Delete(s.Ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			s.Fatal(err)
		}
	}
	s.jobs(set, "driver", 1, 1, lasts)
	s.jobs(set, "worker", 2, 1, map[string]string{cluster.CompleteAfter: "0s"})
	s.awaitBound("report", 1)
}
