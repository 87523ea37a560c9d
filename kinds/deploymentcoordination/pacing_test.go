package deploymentcoordination

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/pkg/statusbudget"
)

func TestALargeStatusCostsAsMuchAsSeveralSmallOnes(t *testing.T) {
	for states, want := range map[int]int{0: 1, 3: 1, 64: 5, maxListed: 72} {
		status := &v1.DeploymentCoordinationStatus{DeploymentStates: make([]v1.DeploymentState, states)}
		assert.Equal(t, want, writeCost(status), "%d states", states)
	}
}

// Templates change all the time in one namespace, and once in another.
func TestTheStatusesOfANamespaceAreWrittenLittleByLittle(t *testing.T) {
	const perSecond, seconds = 5, 10
	c := newCrowd(t)
	c.fill("hostile", 3, 40)
	c.fill("quiet", 1, 2)
	c.settle("hostile")
	c.settle("quiet")
	c.budget = statusbudget.New(c.clock, nil, perSecond)
	before := c.statusCosts["hostile"]
	for i := range seconds * 10 {
		d := &c.deployments["hostile"][i%40]
		setTemplate(d, strconv.Itoa(i))
		c.version++
		d.ResourceVersion = strconv.Itoa(c.version + 1)
		c.event(ofDeployment, d)
		c.settle("hostile")
		paused, active := c.deployments["hostile"][i%40].Spec.Paused, "hostile/"+d.Name
		if !paused {
			assert.Equal(t, active, c.coordinations["hostile"][0].Status.ActiveDeployment, "others are paused at once")
		}
		c.clock.SetTime(c.clock.Now().Add(100 * time.Millisecond))
	}
	writes := c.statusCosts["hostile"] - before
	assert.LessOrEqual(t, writes, (seconds+statusbudget.Burst)*perSecond)
	assert.Greater(t, writes, seconds*perSecond/2, "it goes on all the same")

	c.change("quiet", 0)
	c.settle("quiet")
	assert.True(t, c.coordinations["quiet"][0].Status.DeploymentStates[0].Paused, "nobody else waits")

	t.Log("when nothing more happens status says what is")
	for range 10 {
		c.clock.SetTime(c.clock.Now().Add(time.Second))
		c.settle("hostile")
	}
	for i := range c.coordinations["hostile"] {
		for _, state := range c.coordinations["hostile"][i].Status.DeploymentStates {
			assert.True(t, state.HasPendingChanges, "%s", state.Name)
		}
	}
	assert.Empty(t, c.namespaces.known["hostile"].remembered)
}

// slowWorld is one in which the next status may be written after so many seconds, and one in each second after that.
func slowWorld(t *testing.T, wait int) *world {
	w := newWorld(t, 1)
	w.quiet = true
	w.reconcileAll()
	w.reconciler.budget = statusbudget.New(w.clock, nil, 1)
	for i := range statusbudget.Burst + wait - 1 {
		w.reconciler.budget.Turn(client.ObjectKey{Namespace: "shop", Name: fmt.Sprint(i)}, 1)
	}
	return w
}

func TestWhatIsSeenWhileTheStatusWaitsIsRemembered(t *testing.T) {
	w := slowWorld(t, 1)
	w.change(false, "b")
	w.reconcileAll()
	assert.True(t, w.deployment("b").Spec.Paused, "the pause does not wait")
	assert.False(t, w.status().DeploymentStates[1].HasPendingChanges)

	t.Log("its owner takes it out before it is on record")
	b := w.deployment("b")
	takenOut(&Member{Deployment: b})
	require.NoError(t, w.client.Update(w.ctx, b))
	w.clock.SetTime(noon.Add(500 * time.Millisecond))
	w.reconcileAll()
	assert.False(t, w.deployment("b").Spec.Paused, "it is not paused again")

	w.pass(500 * time.Millisecond)
	state := w.status().DeploymentStates[1]
	assert.True(t, state.HasPendingChanges)
	assert.Equal(t, "shop/b", w.status().ActiveDeployment)
}

func TestNothingIsUnpausedBeforeItIsOnRecordWhoseTurnItIs(t *testing.T) {
	w := slowWorld(t, 3)
	w.change(true, "a", "b")
	w.reconcileAll()
	w.pass(1500 * time.Millisecond)
	assert.Empty(t, w.status().ActiveDeployment)
	assert.True(t, w.deployment("a").Spec.Paused, "though it is its turn")
	w.pass(1500 * time.Millisecond)
	assert.Equal(t, "shop/a", w.status().ActiveDeployment)
	assert.False(t, w.deployment("a").Spec.Paused)
	assert.True(t, w.deployment("b").Spec.Paused)
	since := w.status().DeploymentStates[1].PendingSince
	require.NotNil(t, since)
	assert.True(t, since.Time.Equal(noon), "since it was seen, not since it is on record")
}

func TestTheBudgetForgetsWhatIsGone(t *testing.T) {
	c := newCrowd(t)
	c.fill("shop", 40, 1)
	c.budget = statusbudget.New(c.clock, nil, 1)
	c.settle("shop")
	waits := func() time.Duration { return c.budget.Turn(client.ObjectKey{Namespace: "shop", Name: "c-0030"}, 1) }
	before := waits()
	require.NotZero(t, before)
	for i := range c.coordinations["shop"] {
		c.handler(ofCoordination).Delete(t.Context(), ctrlevent.DeleteEvent{Object: &c.coordinations["shop"][i]}, &asked{})
	}
	assert.Greater(t, waits(), before, "one that is created under the same name is another")
}

func TestOtherNamespacesDelayNoTurn(t *testing.T) {
	w := newWorld(t, 1)
	w.quiet = true
	w.reconcileAll()
	shared := statusbudget.NewShared(w.clock, 1)
	hostile := statusbudget.New(w.clock, shared, 100)
	for i := range 100 {
		hostile.Turn(client.ObjectKey{Namespace: fmt.Sprint("hostile-", i%7), Name: fmt.Sprint(i)}, 9)
	}
	w.reconciler.budget = statusbudget.New(w.clock, shared, 100)
	w.change(true, "a", "b")
	w.reconcileAll()
	assert.False(t, w.status().DeploymentStates[0].HasPendingChanges, "that is for people, and comes later")
	w.pass(settleTime)
	assert.Equal(t, "shop/a", w.status().ActiveDeployment)
	assert.False(t, w.deployment("a").Spec.Paused)
	assert.True(t, w.deployment("b").Spec.Paused)
}
