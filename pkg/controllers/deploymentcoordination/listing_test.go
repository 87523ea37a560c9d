package deploymentcoordination

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/pkg/sequence"
)

// crowdOf are so many Deployments of namespace shop.
func crowdOf(n int, edits ...func(*Member)) []Member {
	members := make([]Member, n)
	for i := range members {
		members[i] = deployment(fmt.Sprintf("d-%04d", i), edits...)
	}
	return members
}

func TestStatusListsTheDeploymentsThatNobodyCouldWorkOutAnew(t *testing.T) {
	members := crowdOf(3000)
	active, late := 2999, 2990
	states := []v1.DeploymentState{}
	for _, i := range []int{2000, 2500, late, active} {
		changed(&members[i])
		if i != active {
			held(&members[i])
		}
		states = append(states, record(members[i], pending(long), started(long)))
	}
	in := Input{Coordination: coordination(members[active].Deployment.Name, states...), Members: members, Now: noon}
	got := Decide(in)

	require.Len(t, got.Status.DeploymentStates, maxListed)
	require.Len(t, got.Status.Deployments, maxListed)
	assert.Len(t, got.Unlisted, 2000)
	assert.EqualValues(t, 2000, got.Status.UnlistedDeployments)
	assert.Equal(t, members[active].name(), got.Status.ActiveDeployment)
	var listed []string
	for i, state := range got.Status.DeploymentStates {
		assert.Equal(t, state.Name, got.Status.Deployments[i])
		listed = append(listed, state.Name)
	}
	assert.True(t, slices.IsSorted(listed))
	for _, i := range []int{0, 995, 2000, 2500, late, active} {
		assert.Contains(t, listed, members[i].name())
	}
	for _, i := range []int{996, 2998} {
		assert.NotContains(t, listed, members[i].name())
		assert.NotNil(t, got.state(members[i].name()), "it is remembered")
	}
	ready := meta.FindStatusCondition(got.Status.Conditions, v1.ConditionReady)
	assert.Contains(t, ready.Message, "4 of 3000 Deployments still to roll out: ")
}

func TestOfThoseThatWaitStatusListsThoseThatHaveWaitedLongest(t *testing.T) {
	members := crowdOf(maxListed+1, changed, held)
	states := []v1.DeploymentState{record(members[maxListed], pending(2*long), onHold)}
	for i := range members[:maxListed] {
		states = append(states, record(members[i], pending(long), onHold))
	}
	got := Decide(Input{Coordination: coordination("", states...), Members: members, Busy: "shop/other", Now: noon})
	require.Len(t, got.Unlisted, 1)
	assert.Equal(t, members[maxListed-1].name(), got.Unlisted[0].Name)
}

func TestStatusNamesFewOfTheDeploymentsThatAnotherCoordinationHas(t *testing.T) {
	members := append(crowdOf(50, elsewhere), deployment("own"))
	got := Decide(Input{Coordination: coordination(""), Members: members, Overlapping: []string{"other"}, Now: noon})
	require.Len(t, got.Status.DeploymentStates, 1)
	assert.Equal(t, "shop/own", got.Status.DeploymentStates[0].Name)
	assert.Len(t, got.Status.Deployments, maxListedElsewhere+1)
	assert.EqualValues(t, 50-maxListedElsewhere, got.Status.UnlistedDeployments)
	assert.Empty(t, got.Unlisted, "the other one has their records")
	ready := meta.FindStatusCondition(got.Status.Conditions, v1.ConditionReady)
	assert.Equal(t, "51 Deployments rolled out", ready.Message)
}

