package feed

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence"
)

// A ClusterPodSequence speaks of many namespaces, and enters the engine only when all of them are complete. Until then the engine
// knows nothing of it, and every pod waits: which pods it holds nobody knows. That is so when it is created or edited, and takes as
// long as to list what there is in the namespaces that were not of interest before.
//
// A namespace that comes to be selected later does not keep it waiting. There the Namespace is kept back from the engine, so that
// the namespace counts when it is complete.

// clusterSequence is a ClusterPodSequence.
type clusterSequence struct {
	interest sequence.Interest
	held     *sequence.Stored // it is kept back from the engine; nil if it is not
	waits    []*space         // what for
}

// holdCluster is holdBack for a ClusterPodSequence.
func (i *interest) holdCluster(key types.NamespacedName, stored sequence.Stored, now time.Time) bool {
	c := i.clusters[key]
	if c == nil {
		c = &clusterSequence{}
		i.clusters[key] = c
	}
	c.interest = sequence.InterestOf(stored)
	targets := map[string]struct{}{}
	for _, name := range c.interest.Names {
		targets[name] = struct{}{}
	}
	if c.interest.SelectsAny() {
		for name, labels := range i.labels {
			if c.interest.Selects(labels) {
				targets[name] = struct{}{}
			}
		}
	}
	for target := range i.counted[key] {
		if _, still := targets[target]; !still {
			i.leave(key, target, now)
		}
	}
	c.waits = nil
	for target := range targets {
		if sp := i.add(key, target); !sp.complete {
			c.waits = append(c.waits, sp)
		}
	}
	wasHeld := c.held != nil
	if c.held = nil; len(c.waits) > 0 {
		c.held = &stored
	}
	switch {
	case c.held != nil && !wasHeld:
		i.heldClusters.Add(1)
	case c.held == nil && wasHeld:
		i.freed++ // when the engine has been told of it
	}
	return c.held != nil
}

// removeCluster is remove for a ClusterPodSequence.
func (i *interest) removeCluster(key types.NamespacedName, now time.Time) {
	c := i.clusters[key]
	if c == nil {
		return
	}
	for target := range i.counted[key] {
		i.leave(key, target, now)
	}
	if delete(i.clusters, key); c.held != nil {
		i.freed++
	}
}

// setLabels has the ClusterPodSequences that select namespaces look at one that came, went, or changed its labels.
func (i *interest) setLabels(name string, labels map[string]string, exists bool, now time.Time) {
	if !exists {
		delete(i.labels, name)
	} else {
		i.labels[name] = labels
	}
	for key, c := range i.clusters {
		if c.names(name) || !c.interest.SelectsAny() {
			continue
		}
		if exists && c.interest.Selects(labels) {
			i.add(key, name)
		} else {
			i.leave(key, name, now)
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

// takeClusters returns the ClusterPodSequences that wait for no namespace any more. When the engine has been told of them,
// settleClusters must be called.
func (i *interest) takeClusters() []sequence.Stored {
	if i.heldClusters.Load() == 0 {
		return nil
	}
	var taken []sequence.Stored
	for _, c := range i.clusters {
		if c.held == nil || c.isWaiting(i) {
			continue
		}
		taken = append(taken, *c.held)
		c.held, c.waits = nil, nil
		i.freed++
	}
	return taken
}

// isWaiting reports whether any namespace is incomplete for which the sequence waits.
func (c *clusterSequence) isWaiting(i *interest) bool {
	for _, sp := range c.waits {
		if now := i.spaces[sp.name]; now != nil && !now.complete {
			return true
		}
	}
	return false
}

// settleClusters has pods wait no longer for ClusterPodSequences that the engine has been told of by now, or that are gone.
func (i *interest) settleClusters() {
	if i.freed == 0 {
		return
	}
	left := i.heldClusters.Add(-i.freed)
	i.freed = 0
	i.settledMu.Lock()
	defer i.settledMu.Unlock()
	if left == 0 {
		close(i.settled)
		i.settled = make(chan struct{})
	}
}

// awaitClusters returns once no ClusterPodSequence is kept back from the engine.
func (i *interest) awaitClusters(ctx context.Context) error {
	for {
		i.settledMu.Lock()
		settled := i.settled
		i.settledMu.Unlock()
		if i.heldClusters.Load() == 0 {
			return nil
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return fmt.Errorf("wait for the namespaces of a ClusterPodSequence to be listed: %w", context.Cause(ctx))
		}
	}
}
