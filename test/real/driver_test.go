package real

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/containerlogs"
)

func TestANodeDriverIsReadyOnEachNodeBeforeItsDependents(t *testing.T) {
	s := newStory(t)
	s.Create(
		s.sequence("storage").NodeScope().Label("Driver", app, "driver").Label("Agent", app, "agent").Label("Application", app, "web").Obj(),
		s.deployment("web", 4, probed(workload("serve"))),
		s.daemonSet("agent", probed(workload("-ready-after", "1s", "serve"))),
		s.daemonSet("driver", probed(workload("-ready-after", "4s", "serve"))),
	)
	s.awaitReady("web-", 4)
	s.awaitReady("agent-", len(nodes))
	for _, node := range nodes {
		there := s.said().Where(containerlogs.On(node))
		driver, agent := there.Where(containerlogs.Of("driver-")), there.Where(containerlogs.Of("agent-"))
		web := there.Where(containerlogs.Of("web-"))
		s.expectLinesInOrder(driver, agent)
		if len(web) > 0 { // all of them may be on the other node
			s.expectLinesInOrder(agent, web)
		}
	}
}

func TestPodsAreHeldWhileADriverThatDiedComesBack(t *testing.T) {
	for name, die := range map[string]func(*story, corev1.Pod){
		"deleted": func(s *story, pod corev1.Pod) { s.kubectl("delete", "pod", pod.Name, "--wait=false") },
		"crashed": func(s *story, pod corev1.Pod) {
			s.kubectl("exec", pod.Name, "--", "/workload", "-path", "/exit", "get")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			driver := probed(workload("-closed", "serve"))
			perNode := s.daemonSet("node-driver", driver)
			perNode.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: nodes[0]}
			s.Create(
				s.sequence("cluster").Mode(v1alpha1.Continuous).Label("Driver", app, "driver").Label("Application", "needs", "driver").Obj(),
				s.sequence("node").NodeScope().Label("Driver", app, "node-driver").Label("Application", "needs", "node-driver").Obj(),
				s.deployment("driver", 1, driver), perNode,
				s.needs("driver", "early"), s.needs("node-driver", "node-early"),
			)
			drivers := []string{"driver-", "node-driver-"}
			for _, prefix := range drivers {
				s.openContainer(prefix)
			}
			s.awaitReady("early-", 1)
			s.awaitReady("node-early-", 1)
			s.expectOrder("driver-", "early-")
			s.expectOrder("node-driver-", "node-early-")

			died := time.Now()
			for _, prefix := range drivers {
				found := s.pods(prefix)
				require.Len(s, found, 1)
				die(s, found[0])
			}
			s.awaitNoneReady(drivers...)
			s.Create(s.needs("driver", "late"), s.needs("node-driver", "node-late"))
			s.awaitHeld("late-", 1)
			s.awaitHeld("node-late-", 1)
			s.fence("died")
			s.expectSilent("late-")
			s.expectSilent("node-late-")
			for _, prefix := range drivers {
				s.openContainer(prefix)
			}
			s.awaitReady("late-", 1)
			s.awaitReady("node-late-", 1)
			since := s.said().Where(containerlogs.Since(died))
			s.expectLinesInOrder(since.Where(containerlogs.Of("driver-"), notStopped), since.Where(containerlogs.Of("late-")))
			s.expectLinesInOrder(since.Where(containerlogs.Of("node-driver-"), notStopped), since.Where(containerlogs.Of("node-late-")))
		})
	}
}

// needs is an application on the first node that needs a driver.
func (s *story) needs(driver, name string) *appsv1.Deployment {
	d := s.deployment(name, 1, probed(workload("serve")))
	d.Spec.Template.Labels["needs"] = driver
	d.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: nodes[0]}
	return d
}

// openContainer lets the only pod whose name begins with the prefix be ready: its container was started with -closed.
func (s *story) openContainer(prefix string) {
	s.Helper()
	s.Await("the container of "+prefix+" to be opened", func() bool {
		for _, pod := range s.pods(prefix) {
			if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
				_, err := shared.sandbox.run(s.Ctx, "kubectl", "--", "--namespace", s.Namespace, "exec", pod.Name, "--",
					"/workload", "-path", "/open", "get")
				return err == nil // else it does not serve yet
			}
		}
		return false
	})
}

// notStopped leaves out what pods say last when they are deleted.
func notStopped(l containerlogs.Line) bool {
	return !l.Is(containerlogs.Stopped) && !l.Is(containerlogs.Exit)
}

// awaitNoneReady waits until the API says of no pod whose name begins so that it is ready.
func (s *story) awaitNoneReady(prefixes ...string) {
	s.Helper()
	for _, prefix := range prefixes {
		s.Await("no pod "+prefix+" to be ready", func() bool {
			for _, pod := range s.pods(prefix) {
				if pod.DeletionTimestamp == nil && cluster.IsReady(&pod) {
					return false
				}
			}
			return true
		})
	}
}
