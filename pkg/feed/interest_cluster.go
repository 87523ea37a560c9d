package feed

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence"
)

// A ClusterPodSequence speaks of many namespaces, and enters the engine only when all of them are complete. Until then the engine
// knows nothing of it, and the pods wait that it may hold, see keptBack. That is so when it is created or edited, and takes as long
// as to list what there is in the namespaces that were not of interest before.
//
// A namespace that comes to be selected later does not keep it waiting. There the Namespace is kept back from the engine, so that
// the namespace counts when it is complete.

// clusterSequence is a ClusterPodSequence.
type clusterSequence struct {
	interest sequence.Interest
	held     *sequence.Stored    // it is kept back from the engine; nil if it is not
	waits    []*watchedNamespace // what for
}

// holdCluster is holdBack for a ClusterPodSequence.
func (i *interest) holdCluster(key types.NamespacedName, stored sequence.Stored, now time.Time) bool {
	c := i.clusters[key]
	if c == nil {
		c = &clusterSequence{}
		i.clusters[key] = c
	}
	c.interest = sequence.InterestOf(stored, i.installation)
	targets := map[string]struct{}{}
	for _, name := range c.interest.Names {
		targets[name] = struct{}{}
	}
	if c.interest.SelectsAny() {
		i.kept.namespaces(func(name string, labels map[string]string) {
			if c.interest.Selects(name, labels) {
				targets[name] = struct{}{}
			}
		})
	}
	for target := range i.countsIn[key] {
		if _, still := targets[target]; !still {
			i.removeSequence(key, target, now)
		}
	}
	c.waits = nil
	for target := range targets {
		if ns := i.addSequence(key, target, &c.interest); !ns.complete {
			c.waits = append(c.waits, ns)
		}
	}
	wasHeld := c.held != nil
	if c.held = nil; len(c.waits) == 0 {
		if wasHeld {
			i.taken = append(i.taken, key)
		}
		return false
	}
	i.unsettled = true // if it is an edit, pods may wait no more that it spoke of before
	c.held = &stored
	i.kept.setCluster(key, keptCluster{c.interest, c.waits}) // before the engine forgets what it knows of it
	return true
}

// forgetCluster is forgetSequence for a ClusterPodSequence.
func (i *interest) forgetCluster(key types.NamespacedName, now time.Time) {
	c := i.clusters[key]
	if c == nil {
		return
	}
	for target := range i.countsIn[key] {
		i.removeSequence(key, target, now)
	}
	delete(i.clusters, key)
	if c.held != nil {
		i.taken = append(i.taken, key)
	}
}

// setLabels tells the ClusterPodSequences that select namespaces that a namespace was created, was deleted, or changed its
// labels.
func (i *interest) setLabels(name string, labels map[string]string, exists bool, now time.Time) {
	i.kept.setLabels(name, labels, exists)
	i.unsettled = i.unsettled || i.kept.hasClusters() // other pods wait for them than before
	for key, c := range i.clusters {
		if c.names(name) || !c.interest.SelectsAny() {
			continue
		}
		if exists && c.interest.Selects(name, labels) {
			i.addSequence(key, name, &c.interest)
		} else {
			i.removeSequence(key, name, now)
		}
	}
}

func (c *clusterSequence) names(namespace string) bool {
	for _, name := range c.interest.Names {
		if name == namespace {
			return true
		}
	}
	return false
}

// takeClusters returns the ClusterPodSequences that wait for no namespace any more. The caller passes them to the engine and then
// calls settle.
func (i *interest) takeClusters() []sequence.Stored {
	if !i.kept.hasClusters() {
		return nil
	}
	var taken []sequence.Stored
	for key, c := range i.clusters {
		if c.held == nil || c.isWaiting(i) {
			continue
		}
		taken = append(taken, *c.held)
		i.taken = append(i.taken, key)
		c.held, c.waits = nil, nil
	}
	return taken
}

// isWaiting reports whether any namespace is incomplete for which the sequence waits.
func (c *clusterSequence) isWaiting(i *interest) bool {
	for _, ns := range c.waits {
		if now := i.namespaces[ns.name]; now != nil && !now.complete {
			return true
		}
	}
	return false
}

// settle ends the wait for ClusterPodSequences that the engine has received or that are gone, and wakes the pods that waited for
// them.
func (i *interest) settle() {
	for _, key := range i.taken {
		if c := i.clusters[key]; c == nil || c.held == nil {
			i.kept.setCluster(key, keptCluster{})
		}
		i.unsettled = true
	}
	i.taken = nil
	if i.unsettled {
		i.unsettled = false
		i.kept.announceLoosened()
		i.advanced = true
		wake(i.wakeup)
	}
}
