package deploymentcoordination

import (
	"hash/fnv"

	appsv1 "k8s.io/api/apps/v1"
)

// template is what is worked out of a Deployment's pod template and its ReplicaSets. That compares and encodes whole
// templates: it is most of what a decision costs.
type template struct {
	hash string
	// current is the ReplicaSet of this template, nil if there is none.
	current *appsv1.ReplicaSet
	// mixed says that there are pods of another template.
	mixed bool
}

// knownTemplate is a template with the versions that it was worked out of.
type knownTemplate struct {
	deployment  string
	replicaSets uint64
	template    *template
}

// versionsOf stands for the versions of ReplicaSets, in whatever order.
func versionsOf(replicaSets []*appsv1.ReplicaSet) uint64 {
	var sum uint64
	for _, rs := range replicaSets {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(rs.UID))
		_, _ = hash.Write([]byte(rs.ResourceVersion))
		sum += hash.Sum64()
	}
	return sum
}
