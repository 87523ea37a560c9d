package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// The referee must catch what our scheduler never does: each of these pods is bound by hand before its turn.
func TestTheRefereeCatchesAPodBoundTooEarly(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*SequenceWrapper) *SequenceWrapper{
		"group by name":  func(w *SequenceWrapper) *SequenceWrapper { return w.Pods("Late", "early") },
		"group by label": func(w *SequenceWrapper) *SequenceWrapper { return w.Label("Late", "tier", "late") },
		"group by expression": func(w *SequenceWrapper) *SequenceWrapper {
			return w.Expression("Late", "tier", v1alpha1.LabelSelectorOpExists)
		},
		"everything else": func(w *SequenceWrapper) *SequenceWrapper { return w.Label("Late", "", "") },
	}
	for name, late := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.Create(late(s.sequence("shop").Pods("Database", "db")).Obj())
			s.createPods(s.pod("db"), s.pod("early").Label("tier", "late"))
			s.awaitBound("db")
			s.bindByHand("early")
			s.violates = []string{"early"}
		})
	}

	for name, makePod := range map[string]func(*story) *st.PodWrapper{
		"gate lifted by hand, pod of our scheduler": func(s *story) *st.PodWrapper { return s.gated("early") },
		"gate lifted by hand, pod of the stock scheduler": func(s *story) *st.PodWrapper {
			return s.gated("early").SchedulerName(stockScheduler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.Create(s.sequence("shop").Pods("Database", "db").Pods("Late", "early").Obj())
			s.createPods(s.pod("db"), makePod(s))
			s.awaitBound("db")
			pod := s.getPod("early")
			s.Patch(pod, `{"spec":{"schedulingGates":null}}`)
			if pod.Spec.SchedulerName == s.env.scheduler {
				s.expectHeld("early") // the scheduler holds it without a gate just as well
				s.bindByHand("early")
			}
			s.awaitBound("early")
			s.violates = []string{"early"}
		})
	}
}

// bindByHand binds a pod as a scheduler that knows nothing of PodSequences would.
func (s *story) bindByHand(name string) {
	s.Helper()
	pod := s.getPod(name)
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "node-0"},
	}
	require.NoError(s, s.API.SubResource("binding").Create(s.Ctx, pod, binding))
}