// etcd refuses requests of more than 1.5 MiB.
func TestTheLargestStatusFitsIntoEtcd(t *testing.T) {
	namespace, name := strings.Repeat("n", 63), strings.Repeat("d", 248)
	members := crowdOf(5000, rolling, held)
	states := make([]v1.DeploymentState, len(members))
	for i := range members {
		m := &members[i]
		m.Deployment.Namespace, m.Deployment.Name = namespace, fmt.Sprintf("%s-%04d", name, i)
		m.Deployment.UID = types.UID(fmt.Sprintf("01234567-89ab-cdef-0123-45678901%04d", i))
		m.Deployment.Generation = math.MaxInt64
		m.Hold.Sequence = types.NamespacedName{Namespace: namespace, Name: strings.Repeat("s", 253)}
		m.Hold.Group = sequence.Hold{}.Group + strings.Repeat("g", 253)
		states[i] = record(*m, pending(-1234567), onHold, started(long), finished(long), skipped)
		states[i].TemplateHash, states[i].RolledOutTemplateHash, states[i].RolloutReplicas = "3w5e11264sgsf", "3w5e11264sgsf", new(int32(math.MaxInt32))
		m.known = &template{hash: states[i].TemplateHash}
	}
	got := Decide(Input{Coordination: coordination("", states...), Members: members, Now: noon})
	require.Len(t, got.Status.DeploymentStates, maxListed)
	encoded, err := json.Marshal(got.Status)
	require.NoError(t, err)
	const room = 64 << 10 // for spec and metadata
	assert.Less(t, len(encoded), 3<<19-room)
	t.Logf("%d bytes", len(encoded))
}

// What is not listed is remembered, so that it is treated like any other as long as the controller runs.
func TestDeploymentsThatAreNotListedAreCoordinatedToo(t *testing.T) {
	c := newCrowd(t)
	c.fill("shop", 1, maxListed+200)
	c.settle("shop")
	for i := range maxListed + 100 {
		c.change("shop", i)
	}
	c.settle("shop")
	status := func() *v1.DeploymentCoordinationStatus { return &c.coordinations["shop"][0].Status }
	paused := func() (n int) {
		for i := range c.deployments["shop"] {
			if c.deployments["shop"][i].Spec.Paused {
				n++
			}
		}
		return n
	}
	assert.Equal(t, maxListed+100, paused())
	assert.Len(t, status().DeploymentStates, maxListed)
	assert.EqualValues(t, 200, status().UnlistedDeployments)
	assert.Len(t, c.namespaces.known["shop"].remembered, 200)

	t.Log("its owner takes out one that is not listed: it has the turn, and is not paused again")
	unlisted := maxListed + 50
	d := &c.deployments["shop"][unlisted]
	takenOut(&Member{Deployment: d})
	c.version++
	d.ResourceVersion = fmt.Sprint(c.version + 1)
	c.event(ofDeployment, d)
	c.settle("shop")
	assert.False(t, c.deployments["shop"][unlisted].Spec.Paused)
	assert.Equal(t, "shop/"+d.Name, status().ActiveDeployment)
	assert.Equal(t, maxListed+99, paused())

	t.Log("after a restart nothing starts either")
	c.namespaces = newNamespaces()
	c.event(ofCoordination, &c.coordinations["shop"][0])
	c.settle("shop")
	assert.Equal(t, maxListed+99, paused())
	assert.Equal(t, "shop/"+d.Name, status().ActiveDeployment)
}

func TestARecordGoesWithItsDeployment(t *testing.T) {
	w := overlappingWorld(t)
	w.change(true, "b")
	w.reconcileAll()
	of := func(name string) *v1.DeploymentCoordination {
		c := &v1.DeploymentCoordination{}
		require.NoError(t, w.client.Get(w.ctx, types.NamespacedName{Namespace: "shop", Name: name}, c))
		return c
	}
	names := func(name string) (names []string) {
		for _, state := range of(name).Status.DeploymentStates {
			names = append(names, state.Name)
		}
		return names
	}
	assert.Equal(t, []string{"shop/b", "shop/c"}, names("other"))
	assert.Equal(t, []string{"shop/a", "shop/d"}, names("shop"))
	since := of("other").Status.DeploymentStates[0].PendingSince
	require.NotNil(t, since)
	w.clock.SetTime(w.clock.Now().Add(settleTime / 2))
	require.NoError(t, w.client.Delete(w.ctx, of("other")))
	w.reconcileAll()
	w.reconcileAll()
	assert.Equal(t, []string{"shop/a", "shop/b", "shop/d"}, names("shop"))
	assert.True(t, since.Equal(of("shop").Status.DeploymentStates[1].PendingSince), "it has waited since before")
}
