package deploymentcoordination

import (
	"hash/fnv"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/internal/deployments"
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

// template works out what the member's template comes to, if that is not known.
func (m *Member) template() *template {
	if m.known != nil {
		return m.known
	}
	t := &template{hash: m.templateHash(), current: deployments.NewestReplicaSet(m.Deployment, m.ReplicaSets)}
	for _, rs := range m.ReplicaSets {
		if t.current != nil && rs.UID != t.current.UID && (ptr.Deref(rs.Spec.Replicas, 1) > 0 || rs.Status.Replicas > 0) {
			t.mixed = true
		}
	}
	if t.current != nil { // what is remembered must not keep the whole list that it is of
		current := *t.current
		t.current = &current
	}
	m.known = t
	return t
}

// templateHash stands for the pod template. It only tells one template from the next of the same Deployment.
func (m *Member) templateHash() string {
	if m.known != nil {
		return m.known.hash
	}
	hash := fnv.New64a()
	encoded, _ := m.Deployment.Spec.Template.Marshal() // what came from the API server can be encoded
	hash.Write(encoded)
	return strconv.FormatUint(hash.Sum64(), 36)
}

// template returns what a member's template comes to. That is worked out once for each version of the Deployment and its
// ReplicaSets.
func (n *namespace) template(m *Member) *template {
	uid, versions := m.Deployment.UID, versionsOf(m.ReplicaSets)
	known, ok := n.templates[uid]
	if !ok || known.deployment != m.Deployment.ResourceVersion || known.replicaSets != versions {
		known = knownTemplate{m.Deployment.ResourceVersion, versions, m.template()}
		n.templates[uid] = known
	}
	return known.template
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
