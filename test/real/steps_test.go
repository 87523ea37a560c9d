package real

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/containerlogs"
)

// step is a container of a SequentialJob. Without a command, a shell would get the args.
func step(name string, args ...string) corev1.Container {
	container := workload(args...)
	container.Name, container.Command = name, []string{"/workload"}
	return container
}

// steps is a SequentialJob that does not try again.
func (s *story) steps(name string, containers ...corev1.Container) *batchapi.SequentialJob {
	job := &batchapi.SequentialJob{ObjectMeta: s.Meta(name)}
	job.Spec.Containers, job.Spec.BackoffLimit = containers, new(int32(0))
	return job
}

// of selects the lines of a step.
func of(job, step string) containerlogs.Condition {
	return func(l containerlogs.Line) bool { return containerlogs.Of(job)(l) && l.Container == step }
}

func (s *story) awaitJob(name string, phase batchapi.Phase) *batchapi.SequentialJob {
	s.Helper()
	job := &batchapi.SequentialJob{}
	cluster.Eventually(s, fmt.Sprintf("%s to be %s", name, phase), func() error {
		if job = cluster.Get(s.Story, &batchapi.SequentialJob{}, name); job.Status.Phase != phase {
			return fmt.Errorf("it is %s: %s", job.Status.Phase, job.Status.Message)
		}
		return nil
	})
	return job
}

func TestStepsThatShareAVolumeRunOneAfterTheOther(t *testing.T) {
	s := newStory(t)
	const file = "/shared/result"
	job := s.steps("etl", step("extract", "-file", file, "-text", s.Namespace, "write"), step("pause", "-exit-after", "2s", "exit"),
		step("load", "-file", file, "-text", s.Namespace, "read"))
	// Each step has a pod of its own, so an emptyDir would not do.
	job.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "work", VolumeSource: s.volume("work")}}
	job.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: nodes[0]}
	for i := range job.Spec.Containers {
		job.Spec.Containers[i].VolumeMounts = []corev1.VolumeMount{{Name: "work", MountPath: "/shared"}}
	}
	s.Create(job)
	s.awaitJob("etl", batchapi.PhaseSucceeded)
	said := s.said()
	for i, name := range []string{"extract", "pause", "load"} {
		exits := said.Where(of("etl", name), containerlogs.Saying(containerlogs.Exit))
		require.Len(s, exits, 1)
		assert.Equal(s, "EXIT 0", exits[0].Text)
		if i > 0 {
			before := said.Where(of("etl", []string{"extract", "pause", "load"}[i-1]), containerlogs.Saying(containerlogs.Exit))
			started := said.Where(of("etl", name), containerlogs.Saying(containerlogs.Started))
			require.Len(s, started, 1)
			assert.False(s, started[0].Time.Before(before[0].Time), "%s started before the step ahead of it exited", name)
		}
	}
	assert.Contains(s, said.String(), "READ "+s.Namespace)
}

// volume creates a volume in the memory of the first node, and a claim of the story that is bound to it.
func (s *story) volume(name string) corev1.VolumeSource {
	s.Helper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-" + name}}
	volume.Spec.Capacity, volume.Spec.AccessModes = size, modes
	volume.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/run/" + s.Namespace, Type: new(corev1.HostPathDirectoryOrCreate)}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: s.Meta(name)}
	claim.Spec.AccessModes, claim.Spec.Resources.Requests = modes, size
	claim.Spec.VolumeName, claim.Spec.StorageClassName = volume.Name, new("")
	s.Create(volume, claim)
	s.Cleanup(func() { assert.NoError(s, s.API.Delete(context.Background(), volume)) })
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

func TestNoStepFollowsOneThatFails(t *testing.T) {
	s := newStory(t)
	hungry := step("bad", "fill")
	hungry.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
	absent := step("bad", "serve")
	absent.Image = "localhost/podsequence/absent:1"
	s.Create(
		s.steps("exits", step("good", "exit"), step("bad", "-code", "1", "exit"), step("never", "exit")),
		s.steps("grows", step("good", "exit"), hungry, step("never", "exit")),
		s.steps("lacks", step("good", "exit"), absent, step("never", "exit")),
	)
	for _, name := range []string{"exits", "grows"} {
		job := s.awaitJob(name, batchapi.PhaseFailed)
		assert.Equal(s, new(int32(1)), job.Status.Progress.FailedIndex, "the step that failed")
	}
	s.awaitState("grows", "it to be killed for its memory", func(state corev1.ContainerState) bool {
		return state.Terminated != nil && state.Terminated.Reason == "OOMKilled"
	})
	s.awaitState("lacks", "its image to be missing", func(state corev1.ContainerState) bool {
		return state.Waiting != nil && state.Waiting.Reason == "ImagePullBackOff"
	})
	s.awaitJob("lacks", batchapi.PhasePending)
	for _, name := range []string{"exits", "grows", "lacks"} {
		assert.Len(s, s.said().Where(of(name, "good"), containerlogs.Saying(containerlogs.Exit)), 1)
		assert.Empty(s, s.said().Where(of(name, "never")))
	}
	s.Delete(&batchapi.SequentialJob{ObjectMeta: s.Meta("lacks")}) // its pod would keep the kubelet trying
}

// awaitState waits until the container of the step bad is in a state.
func (s *story) awaitState(job, what string, is func(corev1.ContainerState) bool) {
	s.Helper()
	s.Await(what, func() bool {
		for _, pod := range s.pods(job) {
			for _, c := range pod.Status.ContainerStatuses {
				if c.Name == "bad" && is(c.State) {
					return true
				}
			}
		}
		return false
	})
}
