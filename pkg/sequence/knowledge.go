package sequence

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/podgroups"
	"example.com/podsequence/pkg/sequence/confirmation"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/progress"
)

// knowledge is what the API server last said, and what follows from it. It has no lock: the Engine sees to it that one event at a
// time changes it, and that nobody looks at it meanwhile but at what is published and at pods that are not seen yet.
type knowledge struct {
	config         Config
	schedulerNames sets.Set[string]

	now         time.Time     // of the last Tick
	newest      string        // the newest version of anything seen
	moment      atomic.Uint64 // see Engine.Moment
	reachedAsOf reachedAsOf
	split       bool // see Engine.VersionsIncomparable
	relisted    confirmation.Relisted
	alarms      progress.Alarms[*domain]
	sequences   map[types.NamespacedName]*sequence
	namespaces  map[string]*namespace
	consents    consents
	workloads   workloads

	nodes   map[string]*node
	slots   []*node                        // the nodes, each at a place of its own while it is there
	hosts   map[string]map[string]struct{} // names of nodes by host name
	perNode map[*sequence]struct{}         // sequences of scope Node
	// selectors are the sequences with groups that select namespaces by label.
	selectors map[*sequence]struct{}
	daemons   map[*workload]struct{} // DaemonSets that they select

	requirements requirements
	pinned       map[inventory.Pin]map[*pod]struct{}
	podGroups    map[podgroups.Reference]*podGroup
	unconfirmed  map[string]*unconfirmed // by namespace

	published published
	settled   uint64 // counts the transactions that were settled
	unseen    unseenPods
	shared    inventory.Shared
}

func newKnowledge(config Config) knowledge {
	return knowledge{
		config:         config,
		schedulerNames: sets.New(config.SchedulerNames...),
		sequences:      map[types.NamespacedName]*sequence{},
		namespaces:     map[string]*namespace{},
		consents:       newConsents(),
		workloads:      newWorkloads(),
		nodes:          map[string]*node{},
		hosts:          map[string]map[string]struct{}{},
		perNode:        map[*sequence]struct{}{},
		selectors:      map[*sequence]struct{}{},
		daemons:        map[*workload]struct{}{},
		requirements:   requirements{byKey: map[string]*requirement{}, classes: map[string]*equivalenceClass{}},
		pinned:         map[inventory.Pin]map[*pod]struct{}{},
		podGroups:      map[podgroups.Reference]*podGroup{},
		unconfirmed:    map[string]*unconfirmed{},
		unseen:         unseenPods{versions: map[types.UID]string{}},
	}
}
