package kubectl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

// awaitSaid waits until the command prints all of these lines, in this order.
func (s *story) awaitSaid(args []string, want ...string) (stdout string) {
	s.Helper()
	cluster.Eventually(s, "the command to say what it must", func() error {
		stdout, _ = s.Says(args...)
		rest := stdout
		for _, line := range want {
			_, after, found := strings.Cut(rest, line)
			if !found {
				return fmt.Errorf("%q is not in its place in\n%s", line, stdout)
			}
			rest = after
		}
		return nil
	})
	return stdout
}

// On each node by itself: the pod that runs nowhere yet names the nodes that it waits for, and the driver that is not ready there.
func TestWhyOnEachNodeByItself(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	s.Kubeconfig = s.Cluster.Kubeconfig() // nodes are read by those who run the cluster
	driver := &appsv1.DaemonSet{ObjectMeta: s.Meta("driver"), Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "driver"}}, Template: s.template("driver"),
	}}
	driver.Spec.Template.Annotations = map[string]string{cluster.ReadyAfter: "never"}
	s.Create(MakeSequence(s.Namespace, "storage").NodeScope().Label("Driver", "tier", "driver").Label("Applications", "tier", "app").Obj(), driver)
	s.Await("a driver on each node", func() bool {
		return cluster.Get(s.Story, &appsv1.DaemonSet{}, "driver").Status.CurrentNumberScheduled == 2
	})
	s.Create(s.pod("app", "app"))
	s.awaitTried("app")

	s.awaitSaid([]string{"-n", s.Namespace, "why", "app"},
		"pod app: not scheduled: Unschedulable: 0/2 nodes are available: 2 node(s) waiting for group 1/2", "node node-0: waits for group 1/2 \"Driver\"",
		"pod driver-", "on node node-0", "node node-1: waits for group 1/2 \"Driver\"", "pod driver-", "on node node-1")
	s.awaitSaid([]string{"-n", s.Namespace, "tree", "storage"}, "group 1/2 \"Driver\"", "DaemonSet driver   0/2", "group 2/2 \"Applications\"", "pod app: not scheduled")

	s.Annotate(s.driverOn("node-1"), cluster.ReadyAfter, "0s")
	s.awaitReady("app")
	assert.Equal(t, "node-1", cluster.Get(s.Story, &corev1.Pod{}, "app").Spec.NodeName)
	stdout := s.awaitSaid([]string{"-n", s.Namespace, "timeline", "storage"}, "1 Driver", "node-0", "1 Driver", "node-1", "2 Applications", "app", "node-1")
	assert.NotContains(t, stdout, "Critical path", "each node has an order of its own")
}

// awaitTried waits until a scheduler has found no node for the pod.
func (s *story) awaitTried(name string) {
	s.Helper()
	s.Await(name+" to be unschedulable", func() bool {
		return slices.ContainsFunc(cluster.Get(s.Story, &corev1.Pod{}, name).Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
		})
	})
}

// driverOn returns the pod of the driver on a node.
func (s *story) driverOn(node string) *corev1.Pod {
	s.Helper()
	var found *corev1.Pod
	s.Await("the driver on "+node, func() bool {
		var pods corev1.PodList
		require.NoError(s, s.API.List(s.Ctx, &pods, client.InNamespace(s.Namespace)))
		for i := range pods.Items {
			if pod := &pods.Items[i]; pod.Labels["tier"] == "driver" && pod.Spec.NodeName == node {
				found = pod
			}
		}
		return found != nil
	})
	return found
}

// A quota refuses pods: nobody can look at them, for they do not exist.
func TestWhyOfPodsThatAQuotaRefuses(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	quota := &corev1.ResourceQuota{ObjectMeta: s.Meta("few"), Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")},
	}}
	s.Create(MakeSequence(s.Namespace, "backend").Label("Services", "tier", "services").Label("Frontend", "tier", "web").Obj(), s.pod("web", "web"), quota)
	s.Await("the quota to be enforced", func() bool {
		used := cluster.Get(s.Story, &corev1.ResourceQuota{}, "few").Status.Used[corev1.ResourcePods]
		return used.Value() == 1
	})
	s.Create(s.deployment("api", "services", 2))

	s.awaitSaid([]string{"why", "web"}, "pod web: held in group 2/2", "group 1/2 \"Services\"", "1 of 2 pods ready",
		"Deployment api: cannot create its pods: ", "exceeded quota: few")
	s.awaitSaid([]string{"why", "deployment/api"}, "Deployment api: ", "cannot create its pods: ", "exceeded quota: few")
	s.awaitSaid([]string{"tree", "backend"}, "Deployment api   1/2", "pod api-", "has been ready on node", "pod web: held")
	s.awaitSaid([]string{"timeline", "backend"}, "not all ready after", "1 Services", "api-", "2 Frontend", "web")
}

// A gang is placed as a whole, so the scheduler may wait for a member that a sequence holds.
func TestWhyOfAGang(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	inGang := func(pod *corev1.Pod) *corev1.Pod {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("gang")}
		return pod
	}
	s.Create(&schedulingv1beta1.PodGroup{ObjectMeta: s.Meta("gang"), Spec: schedulingv1beta1.PodGroupSpec{
		SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2}},
	}})
	s.Create(MakeSequence(s.Namespace, "training").Label("Data", "tier", "data").Label("Leader", "tier", "leader").MinAvailable("1").Obj(),
		unready(s.pod("data", "data")), inGang(s.pod("leader", "leader")))
	s.awaitHeld("leader")
	s.Create(inGang(s.pod("worker", "worker")))

	s.awaitSaid([]string{"why", "leader"}, "pod leader: held in group 2/2 \"Leader\"", "group 1/2 \"Data\"", "pod data: on node")
	s.Kubeconfig = s.Cluster.Kubeconfig()
	s.awaitSaid([]string{"-n", s.Namespace, "why", "worker"}, "pod worker: not scheduled",
		"PodGroup gang: it is scheduled as a whole: it needs 2 pods, 2 exist, 0 have a node", "pod leader: held in group 2/2 \"Leader\"", "group 1/2 \"Data\"")

	s.Annotate(s.Pod("data"), cluster.ReadyAfter, "0s")
	s.awaitReady("leader")
	s.awaitReady("worker")
	s.awaitSaid([]string{"-n", s.Namespace, "timeline", "training"}, " all ready after", "* data", "* leader")
}
