package deploymentcoordination

import (
	"k8s.io/apimachinery/pkg/types"

	v1 "example.com/podsequence/apis/apps/v1"
)

// records are what is on record of Deployments, by their UID. A Deployment that was deleted and made again under the same
// name is another one.
type records map[types.UID]*v1.DeploymentState

func recordsOf(status *v1.DeploymentCoordinationStatus) records {
	all := make(records, len(status.DeploymentStates))
	all.add(status.DeploymentStates)
	return all
}

func (r records) add(states []v1.DeploymentState) {
	for i := range states {
		r[states[i].UID] = &states[i]
	}
}

// readRecords collects what is on record of the Deployments that a coordination matches. It is in the status of the one in
// whose hands the Deployment is. When it has just come there, it still is in the status of the one before, which may be written first: so
// it is remembered until the new one has it.
func (t *turn) readRecords() {
	places := make(map[types.UID]int, len(t.around.deployments))
	for place := range t.around.deployments {
		if uid := t.around.deployments[place].UID; len(t.plan.matching[place]) > 0 {
			places[uid] = place
		} else {
			delete(t.remembered, uid)
		}
	}
	t.records = make(records, len(places))
	passing := map[types.UID]bool{} // from one coordination to another
	for i := range t.around.coordinations {
		states := t.coordination(i).Status.DeploymentStates
		for s := range states {
			place, matched := places[states[s].UID]
			if _, known := t.records[states[s].UID]; matched && (!known || t.handler(place) == i) {
				t.records[states[s].UID] = &states[s]
				passing[states[s].UID] = t.handler(place) != i
			}
		}
	}
	for uid, isPassing := range passing {
		if _, remembered := t.remembered[uid]; isPassing && !remembered {
			t.remembered[uid] = t.records[uid].DeepCopy()
		}
	}
	for uid, state := range t.remembered {
		t.records[uid] = state
	}
}

// remember keeps states that are not on record in the API.
func (t *turn) remember(states []v1.DeploymentState) {
	t.remembered.add(states)
	t.records.add(states)
}

// recorded notes that states are on record in the API.
func (t *turn) recorded(states []v1.DeploymentState) {
	for i := range states {
		delete(t.remembered, states[i].UID)
	}
	t.records.add(states)
}

// renew gives the members what is on record of them by now.
func (t *turn) renew(members []Member) {
	for i := range members {
		members[i].Record = t.records[members[i].Deployment.UID]
	}
}
