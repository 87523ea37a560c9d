package autoscaler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

const (
	ourScheduler = "podsequence-scheduler"
	tier         = "tier"
	driverTaint  = "example.com/driver-is-starting"
)

// way is how a story keeps applications from nodes whose driver is not ready.
type way string

const (
	byPodSequence way = "PodSequence"
	// byStartupTaint is what people use without PodSequence: each new node has a taint, which the driver removes once it is ready.
	byStartupTaint way = "startup taint"
)

// inBothWays tells a story twice.
func inBothWays(t *testing.T, tell func(t *testing.T, by way)) {
	t.Parallel()
	for _, by := range []way{byPodSequence, byStartupTaint} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			tell(t, by)
		})
	}
}

// story is one test: a namespace, a NodePool of the same name, and a driver that applications need on each node.
type story struct {
	*cluster.Story
	by     way
	pool   pool
	began  time.Time
	fences int
}

func newStory(t *testing.T, by way, nodes pool) *story {
	t.Helper()
	s := &story{Story: cluster.NewStory(t, shared.Cluster), by: by}
	t.Cleanup(s.expectNoEarlyBindings)
	nodes.name = s.Namespace
	if by == byStartupTaint {
		nodes.startupTaint = driverTaint
	}
	require.NoError(t, shared.apply(nodes.manifest()))
	t.Cleanup(func() {
		assert.NoError(t, shared.apply("", "delete", "nodepool", nodes.name, "--wait=false"))
	})
	s.pool = nodes
	s.Create(s.driver())
	if by == byPodSequence {
		s.Create(s.driverThenApp().Obj())
	}
	s.began = time.Now()
	return s
}

// driverThenApp is the order on each node.
func (s *story) driverThenApp() *SequenceWrapper {
	return s.sequence("node").NodeScope().
		Label("Driver", tier, "driver").NodeSelector(poolLabel, s.Namespace).Label("Application", tier, "app")
}

// expectNoEarlyBindings checks that the referee saw no pod bound too early.
func (s *story) expectNoEarlyBindings() {
	verdict := shared.referee.VerdictFor(context.Background(), s.Namespace)
	assert.Empty(s, verdict.Incomplete, "the referee missed something")
	assert.Empty(s, verdict.Violations, "pods bound too early; the referee says: %s", verdict)
}

// template is that of pods of a tier, on the nodes of the story.
func (s *story) template(of, cpu string) corev1.PodTemplateSpec {
	spec := corev1.PodSpec{
		NodeSelector:                  map[string]string{poolLabel: s.Namespace},
		TerminationGracePeriodSeconds: new(int64),
		Containers: []corev1.Container{{
			Name: "app", Image: "example.com/app",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}},
	}
	if s.by == byPodSequence {
		spec.SchedulerName = ourScheduler
	}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{tier: of}}, Spec: spec}
}

// driver is on each node of the story. It is not ready before startDrivers.
func (s *story) driver() *appsv1.DaemonSet {
	template := s.template("driver", "500m")
	template.Annotations = map[string]string{cluster.ReadyAfter: "never"}
	template.Spec.Tolerations = []corev1.Toleration{{Key: driverTaint, Operator: corev1.TolerationOpExists}}
	return &appsv1.DaemonSet{ObjectMeta: s.Meta("driver"), Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
	}}
}

// deployment is an application whose pods take a CPU each: two fit on a node.
func (s *story) deployment(name string, replicas int32) *appsv1.Deployment {
	template := s.template("app", "1")
	template.Labels["app"] = name
	return &appsv1.Deployment{ObjectMeta: s.Meta(name), Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Template: template,
	}}
}

// pods lists the pods whose names begin with the prefix and that are not being deleted.
func (s *story) pods(prefix string) []corev1.Pod {
	s.Helper()
	var list corev1.PodList
	require.NoError(s, s.API.List(s.Ctx, &list, client.InNamespace(s.Namespace)))
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return !strings.HasPrefix(p.Name, prefix) || p.DeletionTimestamp != nil
	})
}

// awaitPods waits until exactly so many pods are as the condition wants them, and returns them.
func (s *story) awaitPods(prefix string, count int, state string, is func(*corev1.Pod) bool) []corev1.Pod {
	s.Helper()
	var found []corev1.Pod
	cluster.Eventually(s, fmt.Sprintf("%d pods %s to be %s", count, prefix, state), func() error {
		found = s.pods(prefix)
		all := slices.Clone(found)
		if found = slices.DeleteFunc(found, func(p corev1.Pod) bool { return !is(&p) }); len(found) != count {
			return fmt.Errorf("%d are: %s", len(found), describe(all))
		}
		return nil
	})
	return found
}

