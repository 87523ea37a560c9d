package servertime

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	testingclock "k8s.io/utils/clock/testing"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// answer is one of an API server whose clock says served after noon, to a request that the own clock times.
type answer struct{ sent, served, received time.Duration }

func TestTheEarlierOfTwoClocksCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		answers []answer
		// own is what the own clock says at the end, want what counts, both after noon.
		own, want time.Duration
		ready     bool
	}{
		"clocks that agree within the second of a date": {
			answers: []answer{{900 * time.Millisecond, 900 * time.Millisecond, 950 * time.Millisecond}, {time.Second, time.Second, time.Second}},
			own:     time.Minute, want: time.Minute, ready: true,
		},
		"an own clock that is ten minutes ahead": {
			answers: []answer{{10 * time.Minute, 0, 10 * time.Minute}},
			own:     11 * time.Minute, want: time.Minute, ready: false,
		},
		"of several answers the one that came fastest counts": {
			answers: []answer{
				{10 * time.Minute, 0, 10 * time.Minute},
				{10*time.Minute + 950*time.Millisecond, 950 * time.Millisecond, 10*time.Minute + 1960*time.Millisecond},
			},
			own: 11 * time.Minute, want: time.Minute, ready: false,
		},
		"a slow answer moves no clock": {
			answers: []answer{{0, 20 * time.Second, 30 * time.Second}},
			own:     time.Minute, want: time.Minute, ready: true,
		},
		"an own clock that is behind counts, and is reported": {
			answers: []answer{{0, 10 * time.Minute, 0}},
			own:     time.Minute, want: time.Minute, ready: false,
		},
		"a clock that is set ahead counts as before with the next answer": {
			answers: []answer{{0, 0, 0}, {11 * time.Minute, time.Minute, 11 * time.Minute}},
			own:     12 * time.Minute, want: 2 * time.Minute, ready: false,
		},
		"a clock that is set right counts again": {
			answers: []answer{{10 * time.Minute, 0, 10 * time.Minute}, {time.Minute, time.Minute, time.Minute}},
			own:     2 * time.Minute, want: 2 * time.Minute, ready: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			own := testingclock.NewFakeClock(noon)
			c := &Clock{WithTicker: own, logger: klog.Background()}
			for _, a := range tc.answers {
				own.SetTime(noon.Add(a.sent))
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example.com", http.NoBody)
				require.NoError(t, err)
				config := &rest.Config{}
				c.Wrap(config)
				response, err := config.WrapTransport(server{own, a}).RoundTrip(request)
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
			}
			own.SetTime(noon.Add(tc.own))
			assert.Equal(t, tc.want, c.Now().Sub(noon))
			assert.Equal(t, tc.want, c.Since(noon))
			if tc.ready {
				assert.NoError(t, c.Check(nil))
			} else {
				assert.ErrorContains(t, c.Check(nil), "the clock of this machine is ")
			}
		})
	}
}

func TestTimesAreWrittenByTheClockOfTheServer(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"an own clock that is behind": -10 * time.Minute, "one that is ahead": 10 * time.Minute, "one that is right": 0} {
		t.Run(name, func(t *testing.T) {
			own := testingclock.NewFakeClock(noon)
			c := &Clock{WithTicker: own, logger: klog.Background()}
			c.compare(noon.Add(ahead), noon, noon.Add(ahead))
			own.SetTime(noon.Add(ahead + time.Minute))
			assert.Equal(t, time.Minute, c.Stamps().Now().Sub(noon))
			assert.Equal(t, time.Minute, c.Stamps().Since(noon))
		})
	}
}

func TestBeforeTheFirstAnswerNoTimeCounts(t *testing.T) {
	assert.Zero(t, (&Clock{WithTicker: testingclock.NewFakeClock(noon)}).Now())
}

// server answers with the date of its own clock, in whole seconds as HTTP has it.
type server struct {
	clock  *testingclock.FakeClock
	answer answer
}

func (s server) RoundTrip(*http.Request) (*http.Response, error) {
	s.clock.SetTime(noon.Add(s.answer.received))
	return &http.Response{
		StatusCode: http.StatusOK, Body: http.NoBody,
		Header: http.Header{"Date": {noon.Add(s.answer.served).Format(http.TimeFormat)}},
	}, nil
}
