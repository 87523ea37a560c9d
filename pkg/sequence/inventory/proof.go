package inventory

import (
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// marks are the marks of the proof on a pod, with a space between them. All pods that one group of a sequence released have
// the same, and keep them once.
type marks struct{ text unique.Handle[string] }

// proofMarks returns the marks of the proof on a pod: the annotation has the UID of the pod itself, so that a copy of the pod
// proves nothing, and then the marks.
func proofMarks(object *corev1.Pod) marks {
	fields := strings.Fields(object.Annotations[v1alpha1.ReleasedAnnotation])
	if len(fields) < 2 || fields[0] != string(object.UID) {
		return marks{}
	}
	return marks{unique.Make(strings.Join(fields[1:], " "))}
}

// DropProof drops the marks that prove that the pod was released.
func (p *Pod) DropProof() { p.proof = marks{} }

func (m marks) list() []string {
	if m == (marks{}) {
		return nil
	}
	return strings.Split(m.text.Value(), " ")
}
