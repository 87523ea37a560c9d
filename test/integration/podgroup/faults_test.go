package podgroup

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

func TestControllerRestarted(t *testing.T) {
	t.Parallel()
	t.Run("the last pod comes to run while it is down", func(t *testing.T) {
		s := newStoryIn(t, victims.Take(t))
		s.expect("gang", 3)
		s.Create(s.pod("pod-0", "gang", size("3")), s.pod("pod-1", "gang", size("3")))
		s.awaitRunning("gang", 2)
		s.WhileControllerDown(func() {
			s.Create(s.pod("pod-2", "gang", size("3")))
			s.awaitRunning("gang", 3)
		})
		s.awaitLabels("gang", 3)
	})
	t.Run("the last pod is not there when it is back", func(t *testing.T) {
		s := newStoryIn(t, victims.Take(t))
		s.expect("gang", 3)
		s.WhileControllerDown(func() {
			s.Create(s.pod("pod-0", "gang", size("3")), s.pod("pod-1", "gang", size("3")))
			s.awaitRunning("gang", 2)
		})
		s.expectNoLabels("gang")
		s.Create(s.pod("pod-2", "gang", size("3")))
		s.awaitLabels("gang", 3)
	})
	t.Run("it is killed among the labels of a group", func(t *testing.T) {
		const pods = 100
		s := newStoryIn(t, victims.Take(t))
		s.expect("gang", pods)
		s.Create(s.job("work", pods, nil))
		s.Await("the first label", func() bool { return s.witness.labelsOf("gang") > 0 })
		s.WhileControllerDown(func() {})
		s.awaitLabels("gang", pods)
	})
}

// Users may have labels of their own. A second controller, beside the cluster's, is told of others. It has an administrator's
// permissions: the policy for the ServiceAccount knows the default label.
func TestLabelKeysByFlag(t *testing.T) {
	t.Parallel()
	const ownName, ownReady = "example.com/gang", "example.com/gang-runs"
	c := victims.Take(t)
	c.Run(t, controlplane.PodSequenceController,
		"--kubeconfig="+c.Kubeconfig(),
		"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0",
		"--pod-group-name-label="+ownName, "--pod-group-ready-label="+ownReady)

	s := newStoryIn(t, c)
	awaitOwn := func(names ...string) {
		for _, name := range names {
			s.Await(name+" to be labelled", func() bool { return s.get(name).Labels[ownReady] == "true" })
		}
	}
	s.Create(s.pod("pod-0", "", label(ownName, "gang"), size("2")), s.pod("usual-0", "usual"))
	s.awaitPhase(corev1.PodRunning, "pod-0")
	s.awaitLabels("usual", 1)
	s.Create(s.pod("other", "", label(ownName, "other"))) // a fence of the second controller
	awaitOwn("other")
	assert.NotContains(t, s.get("pod-0").Labels, ownReady)
	assert.NotContains(t, s.get("usual-0").Labels, ownReady)
	s.Create(s.pod("pod-1", "", label(ownName, "gang"), size("2")))
	awaitOwn("pod-0", "pod-1")
	s.fence()
	for _, name := range []string{"pod-0", "pod-1"} {
		assert.NotContains(t, s.get(name).Labels, readyLabel)
	}
}

// Conditions are the kubelet's. Their transition times would show a write that sets them to what they are.
func TestNothingButTheLabelIsWritten(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	const never = cluster.ReadyAfter
	s.Create(s.pod("pod-0", "gang", size("2"), annotation(never, "never")), s.pod("pod-1", "gang", size("2"), annotation(never, "never"), held))
	s.awaitPhase(corev1.PodRunning, "pod-0")
	before := s.get("pod-0")
	s.releasePods("pod-1")
	s.awaitLabels("gang", 2)
	after := s.get("pod-0")
	assert.Equal(t, before.Status, after.Status)
	assert.Equal(t, before.Spec, after.Spec)
	assert.Equal(t, before.Annotations, after.Annotations)
	before.Labels[readyLabel] = "true"
	assert.Equal(t, before.Labels, after.Labels)

	writes := sets.New[string]()
	for _, r := range s.controllerRequests() {
		if r.namespace == s.Namespace && r.resource != "events" && r.verb != "list" && r.verb != "watch" {
			writes.Insert(fmt.Sprint(r.verb, " ", r.resource, " ", r.name))
		}
	}
	assert.Equal(t, sets.New("patch pods pod-0", "patch pods pod-1"), writes)
}
