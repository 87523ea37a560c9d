package snapshot

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// NotInstalledError says that the API server does not serve a kind of sequence.
type NotInstalledError struct {
	Resource schema.GroupVersionResource
}

func (e *NotInstalledError) Error() string {
	if e.Resource == v1alpha1.ClusterPodSequenceResource {
		return fmt.Sprintf("ClusterPodSequences are not installed in this cluster: its API server does not serve %s; ask a cluster administrator to apply "+
			"the CRDs of this version (docs/versions.md)", e.Resource.GroupResource())
	}
	return fmt.Sprintf("PodSequence is not installed in this cluster: its API server does not serve %s; \"kubectl config current-context\" says which "+
		"cluster this is, and a cluster administrator can install PodSequence (docs/install.md)", e.Resource.GroupResource())
}

// ClusterViewRole reads what has no namespace: ClusterPodSequences, Namespaces and Nodes. A role in a namespace cannot contain these.
const ClusterViewRole = "podsequence-cluster-view"

// AskFor says which role has a permission that is missing, and who can grant it. The role is that of one namespace, or of the whole
// cluster.
func AskFor(role, namespace string) string {
	if namespace == "" {
		return fmt.Sprintf("ask for the role %s in the whole cluster: a cluster administrator grants it with "+
			"\"kubectl create clusterrolebinding NAME --clusterrole=%s --user=USER\"", role, role)
	}
	return fmt.Sprintf("ask for the role %s in namespace %s: who has the role admin there grants it with "+
		"\"kubectl create rolebinding NAME -n %s --clusterrole=%s --user=USER\"", role, namespace, namespace, role)
}
