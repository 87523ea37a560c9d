package workloads

import (
	"fmt"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// template is of pods labelled app=APP that become ready when the test says so.
func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}, Annotations: map[string]string{cluster.ReadyAfter: "never"}},
		Spec: corev1.PodSpec{
			SchedulerName: "podsequence-scheduler", TerminationGracePeriodSeconds: new(int64),
			Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause"}},
		},
	}
}

// templateYAML is template for manifests, with an indentation of four.
const templateYAML = `
    metadata: {labels: {app: %s, version: %q}, annotations: {sandbox.podsequence.example.com/ready-after: never}}
    spec:
      schedulerName: podsequence-scheduler
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: registry.k8s.io/pause}]
`

// pods returns the pods with a label that are not being deleted.
func (s *story) pods(label, value string) (pods []corev1.Pod) {
	s.Helper()
	list := &corev1.PodList{}
	require.NoError(s, s.API.List(s.Ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels{label: value}))
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods = append(pods, list.Items[i])
		}
	}
	return pods
}

func bound(pods []corev1.Pod) (count int) {
	for i := range pods {
		if pods[i].Spec.NodeName != "" {
			count++
		}
	}
	return count
}

// awaitBound waits until so many pods with the label app=APP are there, all of them on nodes.
func (s *story) awaitBound(app string, count int) (pods []corev1.Pod) {
	s.Helper()
	s.Await(fmt.Sprintf("%d bound pods of %s", count, app), func() bool {
		pods = s.pods("app", app)
		return len(pods) == count && bound(pods) == count
	})
	return pods
}

// awaitPods waits until so many pods with the label app=APP are there.
func (s *story) awaitPods(app string, count int) (pods []corev1.Pod) {
	s.Helper()
	s.Await(fmt.Sprintf("%d pods of %s", count, app), func() bool {
		pods = s.pods("app", app)
		return len(pods) == count
	})
	return pods
}

// makeReady makes pods ready, and waits until they are.
func (s *story) makeReady(pods ...corev1.Pod) {
	s.Helper()
	for i := range pods {
		s.Annotate(s.Pod(pods[i].Name), cluster.ReadyAfter, "0s")
	}
	for i := range pods {
		s.Await(pods[i].Name+" to be ready", func() bool { return cluster.IsReady(cluster.Get(s.Story, &corev1.Pod{}, pods[i].Name)) })
	}
}

// expectHeld fails if one of the pods with the label app=APP, of which there are so many, has a node once the scheduler and the controller have
// seen all that happened to pods before.
func (s *story) expectHeld(app string, count int) {
	s.Helper()
	s.awaitPods(app, count)
	s.fence()
	assert.Zero(s, bound(s.pods("app", app)), "pods of %s that were bound before their turn", app)
}

// expectBound fails if another number of pods with the label app=APP is bound.
func (s *story) expectBound(app string, count int) {
	s.Helper()
	assert.Equal(s, count, bound(s.pods("app", app)), "bound pods of %s", app)
}

// awaitCanary waits until the only pod of a new version is bound.
func (s *story) awaitCanary() (canary corev1.Pod) {
	s.Helper()
	s.Await("a canary", func() bool {
		pods := s.pods("version", "2")
		if len(pods) == 1 {
			canary = pods[0]
		}
		return len(pods) == 1 && bound(pods) == 1
	})
	return canary
}

// fence returns when the second pod of a sequence of its own is bound.
func (s *story) fence() {
	s.Helper()
	name := fmt.Sprintf("fence-%s", s.unique())
	ps := &v1alpha1.PodSequence{ObjectMeta: s.Meta(name)}
	ps.Spec.PodGroups = []v1alpha1.PodGroup{{Pods: []string{name + "-0"}}, {Pods: []string{name + "-1"}}}
	s.Create(ps)
	for i, ready := range []string{"0s", "never"} {
		t := template(name)
		t.Annotations[cluster.ReadyAfter] = ready
		pod := s.Pod(fmt.Sprintf("%s-%d", name, i))
		pod.Labels, pod.Annotations, pod.Spec = t.Labels, t.Annotations, t.Spec
		s.Create(pod)
	}
	s.awaitBound(name, 2)
}

// unique returns a text that it has not returned before in this namespace.
func (s *story) unique() string {
	s.count++
	return fmt.Sprint(s.count)
}
