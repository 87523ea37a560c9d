package sequence

import (
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// awaitedCondition reads TYPE[:STATUS][:pass].
func awaitedCondition(text string) v1alpha1.NodeConditionRequirement {
	parts := strings.Split(text, ":")
	r := v1alpha1.NodeConditionRequirement{Type: parts[0]}
	for _, part := range parts[1:] {
		if part == "pass" {
			r.WhenAbsent = v1alpha1.AbsentPass
		} else {
			r.Status = metav1.ConditionStatus(part)
		}
	}
	return r
}

// sayOfNode sets a condition of a node, as an agent on it does: TYPE STATUS [at=D]. STATUS is gone to remove it. Without at=, the
// transition is that of before unless the status is another one.
func (s *scenario) sayOfNode(t *testing.T, d *datadriven.TestData, node *corev1.Node, words []string) {
	is := corev1.NodeCondition{
		Type: corev1.NodeConditionType(words[0]), Status: corev1.ConditionStatus(words[1]), LastHeartbeatTime: s.now(), LastTransitionTime: s.now(),
	}
	i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == is.Type })
	if i >= 0 {
		if was := node.Status.Conditions[i]; was.Status == is.Status {
			is.LastTransitionTime = was.LastTransitionTime
		}
		node.Status.Conditions = slices.Delete(node.Status.Conditions, i, i+1)
	}
	for _, word := range words[2:] {
		at, isTime := strings.CutPrefix(word, "at=")
		if !isTime {
			d.Fatalf(t, "unknown word %s", word)
		}
		is.LastTransitionTime = timeArgument(t, d, at)
	}
	if is.Status != "gone" {
		node.Status.Conditions = append(node.Status.Conditions, is)
	}
}
