package spec

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// definition is what decides membership and requirement of a group, and so what a recorded pass depends on. The name is
// not part of it.
type definition struct {
	Pods        []string                `json:"pods,omitempty"`
	PodSelector *v1alpha1.LabelSelector `json:"podSelector,omitempty"`

	RequiredStatus v1alpha1.RequiredStatus        `json:"requiredStatus,omitempty"`
	MinAvailable   *intstr.IntOrString            `json:"minAvailable,omitempty"`
	NodeSelector   map[string]v1alpha1.LabelValue `json:"nodeSelector,omitempty"`

	ExpectedPods int32 `json:"expectedPods,omitempty"`

	// Namespaces and NamespaceSelector are those of a group of a ClusterPodSequence.
	Namespaces        []string                `json:"namespaces,omitempty"`
	NamespaceSelector *v1alpha1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// define returns the definition of a group. Records of its hash are stored in status: fields added to definition must be
// omitted when they have their defaults.
func define(stored Stored, group int) definition {
	spec := &stored.Spec.PodGroups[group]
	d := definition{
		Pods: sortedSet(spec.Pods), PodSelector: spec.PodSelector, MinAvailable: spec.MinAvailable, NodeSelector: spec.NodeSelector,
		ExpectedPods: spec.ExpectedPods,
	}
	if spec.RequiredStatus == v1alpha1.RequireComplete {
		d.RequiredStatus = spec.RequiredStatus
	}
	if stored.Cluster != nil {
		in := &stored.Cluster.Spec.PodGroups[group]
		d.Namespaces, d.NamespaceSelector = sortedSet(in.Namespaces), in.NamespaceSelector
	}
	return d
}

func sortedSet(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// chain extends the hash of the groups before by this definition.
func chain(before [sha256.Size]byte, d definition) [sha256.Size]byte {
	text, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Sprintf("marshalling strings cannot fail: %v", err))
	}
	return sha256.Sum256(append(before[:], text...))
}

// Record returns what status says of a group, if that is still defined in the same way, and else the zero value.
func (s *Sequence) Record(status *v1alpha1.PodSequenceStatus, group int) v1alpha1.GroupStatus {
	if records := status.Groups; group < len(records) && records[group].Hash == s.Groups[group].Hash {
		return records[group]
	}
	return v1alpha1.GroupStatus{}
}

// RecordedPasses returns the number of groups that status says were passed, as far as they are still defined in the same way.
func (s *Sequence) RecordedPasses(status *v1alpha1.PodSequenceStatus) int {
	for i := min(len(status.Groups), len(s.Groups)); i > 0; i-- {
		if record := status.Groups[i-1]; record.PassedAt != nil && record.Hash == s.Groups[i-1].Hash {
			return i
		}
	}
	return 0
}

// SameGroups returns the number of groups, from the first on, that both sequences define in the same way.
func (s *Sequence) SameGroups(other *Sequence) int {
	same := 0
	for same < min(len(s.Groups), len(other.Groups)) && s.Groups[same].Hash == other.Groups[same].Hash {
		same++
	}
	return same
}

// ProofMark returns the part of the proof on a pod that says that this sequence released it in a group.
func (s *Sequence) ProofMark(group int) string { return string(s.UID) + "/" + s.Groups[group].Hash }

// ProvenGroup returns the group in which this sequence released a pod, as the marks of its proof say and as the groups
// are defined now. A sequence that was made again, or whose groups are defined in another way, is not the one that
// released the pod.
func (s *Sequence) ProvenGroup(marks []string) (group int, ok bool) {
	for _, mark := range marks {
		uid, hash, _ := strings.Cut(mark, "/")
		if uid != string(s.UID) {
			continue
		}
		i := slices.IndexFunc(s.Groups, func(g *Group) bool { return g.Hash == hash })
		return i, i >= 0
	}
	return 0, false
}
