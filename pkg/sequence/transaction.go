package sequence

import (
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
)

// transaction is one step of the engine: objects are entered one by one, and only then is it seen what that changes.
type transaction struct {
	Question // about everything until this event
	// relisted reports that it is a list, which hides what happened since the last event before it.
	relisted bool
	// domains are those whose sums, nodes or memberships changed.
	domains []*domain
	// classes are those for which a node came, went, or became something else.
	classes []*equivalenceClass
	// refresh are nodes that are to be looked at for an equivalence class when all domains stand where they will stand.
	refresh []classNode
	// placed are the pods whose memberships changed, or that asked too early.
	placed []placedPod
	// emptyNodes are nodes on which nothing of a sequence is and where it may be elsewhere than before.
	emptyNodes []emptyNodeChange
	// pins are pins that may mean another node than before.
	pins []inventory.Pin
	// entered are the pods of which there is a new version.
	entered []enteredPod
	// sighted are pods that nobody saw before, or not since there is a sequence that has them.
	sighted []*pod
	// nodes are the names of those that came, went or changed.
	nodes []string
	// namespaces are those whose sequences changed; a name may be there twice.
	namespaces []string
	// edited are sequences whose waiting pods may wait for something else though no group was passed.
	edited []types.NamespacedName
}

// placedPod is a pod whose right to go is looked at once more when the transaction is settled.
type placedPod struct {
	*pod
	waited bool // it could not go before, or not to all nodes to which it may be scheduled now
	held   bool // it could not go before, which is published
}

// enteredPod is a pod of which there is a new version.
type enteredPod struct {
	*pod
	noted bool // somebody waits for it because of an answer, and that it is released or held is reported already
}

type classNode struct {
	class *equivalenceClass
	node  *node
}

func (tx *transaction) touch(d *domain) {
	if d != nil && !d.touched {
		d.touched = true
		tx.domains = append(tx.domains, d)
	}
}

// touchGroup has the group looked at anew.
func (tx *transaction) touchGroup(d *domain, group int) {
	if d != nil {
		d.groupState(group)
		tx.touch(d)
	}
}

func (tx *transaction) touchClass(c *equivalenceClass) {
	if !c.touched {
		c.touched, c.wasHeld = true, c.nodes.Held()
		tx.classes = append(tx.classes, c)
	}
}
