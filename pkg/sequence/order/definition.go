package order

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

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

	RequiredCondition string `json:"requiredCondition,omitempty"`

	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`

	Objects []v1alpha1.ObjectReference `json:"objects,omitempty"`

	NodeConditions []v1alpha1.NodeConditionRequirement `json:"nodeConditions,omitempty"`

	// Scope is empty for Cluster. What was passed on a node was not passed in the cluster.
	Scope v1alpha1.Scope `json:"scope,omitempty"`

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
		ExpectedPods: spec.ExpectedPods, MinReadySeconds: spec.MinReadySeconds, RequiredCondition: spec.RequiredCondition,
		Objects: definedObjects(spec), NodeConditions: normalConditions(spec.NodeConditions),
	}
	if spec.RequiredStatus == v1alpha1.RequireComplete || spec.RequiredStatus == v1alpha1.RequireStarted {
		d.RequiredStatus = spec.RequiredStatus
	}
	if stored.Spec.Scope == v1alpha1.ScopeNode {
		d.Scope = stored.Spec.Scope
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

// recordIndex is RecordIndex for the hash of a group, which is at this index now.
func recordIndex(status *v1alpha1.PodSequenceStatus, hash string, group int) int {
	if group < len(status.Groups) && recordedHash(status, group) == hash {
		return group
	}
	for i := range status.Groups {
		if recordedHash(status, i) == hash {
			return i
		}
	}
	return -1
}

// RecordOf returns what status says of the group with this hash, which is at this index now; zero if it does not speak of it.
func RecordOf(status *v1alpha1.PodSequenceStatus, hash string, group int) v1alpha1.GroupStatus {
	if index := recordIndex(status, hash, group); hash != "" && index >= 0 {
		return GroupRecord(status, index)
	}
	return v1alpha1.GroupStatus{}
}

// Same says which groups of a sequence are defined in the same way in an earlier version of it: the index there for each group,
// or -1.
type Same []int

// Set returns the groups of the later version that are in a set of the earlier one.
func (s Same) Set(earlier GroupSet) GroupSet {
	var set GroupSet
	for i, before := range s {
		if before >= 0 && earlier.Has(before) {
			set.Add(i)
		}
	}
	return set
}
