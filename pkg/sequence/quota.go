package sequence

import (
	"slices"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// starvedByQuota reports a group under way whose workload a ResourceQuota refuses pods, while pods of later groups use that quota up: pods
// count in a quota when they are created, and those that are held keep what they count. So the groups wait for each other. Deployments,
// ReplicaSets and ReplicationControllers say that pods were refused, and other workloads do not.
func (s *sequence) starvedByQuota() (spec.Problem, bool) {
	d := s.nodeless
	for i := range d.Current().All() {
		if d.looksSatisfied(i) {
			continue
		}
		var starved []*inventory.Workload
		for demand := range s.groups[i].demands {
			if w := &demand.workload.Workload; w.QuotaExceeded != "" && demand.entered.Short > 0 && d.heldFor(i, w.Namespace) > 0 {
				starved = append(starved, w)
			}
		}
		if len(starved) > 0 {
			first := slices.MinFunc(starved, func(a, b *inventory.Workload) int { return inventory.CompareWorkloads(a.Key(), b.Key()) })
			return report.StarvedByQuota(d.where(i), first, s.Cluster, d.heldFor(i, first.Namespace)), true
		}
	}
	return spec.Problem{}, false
}

// heldFor counts the pods of a namespace that wait for a group.
func (d *domain) heldFor(group int, namespace string) (held int) {
	for j, g := range d.sequence.groups {
		if !g.Awaited.Has(group) || d.Released.Has(j) {
			continue
		}
		for p := range d.peek(j).members {
			if p.Namespace == namespace && !p.Bound() {
				held++
			}
		}
	}
	return held
}
