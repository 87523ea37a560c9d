package sequence

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/podgroups"
	"example.com/podsequence/pkg/sequence/spec"
)

// sequence is a PodSequence or a ClusterPodSequence, and how far it has come.
type sequence struct {
	*spec.Sequence
	groups []*group

	// created is when it began to count: when it was created, or, if that was later, when its target namespace allowed it.
	created   time.Time
	allowedAt time.Time // when the target namespace came to allow it, as far as anybody saw; zero if it always did
	// refusal says why the target namespace does not let the sequence hold its pods; empty if it does.
	refusal string
	// object is what the API server last said: read only.
	object *v1alpha1.PodSequence
	// cluster is the same as a ClusterPodSequence; nil for a PodSequence.
	cluster *v1alpha1.ClusterPodSequence

	// domains are where groups are passed in order: the one domain with the empty name for scope Cluster; for scope Node one for
	// each node where something of the sequence is or is due, and the one with the empty name for members that are not bound yet.
	domains map[string]*domain
	// nodeless is the domain with the empty name; nil until the sequence is registered.
	nodeless *domain
	// groupsByNamespace maps the namespaces where some of the groups may have members to those groups.
	groupsByNamespace map[string]spec.NamespaceGroups
	// domainsMu guards which domains there are and what they published against those who read without the engine's lock. It is held for
	// no more than a look at one domain, and is the innermost lock.
	domainsMu sync.RWMutex
	// knowledge provides the nodes and the time. It is nil until the sequence is registered, at the moment registeredAt.
	knowledge    *knowledge
	registeredAt uint64
	// resumedSeen is when a suspension was lifted, as the engine saw it; zero if it saw none.
	resumedSeen time.Time
	// classes are those with unbound pods that this sequence, of scope Node, keeps from some nodes.
	classes map[*equivalenceClass]struct{}
	// firstReleased reports that the first group had been released, so that being suspended does not hold it. Atomic, because it is read
	// without a lock, see publishedOn.
	firstReleased atomic.Bool
	// registered reports whether the engine still goes by this sequence.
	registered bool

	// sinceVersion is the version of the event with which the sequence began to count, in its scope; empty if nobody knows.
	sinceVersion string
	// failures are those of members that failed and are gone.
	failures failuresOf

	// podGroups counts, for each PodGroup that pods name, how many of them each group has.
	podGroups map[podgroups.Reference]map[int]int
	// podGroupsKnown are all PodGroups that the engine knows.
	podGroupsKnown podGroups

	// dry is what it would have held; nil but for a dry run.
	dry *dryRun

	// outOfOrder are the members that started before the sequence existed.
	outOfOrder outOfOrder

	// nodeRecords are what status says of nodes.
	nodeRecords map[string]*v1alpha1.NodeStatus
}

// group is one pod group, and what the engine knows of it wherever it is.
type group struct {
	*spec.Group

	watchedSince time.Time // since when the engine watches it, defined as it is
	editedAt     time.Time // when an edit gave it this definition; zero if none did that the engine saw

	// demands are the workloads whose pods this group selects.
	demands map[*demand]struct{}

	// onlyPlace are the memberships of a pod that has only this one.
	onlyPlace *[]membership

	// namespaces are those where the group may have members. subjects are what matters to whether it is satisfied, and
	// subjectsBefore what matters to whether the groups are satisfied that must be passed before it.
	namespaces               map[string]struct{}
	subjects, subjectsBefore []Subject
}

// newSequence returns a sequence that has not come anywhere yet.
func newSequence(compiled *spec.Sequence, object *v1alpha1.PodSequence, cluster *v1alpha1.ClusterPodSequence) *sequence {
	s := &sequence{
		Sequence: compiled, groups: make([]*group, len(compiled.Groups)), object: object, cluster: cluster, created: object.CreationTimestamp.Time,
		domains: map[string]*domain{}, groupsByNamespace: map[string]spec.NamespaceGroups{}, classes: map[*equivalenceClass]struct{}{},
	}
	places, onlyPlaces := make([]membership, len(s.groups)), make([][]membership, len(s.groups))
	for i, g := range compiled.Groups {
		places[i], onlyPlaces[i] = membership{s, i}, places[i:i+1:i+1]
		s.groups[i] = &group{Group: g, demands: map[*demand]struct{}{}, namespaces: map[string]struct{}{}, onlyPlace: &onlyPlaces[i]}
	}
	s.dry = newDryRun(s)
	return s
}

// problems are those of the spec, after the refusal of the target namespace.
func (s *sequence) problems() []spec.Problem {
	if s.refused() {
		return slices.Insert(slices.Clone(s.Problems), 0, spec.Problem{Reason: v1alpha1.ReasonNamespaceNotAllowed, Message: s.refusal})
	}
	return slices.Clone(s.Problems)
}

// place is the pod's membership in the sequence, and whether it has one. groups are those of its namespace.
func (s *sequence) place(p *pod, groups spec.NamespaceGroups) (membership, bool) {
	if p.Terminating {
		return membership{}, false
	}
	group, ok := s.GroupOf(p.Namespace, p.Name, &p.Labels, groups)
	return membership{sequence: s, group: group}, ok
}

// nameOf names a pod in reports: with its namespace where that may be any.
func (s *sequence) nameOf(p *pod) string {
	if s.Cluster {
		return p.Namespace + "/" + p.Name
	}
	return p.Name
}

// record is what status says of a group that is still defined in the same way, and recordIndex the index that it had there.
func (s *sequence) record(i int) v1alpha1.GroupStatus { return s.Record(&s.object.Status, i) }

func (s *sequence) recordIndex(i int) int { return s.RecordIndex(&s.object.Status, i) }
