package order

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// programLabel with the value programName is on the pods of both programs of PodSequence.
const (
	programLabel = "app.kubernetes.io/name"
	programName  = "podsequence"
)

// A sequence over everything would hold what the cluster, and PodSequence itself, need to run. So a namespaceSelector selects
// neither kube-system nor the namespace of the installation, and the pods of PodSequence itself belong to no sequence: they are not
// held, and no group waits for them.

// IsSelectable reports whether a namespaceSelector may select the namespace, if its labels match.
func IsSelectable(installation, namespace string) bool {
	return namespace != metav1.NamespaceSystem && namespace != installation
}

// IsOwn reports whether pods with these labels belong to PodSequence itself. The namespace is what nobody else can have: whoever
// may create pods in the namespace of the installation can do what its programs can.
func IsOwn(installation, namespace string, podLabels labels.Labels) bool {
	return installation != "" && namespace == installation && podLabels.Get(programLabel) == programName
}
