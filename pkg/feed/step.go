package feed

import (
	"time"

	"example.com/podsequence/pkg/sequence"
)

// open opens the sink if the engine knows everything.
func (f *Feed) open() {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	if f.synced || !f.sequences[0].listed || !f.sequences[1].listed {
		return
	}
	f.synced = true
	f.state.Store(nil)
	engineSynced.Set(1)
	f.publish(f.engine.Everything())
	if f.opened != nil {
		f.opened()
	}
}

// suspend closes the sink until the engine knows everything again, the sequences of a kind among them.
func (f *Feed) suspend(kind *sequenceKind, why string) {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	f.synced, kind.listed = false, false
	f.setState(why)
	engineSynced.Set(0)
}

// apply enters something into the engine and passes on what that changed. The two are one step, so that the sink sees
// changes in the order in which they came about.
func (f *Feed) apply(enter func() sequence.Changes) {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	changes := f.engine.Tick(f.clock.Now())
	f.observeReleases(changes)
	f.publish(changes)
	begin := time.Now()
	changes = enter()
	eventDuration.Observe(time.Since(begin).Seconds())
	f.observeReleases(changes)
	f.publish(changes)
	if next := f.engine.NextWake(); !next.IsZero() {
		f.timer.Reset(next.Sub(f.clock.Now()))
	}
}

// publish passes on changes.
func (f *Feed) publish(changes sequence.Changes) {
	if f.synced && !changes.Empty() {
		f.sink(changes)
	}
}
