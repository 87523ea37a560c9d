package sequence

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/spec"
)

// knowledge is what the API server last said, and what follows from it. The Engine's lock sees to it that one event at a time changes it,
// and that nobody looks at it meanwhile, except at what says that it waits for no event: published, unseen, and the settings.
//
// Each of its parts has one job, and none has another. What needs several of them is a method of knowledge: to enter what changed, to
// settle what follows, to judge pods.
type knowledge struct {
	settings settings
	world

	// What follows from that.
	unplaced unplaced

	// When time alone changes something.
	alarms progress.Alarms[*domain]
	trials progress.Alarms[member]
	// overrides ends the annotations of sequences that override specs for a time.
	overrides progress.Alarms[*sequence]
	// retries try pods on nodes that have opened, see tryOn.
	retries progress.Alarms[*sequence]

	// What readers see.
	published published
	unseen    unseenPods
}

func newKnowledge(config Config) *knowledge {
	k := &knowledge{
		settings: newSettings(config), world: newWorld(),
		unseen: unseenPods{versions: map[types.UID]string{}},
	}
	k.unplaced = newUnplaced(&k.nodes)
	return k
}

// domain is where the groups of a sequence are passed in order: the whole cluster, or one node.
type domain struct {
	sequence *sequence
	name     string // of the node; empty for the cluster, and for what is not bound yet
	node     *node  // nil for the cluster, and while the node is not known

	// groupStates are those of the groups that have or had something here, in order; of scope Cluster all. See find and peek.
	groupStates []*groupState
	// progress is how far the sequence is here.
	progress.State
	// alarm is set to when time alone will change something.
	alarm progress.Alarm[*domain]

	evaluated bool            // it has been settled at least once
	dirty     bool            // it will be settled at the end of this transaction
	published publishedDomain // when it was last settled; guarded by the sequence's domainsMu
}

// publishedDomain is how far a domain was when it was last published.
type publishedDomain struct {
	standing
	node *node // nil in the cluster, and while the node is not known
	// ripe are the groups whose pass is to be recorded.
	ripe spec.GroupSet
	// failed are the groups under way of which members failed.
	failed spec.GroupSet
	// lost is when a group was last lost, see lastLost.
	lost inventory.Timestamp
	// unpublished marks the domains of a sequence that is new, or new in this form.
	unpublished bool
}

// groupState counts one group in one domain.
type groupState struct {
	group   int
	members map[*pod]contribution            // its members, with what each adds to the sums
	named   map[*pod]contribution            // the same of pods that it names and that belong to an earlier group
	trials  map[*pod]*progress.Alarm[member] // of pods that are Ready and do not count as ready yet

	// sums and demands are what the rules of readiness look at.
	sums    readiness.Members
	demands readiness.Demands

	othersSatisfied   bool // of the group that has the rest: those before it are satisfied or skipped
	satisfied         bool
	unsatisfiedBefore bool      // it was not satisfied under the spec before, and has not been looked at since
	since             time.Time // when it became satisfied; zero while it is not
	dirty             bool      // its sums changed in this transaction
	turned            time.Time // the latest ready time of pods that turned ready in this transaction

	// enough reports that by since as many pods were ready as are required. That more turn ready does not change this. Else all members must
	// be looked at to find out.
	enough   bool
	required int
}

// emptyGroupState is what peek returns for a group without state. It is never written to.
var emptyGroupState = &groupState{}

// contribution is what a pod adds to the sums of a group that counts it.
type contribution struct {
	// since is since when the pod counts as ready in the group, or from when it will; zero if it is not Ready, and if nobody says.
	since inventory.Timestamp
	// demand is that of the pod's owner; nil if the pod does not count for it, as one of an older revision. If it is that of a later group,
	// the pod is one that this group need not expect.
	demand *demand
	readiness.Member
	// ready reports that the pod counts as ready in the group. timed reports that it does, or will, only because it stays Ready for a
	// while, see readiness.MinReady.
	ready, timed bool
}

// member is a pod in its group in a domain.
type member struct {
	pod    *pod
	domain *domain
	group  int
}

// demand is a workload's part in one group: the group selects its pods by their template.
type demand struct {
	workload *workload
	sequence *sequence
	group    int

	// done counts its members of the group that the workload owns and that are done, and claimed those that an earlier group has. Both are
	// of its newest revision only, unless all revisions count.
	done, claimed int
	// namedBefore is how many of its pods' names earlier groups list, whether the pods exist or not.
	namedBefore int

	// entered is what the group state of the group has of it.
	entered readiness.Demands
	// counted reports that it will be settled at the end of this transaction, and completed that it is of a Job that completed in it.
	counted, completed bool
}

