package sequence

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/spec"
)

// world is what the API server last said, with indexes. Only the apply_ files change it.
type world struct {
	now        time.Time // of the last Tick
	namespaces namespaces
	consents   consents
	workloads  workloads
	nodes      nodes
	interner   inventory.Interner

	// All sequences, and those of scope Node.
	sequences map[types.NamespacedName]*sequence
	perNode   map[*sequence]struct{}
}

func newWorld() world {
	return world{
		namespaces: namespaces{}, workloads: newWorkloads(), nodes: newNodes(),
		consents:  consents{facts: map[string]namespaceFacts{}},
		sequences: map[types.NamespacedName]*sequence{}, perNode: map[*sequence]struct{}{},
	}
}

// namespaces are those that have pods or that sequences reach, by name.
type namespaces map[string]*namespace

// namespace holds the pods of one namespace and the sequences that reach it.
type namespace struct {
	pods map[string]*pod
	// strays are the pods that name a PodSequence of the namespace and are none of its members, by the name, whether it exists or not.
	strays map[string]map[*pod]struct{}
	// sequences are all of them, also those that have no members, with the groups that may have some here. matchCost is what it
	// costs to match a pod with them.
	sequences map[*sequence]spec.GroupSet
	matchCost int
}

// consents knows which namespaces there are, whom each lets hold its pods, and its labels.
type consents struct {
	// facts are of all namespaces that there are.
	facts map[string]namespaceFacts
}

// namespaceFacts are the annotation of a namespace that lists whom it allows, empty for one without, its UID, and its labels, in a
// version of the namespace.
type namespaceFacts struct {
	text    string
	labels  map[string]string
	version string
	// going reports that the namespace is being deleted, and with it, one after the other, all that is in it.
	going bool
}

// pod is a pod, and what it is to the engine. What it points to is shared: with other pods, and with who reads what is published.
type pod struct {
	*inventory.Pod // never nil, and never written to: another version takes its place
	*unbound       // never nil, see newPod

	places *[]membership // see memberships; never written to
}

// unbound is what matters of a pod only while it has no node. Pods that have one share a value that nobody writes to.
type unbound struct {
	// kept are its places in sequences of scope Node that keep it from some nodes, see needs; nil if none does.
	kept *[]membership
	// opened counts how often a node opened to it, so that it is to be tried again.
	opened uint64

	published *publishedPod
}

// bound is what all pods that have a node share.
var bound = &unbound{}

// newPod returns a pod of which nothing is known.
func newPod() *pod { return &pod{Pod: inventory.NoPod(), unbound: bound} }

// membership is a pod's place in one sequence.
type membership struct {
	sequence *sequence
	group    int
}

// workloads are the objects that make pods, and how they hang together.
type workloads struct {
	byUID       map[types.UID]*workload
	byName      map[inventory.WorkloadKey]*workload
	byNamespace map[string]map[*workload]struct{}
	// ownedWorkloads are the ReplicaSets of a Deployment, or the Jobs of a CronJob, by the owner's UID.
	ownedWorkloads map[types.UID]map[*workload]struct{}
	// unfinished is, by the UID of a CronJob that still has Jobs, when the newest of its Jobs was created that were deleted before they
	// were complete.
	unfinished map[types.UID]time.Time
	// ownedPods are the pods that belong to some sequence, by the UID of their controller, known or not.
	ownedPods lists[types.UID, *pod]
	// daemonPods counts, by the UID of a DaemonSet, its pods that belong to some sequence, by revision.
	daemonPods map[types.UID]map[string]int
	// nodeless are the DaemonSets that sequences of scope Cluster select and that expect no pod.
	nodeless map[*workload]struct{}
}

func newWorkloads() workloads {
	return workloads{
		byUID: map[types.UID]*workload{}, byName: map[inventory.WorkloadKey]*workload{}, byNamespace: map[string]map[*workload]struct{}{},
		ownedWorkloads: map[types.UID]map[*workload]struct{}{}, ownedPods: lists[types.UID, *pod]{},
		nodeless: map[*workload]struct{}{}, unfinished: map[types.UID]time.Time{}, daemonPods: map[types.UID]map[string]int{},
	}
}

// workload is a workload, and what it is to the engine.
type workload struct {
	inventory.Workload

	// demands holds the workload's place in each sequence whose groups select its pods.
	demands map[*sequence]*demand

	// dueRule says on which nodes a DaemonSet should have a pod, and onNode counts the pods that it has on each. Others have neither.
	dueRule *readiness.DueRule
	onNode  map[string]int

	// replaced reports that its CronJob has had a newer Job, which ended its failure also if the newer one goes first.
	replaced bool

	// changedAs is the version with which it became what counts of it now.
	changedAs string
}

