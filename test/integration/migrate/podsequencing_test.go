package migrate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/ordercheck"
)

const ourScheduler = "podsequence-scheduler"

func hasNode(p *corev1.Pod) bool { return p.Spec.NodeName != "" }

func isGated(p *corev1.Pod) bool { return len(p.Spec.SchedulingGates) > 0 && p.Spec.NodeName == "" }

// isOurs reports whether a pod waits for podsequence-scheduler.
func isOurs(p *corev1.Pod) bool { return p.Spec.SchedulerName == ourScheduler && p.Spec.NodeName == "" }

// leaveAsPodSequencing brings the cluster to where the Pod Sequence Controller stopped.
func (s *site) leaveAsPodSequencing() {
	s.Helper()
	s.apply("podsequencing-before.yaml")
	s.run("kubectl wait --for=condition=Established crd/podsequences.scheduling.example.com --timeout=2m")
	s.run("kubectl taint nodes --all podsequence.example.com/csi-group-1-blocked=:NoSchedule")
	s.apply("podsequencing.yaml")
	s.awaitPods("storage", "driver", "to be created", 3, isGated)
	s.ungate(append(s.pods("storage", "driver"), s.pods("shop", "db")...))
	s.awaitPods("storage", "driver", "to run", 3, hasNode)
	s.awaitPods("shop", "web", "to be created", 2, isGated)
	s.awaitPods("storage", "application", "to be created", 2, isGated)
	s.awaitPods("storage", "worker", "to be created", 1, isGated)
	s.ungate(s.pods("storage", "worker"))
	s.run(`kubectl patch podseq backend -n shop --subresource=status --type=merge -p '{"status":{"phase":"InProgress","currentIndex":0,
		"currentGroupPods":["db"],"readyPodsInCurrentGroup":0,"message":"Waiting for all pods in Database to become ready (0/1 ready)"}}'`)
	s.run(`kubectl patch podseq csi -n storage --subresource=status --type=merge -p '{"status":{"phase":"InProgress","currentIndex":0,"nodeStatus":[
		{"nodeName":"node-0","currentIndex":0,"readyPodsInCurrentGroup":0,"phase":"InProgress","taintInitializedForGroups":[1]}]}}'`)
}

// taintsOf returns the keys of the taints of all nodes, each once.
func (s *site) taintsOf() []string {
	s.Helper()
	var nodes corev1.NodeList
	require.NoError(s, s.cluster.API.List(s.ctx, &nodes))
	var keys []string
	for _, node := range nodes.Items {
		for _, taint := range node.Spec.Taints {
			if len(keys) == 0 || keys[len(keys)-1] != taint.Key {
				keys = append(keys, taint.Key)
			}
		}
	}
	return keys
}

// awaitRouting waits until new gated pods get our scheduler.
func (s *site) awaitRouting() {
	s.Helper()
	cluster.Await(s, "the routing policy to count", func() bool {
		probe := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "probe"}}
		probe.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
		probe.Spec.Containers = []corev1.Container{{Name: "probe", Image: "probe"}}
		err := s.cluster.API.Create(s.ctx, probe, client.DryRunAll) // refused until the namespace has the account of pods
		return err == nil && probe.Spec.SchedulerName == ourScheduler
	})
}

// sequence returns a PodSequence.
func (s *site) sequence(namespace, name string) *v1alpha1.PodSequence {
	s.Helper()
	found := &v1alpha1.PodSequence{}
	require.NoError(s, s.cluster.API.Get(s.ctx, client.ObjectKey{Namespace: namespace, Name: name}, found))
	return found
}

// degraded returns the message of a sequence's condition Degraded.
func (s *site) degraded(namespace, name string) string {
	s.Helper()
	for _, c := range s.sequence(namespace, name).Status.Conditions {
		if c.Type == v1alpha1.ConditionDegraded && c.Status == metav1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

func TestTheGuideFromPodSequencing(t *testing.T) {
	t.Parallel()
	s := newSite(t, "default")
	s.leaveAsPodSequencing()
	etcd, err := s.cluster.EtcdConfig()
	require.NoError(t, err)
	referee, err := ordercheck.Start(t.Context(), etcd, ordercheck.Options{})
	require.NoError(t, err)
	defer referee.Stop()

	s.follow("docs/migrate/podsequencing.md", map[int]func(){
		3: func() {
			assert.Equal(t, []string{"podsequence.example.com/migration"}, s.taintsOf())
			s.awaitPods("storage", "worker", "to be held by the taint", 1, func(p *corev1.Pod) bool { return !hasNode(p) })
		},
		4: func() {
			s.startPrograms()
			s.awaitRouting()
			cluster.Await(t, "the finalizers to be removed", func() bool {
				return len(s.sequence("shop", "backend").Finalizers)+len(s.sequence("storage", "csi").Finalizers) == 0
			})
			cluster.Await(t, "the sequence to say what is wrong", func() bool { return strings.Contains(s.degraded("storage", "csi"), " stay gated") })
		},
		5: func() {
			s.awaitPods("storage", "application", "to be created again", 2, isOurs)
			s.awaitPods("storage", "worker", "to be created again", 1, isOurs)
			cluster.Await(t, "the pod to be named that nothing replaces", func() bool { return strings.Contains(s.degraded("storage", "csi"), "(alone)") })
			s.run("kubectl get pod alone -n storage -o yaml | sed 's/schedulerName: .*/schedulerName: podsequence-scheduler/' | kubectl replace --force -f -")
			s.awaitPods("storage", "alone", "to be created again", 1, isOurs)
		},
		6: func() {
			assert.Empty(t, s.taintsOf())
			cluster.Await(t, "nothing to be degraded", func() bool { return s.degraded("storage", "csi")+s.degraded("shop", "backend") == "" })
		},
	})

	for _, driver := range s.pods("storage", "driver") {
		if driver.Spec.NodeName == "node-1" {
			s.makeReady(driver)
		}
	}
	onNode1 := func(p *corev1.Pod) bool { return p.Spec.NodeName == "node-1" }
	for app, count := range map[string]int{"application": 2, "worker": 1, "alone": 1} {
		s.awaitPods("storage", app, "to start where the driver is ready", count, onNode1)
	}
	s.makeReady(s.pods("shop", "db")...)
	s.awaitPods("shop", "web", "to start after the database", 2, hasNode)
	verdict := ordercheck.Judge(referee.History(t.Context()), ordercheck.JudgeOptions{})
	assert.Empty(t, verdict.Violations, "%s", verdict)

	s.run("kubectl delete namespace shop storage --timeout=5m")
}
