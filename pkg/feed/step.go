package feed

import (
	"time"

	"example.com/podsequence/pkg/sequence"
)

// open opens the sink if the engine knows everything.
func (f *Feed) open() {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	if f.synced || !f.interest.isKnown() || !f.sequences[0].listed || !f.sequences[1].listed {
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
	f.step(enter)
}

// applyAt enters an event of a version, and notes how far the watch has come before questions are asked about that.
func (f *Feed) applyAt(watch *position, version string, enter func() sequence.Changes) {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	f.stepAt(watch, version, enter)
}

// step is apply for who holds deliver.
func (f *Feed) step(enter func() sequence.Changes) {
	changes := f.engine.Tick(f.clock.Now())
	f.observeReleases(changes)
	f.publish(changes)
	begin := time.Now()
	changes = enter()
	eventDuration.Observe(time.Since(begin).Seconds())
	f.observeReleases(changes)
	f.publish(changes)
	f.forgetAbandoned()
	f.confirmDeferred()
	if wake := f.engine.NextWake(); !wake.Equal(f.wake) {
		f.wake = wake
		select {
		case f.rearm <- struct{}{}:
		default:
		}
	}
}

// stepAt is applyAt for who holds deliver.
func (f *Feed) stepAt(watch *position, version string, enter func() sequence.Changes) {
	f.step(func() sequence.Changes {
		defer watch.advanceByEvent(version)
		return enter()
	})
}

// publish asks the barrier the engine's questions, and passes on the other changes.
func (f *Feed) publish(changes sequence.Changes) {
	for subject, question := range changes.Questions {
		// The moment was after all that has entered the engine, so the version must be.
		f.barrier.ask(topicOf(subject), f.subjectOf(subject), question.Moment, latest(question.Version, f.versions.known()))
	}
	if f.synced && !changes.Empty() {
		for i := range changes.Released {
			if !changes.Released[i].Again {
				podsReleased.Inc()
			}
		}
		f.sink(changes)
	}
}
