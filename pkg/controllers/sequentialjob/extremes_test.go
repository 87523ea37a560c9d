package sequentialjob

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/apis/batch/v1alpha1"
)

func TestExtremeNumbersMeanWhatTheySay(t *testing.T) {
	for name, tc := range map[string]struct {
		world *worldWrapper
		want  write
		sleep bool
	}{
		"a deadline far away stops nothing": {
			world: makeWorld(2).at(0).job(0).spec(deadline(math.MaxInt32)), want: nothing, sleep: true,
		},
		"a deadline farther away than can be counted makes the spec one that cannot be run": {
			world: makeWorld(2).at(0).job(0).spec(deadline(math.MaxInt64)), want: stopJob,
		},
		"so does one before the beginning": {world: makeWorld(2).at(0).job(0).spec(deadline(math.MinInt64)), want: stopJob},
		"a life of decades has not ended": {
			world: makeWorld(2).status(finishedAt(seconds(-60))).spec(timeToLive(math.MaxInt32)), want: nothing, sleep: true,
		},
		"a life of less than nothing is no time to live": {
			world: makeWorld(2).status(finishedAt(seconds(-60))).spec(timeToLive(math.MinInt32)), want: nothing,
		},
		"a status of steps that nobody knows of": {
			world: makeWorld(0).undecodable("x").status(func(s *v1alpha1.SequentialJobStatus) {
				s.Progress.CompletedIndices = []int32{math.MinInt32, -1, math.MaxInt32 - 1, math.MaxInt32}
			}), want: nothing,
		},
		"a status of steps that there are not": {
			world: makeWorld(2).status(func(s *v1alpha1.SequentialJobStatus) {
				s.Progress.CompletedIndices = []int32{math.MinInt32, -1, math.MaxInt32 - 1, math.MaxInt32}
				s.Progress.CurrentIndex = new(int32(math.MaxInt32))
			}), want: nothing,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(tc.world.world)
			assert.Equal(t, tc.want, d.write)
			if tc.want == nothing {
				assert.Equal(t, tc.sleep, d.wake.After(noon), "it is decided again later")
			}
		})
	}
}
