package real

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"example.com/podsequence/tools/sandbox/containerlogs"
)

// Labels of pod groups.
const (
	groupName  = "podgroup.jhwagner.github.io/name"
	groupReady = "podgroup.jhwagner.github.io/ready"
)

func TestAGangStartsAfterWhatItNeedsAndIsLabelledWhenAllOfItRuns(t *testing.T) {
	const size = 4
	s := newStory(t)
	group := &schedulingv1beta1.PodGroup{ObjectMeta: s.Meta("training")}
	group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: size}
	job := &batchv1.Job{ObjectMeta: s.Meta("training")}
	job.Spec.Parallelism, job.Spec.Completions = new(int32(size)), new(int32(size))
	_, job.Spec.Template = template("worker", probed(workload("serve")))
	job.Spec.Template.Labels[groupName] = "training"
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job.Spec.Template.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group.Name}
	s.Create(
		s.sequence("run").Label("Storage", app, "storage").Label("Gang", app, "worker").Label("Collector", app, "collector").Obj(),
		group, job,
		s.deployment("collector", 1, probed(workload("serve"))),
		s.deployment("storage", 1, probed(workload("-ready-after", "3s", "serve"))),
	)
	var first time.Time
	s.Await("every pod of the gang to be labelled", func() bool {
		labelled := 0
		for _, pod := range s.pods("training-") {
			if pod.Labels[groupReady] == "true" {
				labelled++
			}
		}
		if labelled > 0 && first.IsZero() {
			first = time.Now()
		}
		return labelled == size
	})
	started := s.awaitSaid(size, containerlogs.Of("training-"), containerlogs.Saying(containerlogs.Started))
	assert.Empty(s, started.Where(containerlogs.Since(first)), "the gang was labelled before all of it ran")
	s.awaitReady("collector-", 1)
	s.expectOrder("storage-", "training-")
	s.expectOrder("training-", "collector-")
}
