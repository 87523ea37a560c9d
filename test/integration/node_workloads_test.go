package integration

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/cluster"
)

// here is a pod of our scheduler for the story's nodes that is not ready before the test says so.
func (s *nodeStory) here(name, tier string) *st.PodWrapper {
	p := s.pod(name).Label("tier", tier).NodeSelector(map[string]string{ofStory: s.Namespace})
	p.Spec.Tolerations = []corev1.Toleration{{Key: ofStory, Operator: corev1.TolerationOpExists}}
	return p
}

// pinned is a pod for one of the story's nodes, whether that exists or not.
func (s *nodeStory) pinned(name, tier, node string) *st.PodWrapper {
	p := s.here(name, tier)
	p.Spec.NodeSelector[corev1.LabelHostname] = s.node(node)
	return p
}

func template(pod *st.PodWrapper) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: pod.Obj().Labels, Annotations: pod.Obj().Annotations}, Spec: pod.Spec,
	}
}

// daemonSet is a DaemonSet of the story's nodes. Its pods are the default scheduler's, as those of most drivers are, unless
// they come later than first.
func (s *nodeStory) daemonSet(name, tier string, changes ...func(*corev1.PodSpec)) *appsv1.DaemonSet {
	pod := s.here("", tier).Label("app", name)
	for _, change := range changes {
		change(&pod.Spec)
	}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: template(pod),
		},
	}
}

func ofDefaultScheduler(spec *corev1.PodSpec) { spec.SchedulerName = corev1.DefaultSchedulerName }

// driver is the DaemonSet of the first group.
func (s *nodeStory) driver(changes ...func(*corev1.PodSpec)) *appsv1.DaemonSet {
	return s.daemonSet("driver", "driver", append(changes, ofDefaultScheduler)...)
}

// deployment returns a Deployment with this many pods, which may go to any of the story's nodes.
func (s *nodeStory) deployment(name, tier string, replicas int32, changes ...func(*st.PodWrapper)) *appsv1.Deployment {
	pod := s.here("", tier).Label("app", name)
	for _, change := range changes {
		change(pod)
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: template(pod),
		},
	}
}

// podsOf are the pods of a workload that are not being deleted, by name.
func (s *nodeStory) podsOf(app string) map[string]*corev1.Pod {
	s.Helper()
	var list corev1.PodList
	require.NoError(s, s.API.List(s.Ctx, &list, client.InNamespace(s.Namespace), client.MatchingLabels{"app": app}))
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods[list.Items[i].Name] = &list.Items[i]
		}
	}
	return pods
}

// on is a workload's pod on a node; it waits until there is one.
func (s *nodeStory) on(app, node string) string {
	s.Helper()
	found := ""
	s.Await(fmt.Sprintf("a pod of %s on %s", app, node), func() bool {
		for name, pod := range s.podsOf(app) {
			if pod.Spec.NodeName == s.node(node) {
				found = name
				return true
			}
		}
		return false
	})
	return found
}

// heldFor is the pod of a DaemonSet that waits for a node.
func (s *nodeStory) heldFor(app, node string) string {
	s.Helper()
	for name, pod := range s.podsOf(app) {
		term := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
		if pod.Spec.NodeName == "" && term.MatchFields[0].Values[0] == s.node(node) {
			return name
		}
	}
	s.Fatalf("no pod of %s waits for %s", app, node)
	return ""
}

// startOn makes a workload's pod on each of these nodes ready.
func (s *nodeStory) startOn(app string, nodes ...string) {
	s.Helper()
	for _, node := range nodes {
		s.makeReady(s.on(app, node))
	}
}

// breakOn makes a workload's pod on a node unready.
func (s *nodeStory) breakOn(app, node string) {
	s.Helper()
	name := s.on(app, node)
	s.annotate(name, cluster.ReadyAfter, "never")
	s.Await(name+" to be unready", func() bool { return !cluster.IsReady(s.getPod(name)) })
}

// spread says on which of the story's nodes the pods of a workload are, and how many are on none.
func (s *nodeStory) spread(app string) map[string]int {
	s.Helper()
	spread := map[string]int{}
	for _, pod := range s.podsOf(app) {
		spread[strings.TrimPrefix(pod.Spec.NodeName, s.Namespace+"-")]++
	}
	return spread
}

// awaitSpread waits until the pods of a workload are where they should be: "" is no node.
func (s *nodeStory) awaitSpread(app string, want map[string]int) {
	s.Helper()
	cluster.Eventually(s, "the pods of "+app+" to be where they should be", func() error {
		if spread := s.spread(app); !assert.ObjectsAreEqual(want, spread) {
			return fmt.Errorf("want %v, they are on %v", want, spread)
		}
		return nil
	})
}

// expectSpread says where the pods of a workload are when there are as many as there should be, and everything that
// happened up to then has been dealt with.
func (s *nodeStory) expectSpread(app string, want map[string]int) {
	s.Helper()
	count := 0
	for _, pods := range want {
		count += pods
	}
	s.Await(fmt.Sprintf("%s to have %d pods", app, count), func() bool { return len(s.podsOf(app)) == count })
	s.fenceNodes()
	assert.Equal(s, want, s.spread(app), "the nodes of the pods of %s", app)
}

// expectUnplaced says that the scheduler has dealt with everything that happened so far, and that these pods are on no node.
func (s *nodeStory) expectUnplaced(names ...string) {
	s.Helper()
	s.fenceNodes()
	for _, name := range names {
		assert.Empty(s, s.getPod(name).Spec.NodeName, "%s is bound, should be on no node", name)
	}
}
