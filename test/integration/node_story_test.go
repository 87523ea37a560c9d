package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

// ofStory is the label of a story's own nodes, and the taint that keeps the pods of other stories away from them.
const ofStory = "example.com/story"

// nodeStory is a story that has nodes of its own. They are named for people by one letter or word; their names in the
// cluster begin with the story's namespace.
type nodeStory struct {
	*story
	nodes []string
}

// newNodeStory begins a story with these nodes, in zones of their own.
func newNodeStory(t testing.TB, nodes ...string) *nodeStory {
	return newNodeStoryIn(t, shared, nodes...)
}

func newNodeStoryIn(t testing.TB, env *environment, nodes ...string) *nodeStory {
	t.Helper()
	s := &nodeStory{}
	t.Cleanup(func() { // after the story's own clean-up, and so after the verdict
		for _, name := range s.nodes {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.node(name)}}
			assert.NoError(t, client.IgnoreNotFound(s.API.Delete(context.Background(), node)))
		}
	})
	s.story = newStoryIn(t, env)
	for _, name := range nodes {
		s.addNode(name)
	}
	for _, name := range nodes {
		s.awaitTakesPods(name)
	}
	return s
}

// node is the name that the node has in the cluster.
func (s *nodeStory) node(name string) string { return s.Namespace + "-" + name }

// addNode creates a node that the simulated kubelet runs.
func (s *nodeStory) addNode(name string, changes ...func(*corev1.Node)) {
	s.Helper()
	capacity := corev1.ResourceList{}
	for name, quantity := range map[corev1.ResourceName]string{"cpu": "4", "memory": "16Gi", "pods": "100"} {
		capacity[name] = resource.MustParse(quantity)
	}
	full := s.node(name)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: full,
			Labels: map[string]string{
				corev1.LabelHostname: full, corev1.LabelTopologyZone: "zone-" + name, ofStory: s.Namespace,
			},
			Annotations: map[string]string{managedByKwok: "fake"},
		},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: ofStory, Value: s.Namespace, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
	for _, change := range changes {
		change(node)
	}
	s.Create(node)
	s.nodes = append(s.nodes, name)
}

// managedByKwok makes the simulated kubelet run a node.
const managedByKwok = "kwok.x-k8s.io/node"

func labelled(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func tainted(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func (s *nodeStory) getNode(name string) *corev1.Node {
	s.Helper()
	node := &corev1.Node{}
	require.NoError(s, s.API.Get(s.Ctx, types.NamespacedName{Name: s.node(name)}, node))
	return node
}

func (s *nodeStory) changeNode(name string, change func(*corev1.Node)) {
	s.Helper()
	cluster.Change(s.Story, s.getNode(name), change)
}

// awaitTakesPods waits until the node is ready, and the taint that says it is not has gone.
func (s *nodeStory) awaitTakesPods(name string) {
	s.Helper()
	s.Await(name+" to take pods", func() bool {
		node := s.getNode(name)
		for _, taint := range node.Spec.Taints {
			if taint.Key == corev1.TaintNodeNotReady {
				return false
			}
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c.Status == corev1.ConditionTrue
			}
		}
		return false
	})
}

// perNode begins a PodSequence of node scope.
func (s *nodeStory) perNode(name string) *SequenceWrapper {
	return s.sequence(name).NodeScope()
}

// driverThenApp is the sequence that most stories tell of.
func (s *nodeStory) driverThenApp() *SequenceWrapper {
	return s.perNode("storage").Label("Driver", "tier", "driver").Label("Application", "tier", "app")
}

// awaitUnschedulable waits until the scheduler has tried to place the pod and says why it cannot, as autoscalers need it.
func (s *nodeStory) awaitUnschedulable(name string, says ...string) {
	s.Helper()
	cluster.Eventually(s, name+" to be unschedulable", func() error {
		pod := s.getPod(name)
		require.Empty(s, pod.Spec.NodeName, "%s is bound, should be unschedulable", name)
		for _, c := range pod.Status.Conditions {
			if c.Type != corev1.PodScheduled {
				continue
			}
			missing := slices.ContainsFunc(says, func(text string) bool { return !strings.Contains(c.Message, text) })
			if missing || c.Reason != corev1.PodReasonUnschedulable {
				return fmt.Errorf("want %q; it says %s: %s", says, c.Reason, c.Message)
			}
			return nil
		}
		return fmt.Errorf("it says nothing")
	})
}

// fenceNodes is a fence of the scheduler for what happened to pods, nodes and DaemonSets, which come by watches of their own:
// one pod waits for a change of a node, and one for a DaemonSet that expects no pods. For want of a node it would satisfy nobody but for minAvailable.
func (s *nodeStory) fenceNodes() {
	s.Helper()
	s.fences++
	name := fmt.Sprintf("fence-%d", s.fences)
	skipped := s.perNode(name+"-node").Label("Nowhere", "tier", "nowhere").NodeSelector("example.com/nowhere", "").Pods("", name+"-host")
	s.Create(skipped.Obj(), s.sequence(name+"-daemon").Label("", "app", name).MinAvailable("0").Pods("", name+"-waits").Obj())

	host := s.pinned(name+"-host", "fence", name)
	host.Spec.NodeSelector[ofStory] = "fence"
	s.createPods(s.pod(name+"-waits"), host)
	if !slices.Contains(s.nodes, "fence") {
		s.addNode("fence", labelled(ofStory, "fence"))
	}
	s.changeNode("fence", labelled(corev1.LabelHostname, s.node(name)))
	empty := s.daemonSet(name, "fence")
	empty.Spec.Template.Spec.NodeSelector = map[string]string{"example.com/nowhere": ""}
	s.Create(empty)
	s.awaitBound(name+"-host", name+"-waits")
}