// dryRun is what a sequence would have held in its dry run until it released the groups of the pods.
type dryRun struct {
	total   int
	longest time.Duration
}

// outOfOrder are the members that started out of order.
type outOfOrder struct {
	pods map[*pod]struct{} // nil if there are none
	// checks reports that this engine is the first to see the sequence.
	checks bool
	// from is when this engine first saw the sequence. It judges pods of other schedulers that are bound since, whoever saw the sequence first.
	from time.Time
}

// unplaced are the unbound pods that sequences of scope Node keep from some nodes, by what they wait for: those that are pinned by the node
// that they ask for, all others by their places in these sequences.
type unplaced struct {
	*nodes
	pinned   map[inventory.Pin]map[*pod]struct{}
	unpinned map[membership]map[*pod]struct{}
}

func newUnplaced(nodes *nodes) unplaced {
	return unplaced{nodes: nodes, pinned: map[inventory.Pin]map[*pod]struct{}{}, unpinned: map[membership]map[*pod]struct{}{}}
}

// Engine takes in what the API server says of PodSequences, pods, nodes and the workloads that make pods, event by event, and
// publishes what that changes. It is safe for concurrent use.
//
// Events come one at a time. Whoever asks waits for the event that is under way, by mu. The scheduler does not ask: it
// reads what is published, see Verdict, and waits for nothing. No lock is held while calling out.
type Engine struct {
	mu sync.RWMutex
	*knowledge
}

// NewEngine returns an engine that knows nothing.
func NewEngine(config Config) *Engine { return &Engine{knowledge: newKnowledge(config)} }

// published is what can be read without waiting for an event.
type published struct {
	pods       sync.Map // *publishedPod by types.NamespacedName: those without a node
	namespaces sync.Map // *publishedNamespace by name: those that have sequences
	existing   existing
}

// publishedPod is what the engine says of a pod. Readers find all but held and refused as it always was.
type publishedPod struct {
	*inventory.Pod               // the version that it is about
	places         *[]membership // as of the pod
	kept           *[]membership // the same
	held           atomic.Bool
	refused        atomic.Pointer[noNodeOpen] // nil if it was held since

	// opened and reason are for the engine alone, see verdict.
	opened uint64
	reason reason
}

// publishedNamespace holds the sequences of a namespace, if a pod can be matched with them in a short time.
type publishedNamespace struct {
	sequences map[*sequence]spec.GroupSet
	tooMany   bool
}

// existing is which sequences there are by name, and which namespaces require one. Readers look at it without waiting for an event, so
// what is gone leaves before anything else that its event changes is published, and what is new comes after the namespaces that it
// reaches: who finds a sequence here finds it there.
type existing struct {
	sequences sync.Map // by types.NamespacedName
	// namespaces maps the known namespaces to whether they require a sequence.
	namespaces sync.Map
	// uninstalled reports that the kind PodSequence is not installed. Then nobody can create what pods wait for.
	uninstalled atomic.Bool
}

// unseenPods are pods that wait because of an answer about a version of them that no event has brought yet. Their release is reported
// when they come.
//
// They have a lock of their own, because Decide notes them under the engine's read lock.
type unseenPods struct {
	mu       sync.Mutex
	versions map[types.UID]string
	brought  string // the newest version of a pod that an event or a list has brought
}

// verdict is what the engine says of a pod without a node. The one that is published is kept; what an event reports of pods is
// how it differs from the new one.
type verdict struct {
	held   bool
	reason reason // what it waits for; zero if it is not held

	// needs and opened are as of the pod.
	needs  []membership
	opened uint64
	// lift are its gates that may be lifted.
	lift []string
}

// reason is what a pod waits for, as far as a change of it is news of this pod. What a sequence waits for in the cluster is news
// of the sequence, see Changes.Advanced.
type reason struct {
	sequence *sequence // in the form that it has since its last edit
	// group is the first that the pod waits for on the one node that it asks for, counted from 1; -1 if there is no such node,
	// and 0 if it does not ask for one, or waits for no group.
	group int8
	// missing is a sequence that it waits for and that does not exist; the rest is zero then.
	missing spec.Missing
}
