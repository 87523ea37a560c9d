package sequence

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Config is what the operator of the cluster decides.
type Config struct {
	// SchedulerNames are the profiles of our scheduler: pods with one of these names can be held without a gate.
	SchedulerNames []string
	// GatePrefixes are the beginnings of gate names that may be lifted.
	GatePrefixes []string
	// ClusterScopeOnly reports that the engine does not see nodes: sequences of node scope are reported and release nothing.
	ClusterScopeOnly bool
}

// settings are what was decided, in the form in which it is asked for.
type settings struct {
	Config
	schedulerNames sets.Set[string]
}

func newSettings(config Config) settings {
	return settings{Config: config, schedulerNames: sets.New(config.SchedulerNames...)}
}

// isOurs reports whether our scheduler places the pod.
func (set *settings) isOurs(p *pod) bool { return set.schedulerNames.Has(p.SchedulerName) }

// unsupported reports whether the pod is one that nobody can place as a sequence of node scope wants it: it carries the
// gate, but its scheduler is not ours.
func (set *settings) unsupported(p *pod, m membership) bool {
	return m.sequence.PerNode && !m.sequence.DryRun && p.HasGate(m.sequence.Gate) &&
		(set.ClusterScopeOnly || !set.isOurs(p))
}

// needs returns the pod's places that keep it from some nodes, sorted by sequence.
func (set *settings) needs(p *pod) []membership {
	if p.Wants() == nil || p.Terminating || !set.isOurs(p) {
		return nil
	}
	var needs []membership
	for _, m := range p.memberships() {
		if m.sequence.PerNode && !m.sequence.DryRun && !m.waitsForNothing() {
			needs = append(needs, m)
		}
	}
	slices.SortFunc(needs, func(a, b membership) int { return compareKeys(a.sequence.Key, b.sequence.Key) })
	return needs
}
