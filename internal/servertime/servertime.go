// Package servertime tells the time by which waits and time-outs count. Timestamps of pods and of status come from other machines; a
// process whose own clock is ahead of theirs would end each wait too early. So it compares its clock with the API server's.
package servertime

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Tolerance is a difference of clocks that nobody need know of.
const Tolerance = 2 * time.Second

// Clock is the own clock, put back by as much as it may be ahead of the API server's, if it is ahead: of both the earlier. One that is behind
// stays as it is; waits last longer by as much then. From one answer to the next the time that has passed counts, whatever the own clock
// is set to meanwhile.
type Clock struct {
	clock.WithTicker
	logger klog.Logger

	lock     sync.Mutex
	answered time.Time // the last answer, by the own clock; zero before the first
	// The own clock is ahead by something between these two, by what all answers since it was last set say together. Negative is behind.
	least, most time.Duration
}

// New returns the Clock of a process.
func New(logger klog.Logger) *Clock { return &Clock{WithTicker: ownClock(), logger: logger} }

// Now is the earlier of the own time and the API server's. It is zero until the API server has answered a client whose configuration
// was wrapped: a clock that never goes back must not begin with a wrong time.
func (c *Clock) Now() time.Time {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.answered.IsZero() {
		return time.Time{}
	}
	return c.own().Add(-max(0, c.difference()))
}

// own is the own time, as if nobody had set the clock since the last answer. There has been one, and the lock is held.
func (c *Clock) own() time.Time { return c.answered.Add(c.WithTicker.Now().Sub(c.answered)) }

// Stamps returns a clock for times that are written for others to count from: the API server's, at the earliest a second early and never late. By
// Now they might count from too early where this machine's clock is behind.
func (c *Clock) Stamps() clock.Clock { return stamps{c} }

type stamps struct{ *Clock }

func (s stamps) Now() time.Time {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.answered.IsZero() {
		return s.WithTicker.Now()
	}
	return s.own().Add(-s.difference())
}

func (s stamps) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// Since is the time passed since t, by Now.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Ahead is by how much the own clock is ahead of the API server's at most; negative where it is behind, and 0 where they may agree.
func (c *Clock) Ahead() time.Duration {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.difference()
}

func (c *Clock) difference() time.Duration {
	if c.least <= 0 && c.most >= 0 {
		return 0
	}
	return c.most
}

// Check fails while the clocks differ by more than Tolerance. It is a check for a readiness endpoint.
func (c *Clock) Check(*http.Request) error {
	ahead := c.Ahead()
	if ahead.Abs() <= Tolerance {
		return nil
	}
	where, then := "ahead of", "Waits and timeouts count by the API server's"
	if ahead < 0 {
		where, then = "behind", "Waits and timeouts end too late by as much"
	}
	return fmt.Errorf("the clock of this machine is %s %s the API server's. %s. Set it right, such as by NTP", ahead.Abs().Round(time.Second), where, then)
}

// Wrap makes clients of the configuration compare clocks with each answer.
func (c *Clock) Wrap(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{next: next, clock: c} })
}

type transport struct {
	next  http.RoundTripper
	clock *Clock
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := t.clock.WithTicker.Now()
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return response, err
	}
	received := t.clock.WithTicker.Now()
	date, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		date = received // a proxy took it away
	}
	t.clock.compare(sent, date, received)
	return response, nil
}

// WrappedRoundTripper lets client-go find the transport below, which it closes idle connections of.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// compare narrows the difference down by an answer. A server writes its date, in whole seconds, between the request and the answer: so
// the own clock was ahead by at least sent-(date+1s), and by at most received-date. An answer that contradicts those before it tells that
// a clock was set.
func (c *Clock) compare(sent, date, received time.Time) {
	least, most := sent.Sub(date)-time.Second, received.Sub(date)
	c.lock.Lock()
	before := c.difference()
	if c.answered.IsZero() || least > c.most || most < c.least {
		c.least, c.most = least, most
	} else {
		c.least, c.most = max(c.least, least), min(c.most, most)
	}
	c.answered = received
	after := c.difference()
	c.lock.Unlock()
	if after != before {
		c.say(before, after)
	}
}

// say reports the difference, and logs when it begins or ceases to matter.
func (c *Clock) say(before, after time.Duration) {
	clockAhead.Set(after.Seconds())
	switch differed, differs := before.Abs() > Tolerance, after.Abs() > Tolerance; {
	case differs && !differed:
		c.logger.Error(c.Check(nil), "Clocks differ", "ahead", after)
	case differed && !differs:
		c.logger.Info("The clock of this machine agrees with the API server's again", "ahead", after)
	}
}
