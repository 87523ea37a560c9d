package integration

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// seenPatience is how long a story waits for a scheduler to see a sequence. Those that stop the scheduler, or delay what it watches, go on
// without.
const seenPatience = 5 * time.Second

// mayStartUnseen reports whether nothing holds the pod in the moment before the scheduler has seen its sequence.
func mayStartUnseen(wrapped *st.PodWrapper) bool {
	pod := wrapped.Obj()
	return len(pod.Spec.SchedulingGates) == 0 && pod.Labels[v1alpha1.SequenceLabel] == "" && pod.Spec.NodeName == ""
}

// awaitSeen waits until the scheduler has seen all sequences and what all namespaces allow: it lifts no gate before. No sequence selects
// pods of kube-system, unless it names that.
func (s *story) awaitSeen() {
	s.Helper()
	s.probes++
	name := fmt.Sprintf("seen-%s-%d", s.Namespace, s.probes)
	s.Patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}},
		map[string]any{"metadata": map[string]any{"annotations": map[string]string{"example.com/seen": name}}})
	probe := s.gated(name).Namespace(metav1.NamespaceSystem).Obj()
	sequence := MakeSequence(metav1.NamespaceSystem, name).Pods("", name).Obj()
	s.Story.Create(sequence, probe)
	err := wait.PollUntilContextTimeout(s.Ctx, 5*time.Millisecond, seenPatience, true, func(ctx context.Context) (bool, error) {
		err := s.API.Get(ctx, client.ObjectKeyFromObject(probe), probe)
		return err == nil && len(probe.Spec.SchedulingGates) == 0, nil
	})
	if err != nil {
		s.Logf("the scheduler has not seen everything within %s", seenPatience)
	}
	s.Story.Delete(probe, sequence)
}

// createPods creates pods in this order, not in the same moment as a sequence: nothing holds those without label and gate then.
func (s *story) createPods(pods ...*st.PodWrapper) {
	s.Helper()
	if s.unseen && !s.lite && slices.ContainsFunc(pods, mayStartUnseen) {
		s.awaitSeen()
		s.unseen = false
	}
	for _, pod := range pods {
		s.Create(pod.Obj())
	}
}