func describe(pods []corev1.Pod) string {
	var text strings.Builder
	for _, p := range pods {
		fmt.Fprintf(&text, "\n  %s on %q", p.Name, p.Spec.NodeName)
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled {
				fmt.Fprintf(&text, ": %s: %s", c.Reason, c.Message)
			}
		}
	}
	return text.String()
}

func isBound(p *corev1.Pod) bool { return p.Spec.NodeName != "" }

// awaitBound waits until so many pods are bound, and returns them.
func (s *story) awaitBound(prefix string, count int) []corev1.Pod {
	s.Helper()
	return s.awaitPods(prefix, count, "bound", isBound)
}

// expectUnbound says that no pod whose name begins so is bound.
func (s *story) expectUnbound(prefix string) {
	s.Helper()
	for _, p := range s.pods(prefix) {
		assert.Empty(s, p.Spec.NodeName, "%s is bound", p.Name)
	}
}

// awaitDrivers waits until so many nodes have their driver bound, which does not start yet.
func (s *story) awaitDrivers(count int) []corev1.Pod {
	s.Helper()
	return s.awaitBound("driver-", count)
}

// startDrivers makes the driver ready on each node that there is, and then removes the startup taints as drivers do.
func (s *story) startDrivers() {
	s.Helper()
	s.Await("all drivers to be ready", func() bool {
		ready := true
		for _, p := range s.pods("driver-") {
			if p.Annotations[cluster.ReadyAfter] == "never" {
				s.Annotate(&p, cluster.ReadyAfter, "0s")
			}
			ready = ready && cluster.IsReady(&p) && s.removeTaint(p.Spec.NodeName)
		}
		return ready
	})
}

// removeTaint removes the startup taint of a node. It reports whether the node has none.
func (s *story) removeTaint(name string) bool {
	node := &corev1.Node{}
	if s.API.Get(s.Ctx, client.ObjectKey{Name: name}, node) != nil {
		return false // it is gone
	}
	kept := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool { return t.Key == driverTaint })
	if len(kept) == len(node.Spec.Taints) {
		return true
	}
	before := node.DeepCopy()
	node.Spec.Taints = kept
	if s.API.Patch(s.Ctx, node, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})) != nil {
		return s.removeTaint(name) // somebody else changed the node
	}
	return true
}

// sequence begins a PodSequence of the story's namespace.
func (s *story) sequence(name string) *SequenceWrapper { return MakeSequence(s.Namespace, name) }

// awaitNodes waits until Karpenter has made so many nodes in all.
func (s *story) awaitNodes(count int) {
	s.Helper()
	s.Await(fmt.Sprintf("Karpenter to make %d nodes", count), func() bool { return len(shared.claims.of(s.Namespace)) >= count })
}

// expectNodes says that Karpenter has made so many nodes in all, although it has acted on everything that happened so far.
func (s *story) expectNodes(count int) {
	s.Helper()
	s.fenceKarpenter()
	assert.Len(s, shared.claims.of(s.Namespace), count, "nodes that Karpenter made; pods:%s", describe(s.pods("")))
}

// fenceKarpenter returns when Karpenter has acted on all pods as they were before. Each time it looks at all pods that need nodes, and makes
// the nodes side by side. So when it has made a node for a later pod, and then one for a still later one, it has made all that it wanted.
func (s *story) fenceKarpenter() {
	s.Helper()
	for range 2 {
		s.fences++
		name := fmt.Sprintf("fence-%d", s.fences)
		p := s.template("fence", "100m")
		pod := &corev1.Pod{ObjectMeta: s.Meta(name), Spec: p.Spec}
		pod.Spec.SchedulerName = corev1.DefaultSchedulerName
		// Or it might be evicted because of the taint that Karpenter has just removed from the new node.
		pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		pod.Spec.NodeSelector = map[string]string{poolLabel: fencePool, "example.com/fence": s.Namespace + "-" + name}
		s.Create(pod)
		s.Await(name+" to be bound", func() bool { return cluster.Get(s.Story, &corev1.Pod{}, name).Spec.NodeName != "" })
	}
}

// report logs what the story cost.
func (s *story) report() {
	s.Helper()
	s.Logf("%s: %d nodes made, %.1f s to the last pod", s.by, len(shared.claims.of(s.Namespace)), time.Since(s.began).Seconds())
}
