package progress

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAlarms(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	var alarms Alarms[string]
	assert.Zero(t, alarms.Next())
	a, b, c := Alarm[string]{Owner: "a"}, Alarm[string]{Owner: "b"}, Alarm[string]{Owner: "c"}
	alarms.Set(&a, at(3))
	alarms.Set(&b, at(2))
	alarms.Set(&c, at(1))
	alarms.Set(&c, time.Time{}) // it never rings
	alarms.Set(&c, time.Time{})
	assert.Equal(t, at(2), alarms.Next())
	alarms.Set(&a, at(1)) // an owner has one
	assert.Empty(t, slices.Collect(alarms.Due(at(0))))
	assert.Equal(t, []string{"a", "b"}, slices.Collect(alarms.Due(at(2))))
	assert.Zero(t, alarms.Next(), "an alarm rings once")
	alarms.Set(&a, at(4))
	assert.Equal(t, at(4), alarms.Next(), "it may be set again")
}
