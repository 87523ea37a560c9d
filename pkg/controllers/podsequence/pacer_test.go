package podsequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestPacer(t *testing.T) {
	shop := types.NamespacedName{Namespace: "shop", Name: "backend"}
	other := types.NamespacedName{Namespace: "shop", Name: "frontend"}
	clock := clocktesting.NewFakePassiveClock(time.Now())
	pacer := newPacer(clock)

	assert.Zero(t, pacer.wait(shop), "the first write goes at once")
	pacer.wrote(shop)
	assert.Equal(t, writeInterval, pacer.wait(shop))
	assert.Zero(t, pacer.wait(other), "objects do not wait for one another")

	clock.SetTime(clock.Now().Add(writeInterval - time.Millisecond))
	assert.Equal(t, time.Millisecond, pacer.wait(shop))
	clock.SetTime(clock.Now().Add(time.Millisecond))
	assert.Zero(t, pacer.wait(shop))
	clock.SetTime(clock.Now().Add(time.Hour))
	assert.Zero(t, pacer.wait(shop), "a long wait does not save up writes")

	pacer.wrote(shop)
	pacer.forget(shop)
	assert.Zero(t, pacer.wait(shop), "an object made again under the same name starts afresh")
	assert.Empty(t, pacer.last)
}
