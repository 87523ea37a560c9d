package deploymentcoordination

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "example.com/podsequence/apis/apps/v1"
)

// TestExtremeNumbersInSpecAndStatus decides over and over with every number as extreme as its field takes. A number in status
// may be anything, too: it is read back.
func TestExtremeNumbersInSpecAndStatus(t *testing.T) {
	extremes := []int32{math.MinInt32, -1, 0, 1, math.MaxInt32}
	times := []*metav1.Time{nil, at(-time.Hour), at(0), at(time.Hour)}
	for _, number := range extremes {
		for _, replicas := range extremes {
			for i, when := range times {
				t.Run(fmt.Sprintf("%d seconds, %d pods, time %d", number, replicas, i), func(t *testing.T) {
					members := []Member{deployment("a", changed), deployment("b", changed), deployment("c", rolled)}
					c := &v1.DeploymentCoordination{}
					c.Spec.MinReadySeconds, c.Spec.RolloutTimeoutSeconds = number, &number
					c.Status.ActiveDeployment, c.Status.ActiveSince = "shop/c", when
					for i := range members {
						c.Status.DeploymentStates = append(c.Status.DeploymentStates, v1.DeploymentState{
							Name: members[i].name(), UID: members[i].Deployment.UID, HasPendingChanges: true, Paused: true,
							RolloutReplicas: &replicas, LastRolloutStarted: when, LastRolloutFinished: when,
							TemplateHash: members[i].templateHash(),
						})
					}
					for range 3 {
						d := Decide(Input{Coordination: c, Members: members, Now: noon, ReadySince: &noon})
						for i := range members {
							require.GreaterOrEqual(t, members[i].wantedReady(&d.Status.DeploymentStates[i]), 0)
						}
						c.Status = d.Status
					}
				})
			}
		}
	}
}

func TestATimeOutOfDecadesIsNotOver(t *testing.T) {
	c := &v1.DeploymentCoordination{}
	c.Spec.RolloutTimeoutSeconds = new(int32(math.MaxInt32))
	member := deployment("a", rolling)
	c.Status.ActiveDeployment = member.name()
	c.Status.ActiveSince = at(-time.Hour)
	c.Status.DeploymentStates = []v1.DeploymentState{{
		Name: member.name(), UID: member.Deployment.UID, HasPendingChanges: true, TemplateHash: member.templateHash(), LastRolloutStarted: at(-time.Hour),
	}}
	d := Decide(Input{Coordination: c, Members: []Member{member}, Now: noon})
	assert.Equal(t, member.name(), d.Status.ActiveDeployment)
	assert.Greater(t, d.Again.Sub(noon), 60*365*24*time.Hour)
}

// The leader before us, or the Deployment controller, may have had another clock.
func TestATimeThatIsYetToComeCountsAsNow(t *testing.T) {
	for name, tc := range map[string]struct {
		active  string
		states  []v1.DeploymentState
		members []Member
		spec    v1.DeploymentCoordinationSpec
		after   time.Duration
		want    string
	}{
		"since when one waits": {
			states:  []v1.DeploymentState{record(deployment("a", changed), pending(time.Hour), onHold)},
			members: []Member{deployment("a", changed, held)}, after: time.Second, want: "shop/a",
		},
		"since when one is active": {
			active: "a", states: []v1.DeploymentState{record(deployment("a", changed), pending(long), started(time.Hour))},
			members: []Member{deployment("a", rolling)}, after: 7 * time.Second,
			spec: v1.DeploymentCoordinationSpec{RolloutTimeoutSeconds: new(int32(5)), OnTimeout: v1.TimeoutSkip},
		},
		"when a rollout was complete, by the Deployment": {
			active: "a", states: []v1.DeploymentState{record(deployment("a", changed), pending(long), started(-time.Minute))},
			members: []Member{deployment("a", rolled, progress("NewReplicaSetAvailable", time.Hour))}, after: 7 * time.Second,
			spec: v1.DeploymentCoordinationSpec{MinReadySeconds: 5},
		},
		"when a rollout was complete, by the record": {
			active: "a", states: []v1.DeploymentState{record(deployment("a", changed), started(-time.Minute), finished(time.Hour))},
			members: []Member{deployment("a", rolled)}, after: 7 * time.Second,
			spec: v1.DeploymentCoordinationSpec{MinReadySeconds: 5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Coordination: coordination(tc.active, tc.states...), Members: tc.members, ReadySince: new(noon.Add(-time.Minute)), Now: noon}
			in.Coordination.Spec = tc.spec
			in.Coordination.Status = Decide(in).Status
			in.Now = noon.Add(tc.after)
			assert.Equal(t, tc.want, Decide(in).Status.ActiveDeployment)
		})
	}
}
