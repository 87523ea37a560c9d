package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// evenly spreads a workload's pods over nodes.
func evenly(app string) func(*st.PodWrapper) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	return func(p *st.PodWrapper) {
		p.SpreadConstraint(1, corev1.LabelHostname, corev1.DoNotSchedule, selector, nil, nil, nil, nil)
	}
}

func TestPodsGoToANodeOnceItsDriverIsReady(t *testing.T) {
	t.Parallel()
	t.Run("a Deployment, of which each node gets its share when its driver is ready", func(t *testing.T) {
		s := newNodeStory(t, "a", "b", "c")
		s.Create(s.driverThenApp().Obj(), s.driver())
		for _, node := range []string{"a", "b", "c"} {
			s.on("driver", node)
		}
		s.Create(s.deployment("app", "app", 6, evenly("app")))
		s.expectSpread("app", map[string]int{"": 6})
		for name := range s.podsOf("app") {
			s.awaitUnschedulable(name, `3 node(s) waiting for group 1/2 "Driver" of PodSequence `+s.Namespace+"/storage")
			break
		}
		s.startOn("driver", "b")
		s.awaitSpread("app", map[string]int{"": 5, "b": 1})
		s.startOn("driver", "a")
		s.awaitSpread("app", map[string]int{"": 4, "a": 1, "b": 1})
		for name, pod := range s.podsOf("app") {
			if pod.Spec.NodeName == "" {
				s.awaitUnschedulable(name, `1 node(s) waiting for group 1/2 "Driver" of PodSequence `+s.Namespace+"/storage")
				break
			}
		}
		s.startOn("driver", "c")
		s.awaitSpread("app", map[string]int{"a": 2, "b": 2, "c": 2})
	})
	t.Run("named pods, each pinned to its node", func(t *testing.T) {
		s := newNodeStory(t, "a", "b")
		s.Create(s.perNode("storage").Pods("Agents", "agent-a", "agent-b").Pods("Applications", "app-a", "app-b").Obj())
		// The agents come first: a pod that is held before any agent exists keeps the message that no pod matched the group.
		s.createPods(s.pinned("agent-a", "", "a"), s.pinned("agent-b", "", "b"), s.pinned("app-a", "", "a"), s.pinned("app-b", "", "b"))
		s.awaitBound("agent-a", "agent-b")
		s.expectUnplaced("app-a", "app-b")
		s.awaitHeldFor("app-a", `group 1/2 "Agents" of PodSequence `+s.Namespace+"/storage on node "+s.node("a")+": 0 of 1 pods ready")
		s.makeReady("agent-b")
		s.awaitBound("app-b")
		s.expectUnplaced("app-a")
		s.makeReady("agent-a")
		s.awaitBound("app-a")
	})
	t.Run("a device plugin, which concerns only the nodes that have the device", func(t *testing.T) {
		s := newNodeStory(t, "plain")
		s.addNode("gpu", labelled("example.com/gpu", "yes"))
		s.awaitTakesPods("gpu")
		devices := s.perNode("storage").Label("Driver", "tier", "driver").NodeSelector("example.com/gpu", "yes").Label("Application", "tier", "app")
		s.Create(devices.Obj(), s.driver(func(spec *corev1.PodSpec) { spec.NodeSelector["example.com/gpu"] = "yes" }))
		s.on("driver", "gpu")
		s.Create(s.deployment("anywhere", "app", 2))
		s.createPods(s.pinned("on-gpu", "app", "gpu"), s.pinned("on-plain", "app", "plain"))
		s.awaitBound("on-plain")
		s.awaitSpread("anywhere", map[string]int{"plain": 2})
		s.expectUnplaced("on-gpu")
		s.startOn("driver", "gpu")
		s.awaitBound("on-gpu")
	})
	t.Run("three tiers of DaemonSets, each node at its own pace", func(t *testing.T) {
		s := newNodeStory(t, "a", "b")
		s.Create(s.perNode("stack").Label("Network", "tier", "cni").Label("Storage", "tier", "csi").Label("Monitoring", "tier", "agent").Obj(),
			s.daemonSet("agent", "agent"), s.daemonSet("csi", "csi"), s.daemonSet("cni", "cni"))
		s.awaitSpread("cni", map[string]int{"a": 1, "b": 1})
		s.expectSpread("csi", map[string]int{"": 2})
		s.startOn("cni", "a")
		s.awaitSpread("csi", map[string]int{"a": 1, "": 1})
		s.expectSpread("agent", map[string]int{"": 2})
		s.awaitHeldFor(s.heldFor("agent", "a"), `group 2/3 "Storage"`)
		s.awaitHeldFor(s.heldFor("agent", "b"), `group 1/3 "Network"`)
		s.startOn("csi", "a")
		s.awaitSpread("agent", map[string]int{"a": 1, "": 1})
		s.expectSpread("csi", map[string]int{"a": 1, "": 1})
		s.startOn("cni", "b")
		s.startOn("csi", "b")
		s.startOn("agent", "a", "b")
		s.awaitPhase("stack", v1alpha1.PhaseCompleted)
	})
	t.Run("two DaemonSets in one group, both of which must be ready", func(t *testing.T) {
		s := newNodeStory(t, "a")
		s.Create(s.driverThenApp().Obj(), s.driver())
		s.startOn("driver", "a")
		s.Create(s.daemonSet("second-driver", "driver", ofDefaultScheduler))
		second := s.on("second-driver", "a")
		s.createPods(s.pinned("app", "app", "a"))
		s.expectUnplaced("app")
		s.makeReady(second)
		s.awaitBound("app")
	})
	t.Run("a DaemonSet whose pod has not come to the node yet", func(t *testing.T) {
		s := newNodeStory(t, "a")
		unplaced := func(spec *corev1.PodSpec) { spec.SchedulerName = "nobody" }
		s.Create(s.driverThenApp().Obj(), s.driver(), s.daemonSet("second-driver", "driver", unplaced))
		s.startOn("driver", "a")
		s.createPods(s.pinned("app", "app", "a"))
		s.expectUnplaced("app")
		s.awaitHeldFor("app", "a DaemonSet has no pod on this node yet")
		s.Delete(s.daemonSet("second-driver", "driver"))
		s.awaitBound("app")
	})
	t.Run("a DaemonSet that comes after the pods that need it", func(t *testing.T) {
		s := newNodeStory(t, "a")
		s.Create(s.driverThenApp().Obj())
		s.createPods(s.here("free", "app"), s.pinned("pinned", "app", "a"))
		s.awaitUnschedulable("free", "node(s) waiting for group")
		s.awaitHeldFor("pinned", "no pod matched it when this was written")
		s.Create(s.driver())
		s.on("driver", "a")
		s.expectUnplaced("free", "pinned")
		s.startOn("driver", "a")
		s.awaitBound("free", "pinned")
	})
	t.Run("dependents that are pinned, which is what the pods of a DaemonSet are", func(t *testing.T) {
		s := newNodeStory(t, "a", "b")
		s.Create(s.driverThenApp().Obj(), s.daemonSet("app", "app"), s.driver())
		s.on("driver", "a")
		s.on("driver", "b")
		s.expectSpread("app", map[string]int{"": 2})
		s.startOn("driver", "b")
		s.awaitSpread("app", map[string]int{"b": 1, "": 1})
		s.startOn("driver", "a")
		s.awaitSpread("app", map[string]int{"a": 1, "b": 1})
	})
	t.Run("three tiers of two replicas that keep away from each other's zone", func(t *testing.T) {
		s := newNodeStory(t, "a", "b")
		w := s.perNode("shop")
		for _, tier := range tiers {
			w.Label(tier, "tier", tier)
		}
		s.Create(w.Obj())
		apart := func(app string) func(*st.PodWrapper) {
			return func(p *st.PodWrapper) {
				p.PodAntiAffinityIn("app", corev1.LabelTopologyZone, []string{app}, st.PodAntiAffinityWithRequiredReq)
			}
		}
		for _, tier := range []string{"web", "app", "db"} {
			s.Create(s.deployment(tier, tier, 2, apart(tier)))
		}
		both := map[string]int{"a": 1, "b": 1}
		s.awaitSpread("db", both)
		s.expectSpread("app", map[string]int{"": 2})
		s.startOn("db", "a")
		s.awaitSpread("app", map[string]int{"a": 1, "": 1})
		s.expectSpread("web", map[string]int{"": 2})
		s.startOn("app", "a")
		s.awaitSpread("web", map[string]int{"a": 1, "": 1})
		s.startOn("db", "b")
		s.awaitSpread("app", both)
		s.startOn("app", "b")
		s.awaitSpread("web", both)
		s.startOn("web", "a", "b")
		s.awaitPhase("shop", v1alpha1.PhaseCompleted)
	})
}
