package deploymentcoordination

import (
	"cmp"
	"slices"

	v1 "example.com/podsequence/apis/apps/v1"
)

// Each object of the API has to fit into a request to etcd, of 1.5 MiB. And the API server encodes a coordination with its
// status for each request that the policy looks at.
const (
	// maxListed is how many Deployments status has a record of. With the longest names a record has 1.4 kB.
	maxListed = 1000
	// maxListedElsewhere is how many it names besides that are in the hands of another coordination.
	maxListedElsewhere = 10
)

// list puts on record what status has room for: the states of the Deployments that are in the hands of this coordination,
// those first that nobody could work out anew.
func (d *deliberation) list() {
	var own, others []int
	for i := range d.members {
		if d.members[i].Elsewhere {
			others = append(others, i)
		} else {
			own = append(own, i)
		}
	}
	if len(own) > maxListed {
		slices.SortStableFunc(own, func(a, b int) int { return d.compareUrgency(&d.members[a], &d.members[b]) })
		for _, i := range own[maxListed:] {
			d.decision.Unlisted = append(d.decision.Unlisted, *d.members[i].state)
		}
		own = own[:maxListed]
		slices.Sort(own)
	}
	named := slices.Concat(own, others[:min(len(others), maxListedElsewhere)])
	slices.Sort(named)
	d.status.Deployments = make([]string, 0, len(named))
	for _, i := range named {
		d.status.Deployments = append(d.status.Deployments, d.members[i].name())
	}
	d.status.UnlistedDeployments = int32(len(d.members) - len(named))
	d.status.DeploymentStates = make([]v1.DeploymentState, 0, len(own))
	for _, i := range own {
		d.status.DeploymentStates = append(d.status.DeploymentStates, *d.members[i].state)
	}
}

// compareUrgency puts the active Deployment first, then those with pending changes, those that have waited longest first.
func (d *deliberation) compareUrgency(a, b *member) int {
	if order := cmp.Or(compareBools(d.isActive(a), d.isActive(b)), compareBools(a.isPending(), b.isPending())); order != 0 {
		return order
	}
	if since, other := a.state.PendingSince, b.state.PendingSince; since != nil && other != nil {
		return since.Compare(other.Time)
	}
	return 0
}

// state returns what the decision says of a Deployment, as namespace/name; nil if it is in the hands of another coordination.
func (d *Decision) state(name string) *v1.DeploymentState {
	for _, states := range [][]v1.DeploymentState{d.Status.DeploymentStates, d.Unlisted} {
		for i := range states {
			if states[i].Name == name {
				return &states[i]
			}
		}
	}
	return nil
}
