// Package installation finds out where PodSequence itself is installed. Both programs must come to the same answer: the engine of
// each one leaves the installation alone.
package installation

import (
	"os"
	"strings"
)

// DefaultNamespace is where the manifests install PodSequence.
const DefaultNamespace = "podsequence-system"

// namespaceFile is a file that pods have, with the name of their namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Namespace returns the namespace of the pod that this program runs in. Outside of a cluster, and in a pod that has no
// ServiceAccount, such as a static pod, it returns DefaultNamespace.
func Namespace() string { return namespaceIn(namespaceFile) }

// InPod reports whether this program runs in a pod that knows its namespace.
func InPod() bool { return namespaceOf(namespaceFile) != "" }

func namespaceIn(file string) string {
	if namespace := namespaceOf(file); namespace != "" {
		return namespace
	}
	return DefaultNamespace
}

func namespaceOf(file string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}
