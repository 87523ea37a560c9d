package migrate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	groupLabel = "podgroup.jhwagner.github.io/name"
	readyLabel = "podgroup.jhwagner.github.io/ready"
)

func isLabelled(p *corev1.Pod) bool { return p.Labels[readyLabel] == "true" }

// member creates a pod of a group in the namespace training, and returns when it is labelled.
func (s *site) member(group, name string) {
	s.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "training", Name: name, Labels: map[string]string{"app": group, groupLabel: group},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "a", Image: "a"}}
	require.NoError(s, s.cluster.API.Create(s.ctx, pod))
}

// labelled returns which pods of a group have the label.
func (s *site) labelled(group string) (names []string) {
	s.Helper()
	for _, pod := range s.pods("training", group) {
		if isLabelled(&pod) {
			names = append(names, pod.Name)
		}
	}
	return names
}

// fence returns when the controller has dealt with all that happened to pods before: it labels a pod of another group.
func (s *site) fence(name string) {
	s.Helper()
	s.member(name, name)
	s.awaitPods("training", name, "to be labelled", 1, isLabelled)
}

func TestTheGuideFromPodGroupController(t *testing.T) {
	t.Parallel()
	s := newSite(t, "lite")
	s.apply("podgroup.yaml")
	for group, count := range map[string]int{"gang": 2, "done": 1, "early": 1, "job": 2} {
		s.awaitPods("training", group, "to run", count, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	}
	s.follow("docs/migrate/podgroup-controller.md", map[int]func(){
		3: func() {
			require.NoError(t, s.cluster.StartComponent(s.ctx, controlplane.PodSequenceController))
			s.awaitPods("training", "job", "to be labelled", 2, isLabelled)
			s.fence("first")
			assert.Empty(t, s.labelled("gang"), "a third pod is missing")
			assert.Equal(t, []string{"done-0"}, s.labelled("done"))
		},
		4: func() {
			s.fence("second")
			assert.Empty(t, s.labelled("early"))
		},
	})
	s.member("gang", "gang-2")
	s.awaitPods("training", "gang", "to be labelled", 3, isLabelled)
	s.member("early", "early-1")
	s.awaitPods("training", "early", "to be labelled", 2, isLabelled)
}
