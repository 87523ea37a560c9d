package sequence

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/progress"
)

// knowledge is what the API server last said, and what follows from it. The Engine's locks see to it that one event at a time changes it,
// and that nobody looks at it meanwhile, except at what says that it waits for no event: published, unseen, the settings, and the moment.
//
// Each of its parts has one job, and none has another. What needs several of them is a method of knowledge: to enter what changed, to
// settle what follows, to judge pods.
type knowledge struct {
	settings settings
	now      time.Time // of the last Tick
	settled  uint64    // counts the transactions that were settled

	// What the API server said, by part.
	namespaces namespaces
	consents   consents
	workloads  workloads
	podGroups  podGroups
	failures   failures
	nodes      nodes
	interner   inventory.Interner

	// The sequences, those of scope Node, and those with groups that select namespaces by label.
	sequences map[types.NamespacedName]*sequence
	perNode   map[*sequence]struct{}
	selectors map[*sequence]struct{}

	// What may be missing, when time alone changes something, and what readers see.
	questions questions
	alarms    progress.Alarms[*domain]
	trials    progress.Alarms[member]
	published published
	unseen    unseenPods
}

func newKnowledge(config Config) knowledge {
	return knowledge{
		settings:   newSettings(config),
		sequences:  map[types.NamespacedName]*sequence{},
		namespaces: namespaces{},
		consents:   newConsents(),
		workloads:  newWorkloads(),
		nodes:      newNodes(),
		perNode:    map[*sequence]struct{}{},
		selectors:  map[*sequence]struct{}{},
		podGroups:  podGroups{},
		failures:   failures{},
		questions:  newQuestions(),
		unseen:     unseenPods{versions: map[types.UID]string{}},
	}
}
