package writes

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// deployments is how many roll out one at a time: each is paused and unpaused.
const deployments = 10

const groupLabel, groupSize = "podgroup.jhwagner.github.io/name", "podgroup.jhwagner.github.io/size"

func podName(i int) string { return fmt.Sprintf("p%02d", i) }

func podSpec(scheduler string) corev1.PodSpec {
	return corev1.PodSpec{
		SchedulerName: scheduler, TerminationGracePeriodSeconds: ptr.To[int64](0),
		Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}},
	}
}

func gated(_ int, pod *corev1.Pod) {
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
}

// createSequence creates pods that start one after the other.
func createSequence(scheduler string) func(*scene) error {
	return func(s *scene) error {
		sequence := &v1alpha1.PodSequence{ObjectMeta: s.meta("order")}
		for i := range many {
			sequence.Spec.PodGroups = append(sequence.Spec.PodGroups, v1alpha1.PodGroup{Pods: []string{podName(i)}})
		}
		if err := s.create(sequence); err != nil {
			return err
		}
		return s.createPods(scheduler, gated)
	}
}

// createClusterSequence is createSequence with a ClusterPodSequence.
func createClusterSequence(scheduler string) func(*scene) error {
	return func(s *scene) error {
		sequence := &v1alpha1.ClusterPodSequence{ObjectMeta: metav1.ObjectMeta{Name: s.clusterSequence()}}
		for i := range many {
			sequence.Spec.PodGroups = append(sequence.Spec.PodGroups, v1alpha1.ClusterPodGroup{
				PodGroup: v1alpha1.PodGroup{Pods: []string{podName(i)}}, Namespaces: []string{s.namespace},
			})
		}
		if err := s.create(sequence); err != nil {
			return err
		}
		return s.createPods(scheduler, gated)
	}
}

// createSequentialJobs creates so many of so many steps. Their pods succeed at once, or never end, or fail.
func createSequentialJobs(count, containers int, ttl *int32, end string) func(*scene) error {
	return func(s *scene) error {
		for i := range count {
			job := &batchapi.SequentialJob{ObjectMeta: s.meta(fmt.Sprintf("job%02d", i))}
			job.Spec.BackoffLimit, job.Spec.TTLSecondsAfterFinished = ptr.To[int32](0), ttl
			for c := range containers {
				job.Spec.Containers = append(job.Spec.Containers, corev1.Container{Name: fmt.Sprintf("c%d", c), Image: "example.com/app:1"})
			}
			annotations := map[string]string{cluster.ReadyAfter: "0s", cluster.CompleteAfter: "0s"}
			switch end {
			case "never":
				annotations[cluster.CompleteAfter] = "never"
			case "fail":
				annotations[cluster.FailAfter] = "0s"
			}
			job.Spec.Template.Annotations = annotations
			job.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](0)
			if err := s.create(job); err != nil {
				return err
			}
		}
		return nil
	}
}

func suspend(value bool) func(*scene) error {
	return func(s *scene) error { return s.patchSequentialJobs(fmt.Sprintf(`{"spec":{"suspend":%t}}`, value)) }
}

func retry(s *scene) error {
	return s.patchSequentialJobs(fmt.Sprintf(`{"metadata":{"annotations":{%q:"again"}}}`, batchapi.AnnotationRetry))
}

// createPodGroups creates groups of two.
func createPodGroups(s *scene) error {
	return s.createPods(corev1.DefaultSchedulerName, func(i int, pod *corev1.Pod) {
		const size = 2
		pod.Labels = map[string]string{groupLabel: fmt.Sprintf("group%d", i/size)}
		pod.Annotations[groupSize] = fmt.Sprint(size)
	})
}

// createDeployments creates Deployments and the coordination that makes them roll out one at a time.
func createDeployments(s *scene) error {
	for i := range deployments {
		name := fmt.Sprintf("app%02d", i)
		d := &appsv1.Deployment{ObjectMeta: s.meta(name)}
		d.Labels = map[string]string{"app": "shop"}
		d.Spec.Replicas = ptr.To[int32](1)
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"deployment": name}}
		d.Spec.Template.Labels, d.Spec.Template.Annotations = d.Spec.Selector.MatchLabels, map[string]string{cluster.ReadyAfter: "0s"}
		d.Spec.Template.Spec = podSpec(corev1.DefaultSchedulerName)
		if err := s.create(d); err != nil {
			return err
		}
	}
	return s.create(s.coordination("shop"))
}

func changeTemplates(s *scene) error {
	var list appsv1.DeploymentList
	return s.patchAll(&list, func() (objects []client.Object) {
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
		return objects
	}, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example.com/app:2"}]}}}}`)
}

// createCoordinations creates some that have nothing to do.
func createCoordinations(s *scene) error {
	for i := range many {
		if err := s.create(s.coordination(fmt.Sprintf("nothing%02d", i))); err != nil {
			return err
		}
	}
	return nil
}

func deleteCoordinations(s *scene) error {
	return s.api.DeleteAllOf(s.ctx, &appsapi.DeploymentCoordination{}, client.InNamespace(s.namespace))
}
