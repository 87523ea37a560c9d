package sequence

import (
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// What callers of the Engine say in the words of the floors below it. They import no floor themselves.
type (
	// Stored is a PodSequence as it is stored, as far as it can be read.
	Stored = spec.Stored
	// Unreadable is a part of a stored spec that is not what its field takes.
	Unreadable = spec.Unreadable
	// Problem is something that keeps a sequence from doing what its spec says.
	Problem = spec.Problem
	// WorkloadKind is a kind of object that owns pods, or that of pods.
	WorkloadKind = inventory.Kind
)

// The kinds of workloads that the engine takes, and pods.
const (
	KindPod                   = inventory.KindPod
	KindDeployment            = inventory.KindDeployment
	KindReplicaSet            = inventory.KindReplicaSet
	KindReplicationController = inventory.KindReplicationController
	KindStatefulSet           = inventory.KindStatefulSet
	KindDaemonSet             = inventory.KindDaemonSet
	KindJob                   = inventory.KindJob
)

// Read makes a PodSequence of what is stored. It never fails: what can be read is kept, and Unreadable has the rest.
func Read(stored map[string]any) Stored { return spec.Read(stored) }
