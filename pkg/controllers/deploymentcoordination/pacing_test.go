package deploymentcoordination

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"

	v1 "example.com/podsequence/apis/apps/v1"
)

func TestALargeStatusCostsAsMuchAsSeveralSmallOnes(t *testing.T) {
	for states, want := range map[int]int{0: 1, 3: 1, 64: 5, maxListed: 72} {
		status := &v1.DeploymentCoordinationStatus{DeploymentStates: make([]v1.DeploymentState, states)}
		assert.Equal(t, want, writeCost(status), "%d states", states)
	}
}

// pace are turns of so many small writes a second, twice as many at once, by the clock of a test. What waits asks again.
type pace struct {
	clock   clock.PassiveClock
	limiter *rate.Limiter
}

func newPace(clock clock.PassiveClock, perSecond int) pace {
	return pace{clock, rate.NewLimiter(rate.Limit(perSecond), 2*perSecond)}
}

func (p pace) Turn(_ types.NamespacedName, cost int) bool {
	return p.limiter.AllowN(p.clock.Now(), min(cost, p.limiter.Burst()))
}

func (p pace) Forget(types.NamespacedName) {}

// Templates change all the time.
func TestTheStatusesOfANamespaceAreWrittenLittleByLittle(t *testing.T) {
	const perSecond, seconds = 5, 10
	c := newCrowd(t)
	c.fill("hostile", 3, 40)
	c.settle("hostile")
	c.turns = newPace(c.clock, perSecond)
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
	assert.LessOrEqual(t, writes, (seconds+2)*perSecond)
	assert.Greater(t, writes, seconds*perSecond/2, "it goes on all the same")

	t.Log("when nothing more happens status says what is")
	for range 10 {
		c.clock.SetTime(c.clock.Now().Add(time.Second))
		for i := range c.coordinations["hostile"] {
			c.mayWrite(&asked{}, client.ObjectKeyFromObject(&c.coordinations["hostile"][i]))
		}
		c.settle("hostile")
	}
	for i := range c.coordinations["hostile"] {
		for _, state := range c.coordinations["hostile"][i].Status.DeploymentStates {
			assert.True(t, state.HasPendingChanges, "%s", state.Name)
		}
	}
	assert.Empty(t, c.namespaces.known["hostile"].remembered)
}

// slowWorld is one in which the next status may be written after so many seconds.
func slowWorld(t *testing.T, wait int) *world {
	w := newWorld(t, 1)
	w.quiet = true
	w.reconcileAll()
	slow := newPace(w.clock, 1)
	slow.limiter.ReserveN(w.clock.Now(), slow.limiter.Burst())
	for range wait - 1 {
		slow.limiter.ReserveN(w.clock.Now(), 1)
	}
	w.reconciler.turns = slow
	return w
}

func TestWhatIsSeenWhileTheStatusWaitsIsRemembered(t *testing.T) {
	w := slowWorld(t, 2) // the status, and an event
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

	w.pass(5 * time.Second)
	state := w.status().DeploymentStates[1]
	assert.True(t, state.HasPendingChanges)
	assert.Equal(t, "shop/b", w.status().ActiveDeployment)
}

// Nothing that only informs is written, as when other namespaces have much to write.
func TestStatusesThatWaitDelayNoTurn(t *testing.T) {
	w := slowWorld(t, 1000)
	w.change(true, "a", "b")
	w.reconcileAll()
	assert.False(t, w.status().DeploymentStates[0].HasPendingChanges, "that is for people, and comes later")
	w.pass(settleTime)
	assert.Equal(t, "shop/a", w.status().ActiveDeployment)
	assert.False(t, w.deployment("a").Spec.Paused)
	assert.True(t, w.deployment("b").Spec.Paused)
	since := w.status().DeploymentStates[1].PendingSince
	require.NotNil(t, since)
	assert.True(t, since.Time.Equal(noon), "since it was seen, not since it is on record")
}

// A coordination whose status waits is looked at when it is its turn, even if nothing happens.
func TestAStatusIsWrittenWhenItIsItsTurn(t *testing.T) {
	c := newCrowd(t)
	c.fill("shop", 3, 2)
	c.settle("shop")
	none := newPace(c.clock, 1)
	none.limiter.ReserveN(c.clock.Now(), 1000)
	c.turns = none
	c.change("shop", 0)
	c.settle("shop")
	before := c.statusCosts["shop"]

	c.turns = newPace(c.clock, plenty)
	c.settle("shop")
	assert.Equal(t, before, c.statusCosts["shop"], "nobody knows of it")
	a := &asked{}
	for i := range c.coordinations["shop"] {
		c.mayWrite(a, client.ObjectKeyFromObject(&c.coordinations["shop"][i]))
	}
	c.mayWrite(a, client.ObjectKey{Namespace: "unknown", Name: "c-0000"})
	assert.Len(t, a.requests, 3)
	c.settle("shop")
	assert.Greater(t, c.statusCosts["shop"], before)
}

// forgotten are turns that note what is forgotten.
type forgotten struct {
	pace
	objects []string
}

func (f *forgotten) Forget(object types.NamespacedName) { f.objects = append(f.objects, object.Name) }

func TestTheTurnOfACoordinationThatIsGoneIsForgotten(t *testing.T) {
	c := newCrowd(t)
	c.fill("shop", 1, 1)
	turns := &forgotten{pace: newPace(c.clock, plenty)}
	c.turns = turns
	gone := &c.coordinations["shop"][0]
	c.handler(ofCoordination).Delete(t.Context(), ctrlevent.DeleteEvent{Object: gone}, &asked{})
	assert.Equal(t, []string{gone.Name}, turns.objects)
}
