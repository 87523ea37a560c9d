// Package player plays the steps of a plan on a site. Objects, definitions, boots of nodes and faults have a timeline each: steps that
// wait for an API server that is down must not keep it from being started again.
package player

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/test/prove/plan"
	"example.com/podsequence/test/prove/site"
)

// Player plays plans on one site.
type Player struct {
	Site *site.Site
	// Referee is told of schedulers that were stopped.
	Referee *ordercheck.Referee
	// Trace is told of every step and what came of it.
	Trace     io.Writer
	traceLock sync.Mutex

	// Sprung are the steps of crashes that took place: a plan cannot know which writes will be made.
	Sprung []plan.Step
	ambush *plan.Step
}

// Play plays everything in the plan, and ends what faults began. It returns when all components of the control plane are healthy;
// our programs may still be starting.
func (p *Player) Play(ctx context.Context, what *plan.Plan) error {
	if slices.ContainsFunc(what.Steps, func(s plan.Step) bool { return s.Verb == plan.Travel }) {
		if err := p.Site.StartSecondAPIServer(ctx); err != nil {
			return err
		}
		defer p.Site.StopSecondAPIServer()
	}
	if slices.ContainsFunc(what.Steps, func(s plan.Step) bool { return s.Verb == plan.ClockAhead }) {
		if err := p.Site.BuildTenMinutesAhead(ctx); err != nil {
			return err
		}
	}
	began := time.Now()
	var objects, definitions, boots, faults []plan.Step
	for _, s := range what.Steps {
		switch {
		case s.Verb == plan.RemoveDefinition || s.Verb == plan.RestoreDefinition:
			definitions = append(definitions, s)
		case s.Verb == plan.Reboot:
			boots = append(boots, s)
		case s.Fault():
			faults = append(faults, s)
		default:
			objects = append(objects, s)
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.playTimeline(groupCtx, began, objects, user{p.Site.API}.do) })
	group.Go(func() error { return p.playTimeline(groupCtx, began, definitions, p.redefine) })
	group.Go(func() error { return p.playTimeline(groupCtx, began, boots, p.reboot) })
	group.Go(func() error { return p.playFaults(groupCtx, began, faults) })
	if err := group.Wait(); err != nil {
		return err
	}
	return p.Site.RestoreDefinitions(ctx)
}

func (p *Player) reboot(ctx context.Context, step plan.Step) error {
	if slices.Contains(p.Site.RealNodes(), step.Args[0]) {
		return p.Site.RebootNode(ctx, step.Args[0])
	}
	return user{p.Site.API}.do(ctx, step)
}

func (p *Player) playTimeline(ctx context.Context, began time.Time, steps []plan.Step, do func(context.Context, plan.Step) error) error {
	for _, step := range steps {
		select {
		case <-time.After(time.Until(began.Add(step.At))):
		case <-ctx.Done():
			return ctx.Err()
		}
		at := time.Since(began).Round(time.Millisecond)
		err := do(ctx, step)
		outcome := "done"
		if err != nil {
			outcome = err.Error()
		}
		p.trace("%s %s: %s\n", at, summary(step), outcome)
		if err != nil && !isRefused(err) {
			return fmt.Errorf("play %q: %w", summary(step), err)
		}
	}
	return nil
}

func (p *Player) trace(format string, args ...any) {
	p.traceLock.Lock()
	defer p.traceLock.Unlock()
	_, _ = fmt.Fprintf(p.Trace, format, args...) // a trace that cannot be written helps nobody
}

// summary is a step without the object in it.
func summary(step plan.Step) string {
	step.Body = ""
	return step.String()
}

// playFaults ends all that is left of the faults when their last step is over.
func (p *Player) playFaults(ctx context.Context, began time.Time, steps []plan.Step) error {
	err := p.playTimeline(ctx, began, steps, p.fault)
	for _, name := range p.Site.Stopped() {
		err = errors.Join(err, p.resume(name))
	}
	for _, name := range p.Site.Travelling() {
		p.comeBack(name)
	}
	p.endAmbush()
	return errors.Join(err, p.Site.Recover(ctx))
}

// endAmbush notes whether the last crash took place.
func (p *Player) endAmbush() {
	if killed := p.Site.EndAmbush(); killed > 0 {
		p.Sprung = append(p.Sprung, *p.ambush)
	}
	p.ambush = nil
}

func (p *Player) fault(ctx context.Context, step plan.Step) error {
	name := step.Args[0]
	switch step.Verb {
	case plan.Kill:
		return p.Site.KillProcess(ctx, name)
	case plan.Start:
		return p.Site.StartProcess(ctx, name)
	case plan.Stop:
		return p.Site.StopProcess(name)
	case plan.Continue:
		return p.resume(name)
	case plan.ClockAhead:
		p.Site.SetClock(name, true)
		return nil
	case plan.ClockRight:
		p.Site.SetClock(name, false)
		return nil
	case plan.Delay:
		by, err := time.ParseDuration(step.Args[1])
		p.Site.Delay(name, by)
		return err
	case plan.Cut:
		p.Site.Cut(name)
		return nil
	case plan.CrashBefore, plan.CrashAfter:
		p.endAmbush()
		write := site.Write{Method: name, Resource: step.Args[1]}
		p.Site.KillAtWrite(site.Ambush{Write: write, After: step.Verb == plan.CrashAfter, Times: 1})
		p.ambush = &step
		return nil
	case plan.Refuse:
		code, err := strconv.Atoi(name)
		p.Site.Refuse(code)
		return err
	case plan.Travel:
		return p.travel(step)
	}
	return fmt.Errorf("%s is no fault", step.Verb)
}

func (p *Player) redefine(ctx context.Context, step plan.Step) error {
	if step.Verb == plan.RemoveDefinition {
		return p.Site.RemoveDefinition(ctx, step.Args[0])
	}
	return p.Site.RestoreDefinition(ctx, step.Args[0])
}

// schedulers are what may bind, when it is continued, what it decided before it was stopped.
var schedulers = []string{"podsequence-scheduler-1", "podsequence-scheduler-2"}

func (p *Player) resume(name string) error {
	stopped, err := p.Site.ContinueProcess(name)
	if !stopped.IsZero() && (slices.Contains(schedulers, name) || !p.Site.Ours(name)) {
		p.Referee.SchedulerStopped(ordercheck.Stop{From: stopped, To: time.Now()})
	}
	return err
}

func (p *Player) travel(step plan.Step) error {
	if step.Ends() {
		p.comeBack(step.Args[0])
		return nil
	}
	lag, err := time.ParseDuration(step.Args[1])
	if err != nil {
		return err
	}
	return p.Site.ServeStale(step.Args[0], lag)
}

// comeBack ends the trip of an instance. It did meanwhile what had been right before.
func (p *Player) comeBack(name string) {
	if trip := p.Site.Return(name); trip.Lag > 0 {
		p.Referee.Lagged(ordercheck.Lag{From: trip.Began, To: time.Now(), By: trip.Lag})
	}
}
