package ordercheck

import "k8s.io/apimachinery/pkg/labels"

// installation is where PodSequence itself runs in the clusters that are judged.
const installation = "podsequence-system"

// mustBeNamed reports whether no labels select a namespace: a ClusterPodSequence has its pods only if it lists it.
func mustBeNamed(namespace string) bool {
	return namespace == "kube-system" || namespace == installation
}

// isOurs reports whether pods with these labels are the programs of PodSequence. No sequence has them, so none may hold them, and none
// waits for them.
func isOurs(namespace string, labelled labels.Set) bool {
	return namespace == installation && labelled["app.kubernetes.io/name"] == "podsequence"
}