// nodes are all nodes.
type nodes struct {
	byName map[string]*node
	hosts  map[string]map[string]struct{} // names of nodes by host name
	// changedAs is the version with which one last came: pods may count that are bound to it.
	changedAs string
	listed    bool // a list has said which nodes there are: others do not exist
	// pods are those that have a node, which may not be known, and have not ended, by the name of the node.
	pods lists[string, *pod]
}

func newNodes() nodes {
	return nodes{byName: map[string]*node{}, hosts: map[string]map[string]struct{}{}, pods: lists[string, *pod]{}}
}

// node is a node, and what it is to the engine.
type node struct {
	inventory.Node
	seenAt time.Time // when the engine came to know it
}

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
	// unreadable is what cannot be read of it.
	unreadable []spec.Unreadable
	// overrideEnd is when its annotations end to count.
	overrideEnd progress.Alarm[*sequence]

	// domains are where groups are passed in order: the one domain with the empty name for scope Cluster; for scope Node one for
	// each node where something of the sequence is or is due, and the one with the empty name for members that are not bound yet.
	domains map[string]*domain
	// nodeless is the domain with the empty name; nil until the sequence is registered.
	nodeless *domain
	// groupsByNamespace maps the namespaces where some of the groups may have members to those groups.
	groupsByNamespace map[string]spec.GroupSet
	// domainsMu guards which domains there are and what they published against those who read without the engine's lock. It is the
	// innermost lock, and held for a look at one domain, or at all of them when OpenNodes are looked at anew.
	domainsMu sync.RWMutex
	// knowledge provides the nodes and the time. It is nil until the sequence is registered.
	knowledge *knowledge
	// resumedSeen is when a suspension was lifted, as the engine saw it; zero if it saw none.
	resumedSeen time.Time
	// suspendedSeen reports that the engine saw its suspension begin, and so knows better than status what had been released.
	suspendedSeen bool
	// opens counts what may have changed to which of its groups some node is open, see Placement.Open.
	opens atomic.Uint64
	// untried are the groups of which pods were not tried when a node opened to them, and retry is when they are: see tryOn.
	untried spec.GroupSet
	retry   progress.Alarm[*sequence]
	// firstReleased reports that the first group had been released, so that being suspended does not hold it.
	firstReleased bool
	// registered reports whether the engine still goes by this sequence.
	registered bool

	// changedAs is the version of the event with which its groups, or the namespaces where they have members, became what they are.
	changedAs string
	// sinceVersion is the version of the event with which the sequence began to count, in its scope; empty if nobody knows.
	sinceVersion string
	// gone are the failures of members that went before status listed them.
	gone map[types.UID]v1alpha1.Failure
	// ended are the failures that are over and that status still lists.
	ended sets.Set[types.UID]

	// dry is what it would have held; nil but for a dry run.
	dry *dryRun

	// outOfOrder are the members that started before the sequence existed.
	outOfOrder outOfOrder

	// nodeRecords are what status says of nodes that wait.
	nodeRecords map[string]*v1alpha1.NodeStatus
}

// group is one pod group, and what the engine knows of it wherever it is.
type group struct {
	*spec.Group

	watchedSince time.Time // since when the engine watches it, defined as it is
	editedAt     time.Time // when an edit gave it this definition; zero if none did that the engine saw

	// failuresOverAt is when the newest Job of the group was created that has completed, whether it is still there or not. In scope Node
	// it is not kept.
	failuresOverAt time.Time

	// demands are the workloads whose pods this group selects.
	demands map[*demand]struct{}

	// open are the nodes that were open to it when somebody last looked, see Placement.OpenNodes.
	open atomic.Pointer[OpenNodes]

	// objects are what status says of the objects that the group waits for.
	objects readiness.Objects

	// onlyPlace are the memberships of a pod that has only this one.
	onlyPlace *[]membership
}

// memberships are the pod's places, in no more than one group of a sequence. No element is ever written to.
func (p *pod) memberships() []membership { return membershipsIn(p.places) }

// needs are the pod's places that keep it from some nodes. No element is ever written to: who reads what is published reads them too.
func (p *pod) needs() []membership { return membershipsIn(p.kept) }

func membershipsIn(places *[]membership) []membership {
	if places == nil {
		return nil
	}
	return *places
}
