package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// bench plays scenes, each on a cluster of its own, and collects what was measured.
type bench struct {
	settings
	out   io.Writer
	began time.Time
}

// settings are what the flags say.
type settings struct {
	sizes        sizes
	requests     float64
	quota        bool
	applications int
	rate         float64
	patience     time.Duration
	logs         string
}

// warmUp is how many applications are started before anything is measured: first times are slower.
const warmUp = 8

// preparation bounds the time in which attacks are prepared.
const preparation = time.Minute

// The phases of a scene, in this order. In all of them the well-behaved tenant does the same.
const (
	alone   = "alone"   // nobody else is there
	control = "control" // somebody makes the requests of the attack, but with what our programs do not care about
	beside  = "beside"  // the hostile tenant attacks
)

var phases = []string{alone, control, beside}

// observation is what was measured in one phase.
type observation struct {
	samples *samples
	vitals  map[string]vitals
	hostile tally
	// busy is how many processors were busy on average, others how many with what is no part of the benchmark, and programs how
	// many with each program of the cluster, ours among them.
	busy, others float64
	programs     map[string]float64
}

func (b *bench) log(format string, args ...any) {
	fmt.Fprintf(b.out, "%6.1fs  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// play brings up a cluster and measures all phases of a scene on it.
func (b *bench) play(ctx context.Context, s scene) (_ outcome, err error) {
	nodes := s.nodes(b.sizes)
	b.log("%s: starting a cluster with %d nodes", s.name, nodes)
	t, err := startTestbed(ctx, nodes, b.quota)
	if err != nil {
		return outcome{}, err
	}
	defer func() {
		if b.logs != "" {
			err = errors.Join(err, t.saveLogs(b.logs, s.name))
		}
		err = errors.Join(err, t.stop())
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n, err := newTenant(ctx, t, b.rate, b.patience)
	if err != nil {
		return outcome{}, err
	}
	if _, err := n.live(ctx, "warm-up", warmUp, measures); err != nil {
		return outcome{}, err
	}
	b.log("%s: the well-behaved tenant has moved in", s.name)
	result := outcome{scene: s, phases: map[string]observation{}}
	for _, phase := range phases {
		if result.phases[phase], err = b.observe(ctx, s, n, phase); err != nil {
			return outcome{}, fmt.Errorf("%s, %s: %w", s.name, phase, err)
		}
	}
	return result, nil
}

// observe measures one phase.
func (b *bench) observe(ctx context.Context, s scene, n *tenant, phase string) (observation, error) {
	h, err := newHostile(n.testbed, phase == control)
	if err != nil {
		return observation{}, err
	}
	n.awaitCalm(ctx)
	supervisor := supervise(ctx, n.testbed, b.log)
	storm, stop := context.WithCancel(ctx)
	defer stop()
	stormed := make(chan error, 1)
	if phase == alone {
		stormed <- nil
	} else {
		if err := b.prepare(ctx, s, h, phase); err != nil {
			return observation{}, err
		}
		go func() { stormed <- s.storm(storm, h, phase, b.sizes, b.requests) }()
	}
	before := usageNow(n.cluster, n.components)
	measured, err := n.live(ctx, phase, b.applications, s.aims())
	after := usageNow(n.cluster, n.components)
	stop()
	seen := observation{samples: measured, vitals: supervisor.finish()}
	seen.busy, seen.others = after.busy(before)
	seen.programs = map[string]float64{}
	for _, name := range n.components {
		seen.programs[name] = after.busyWith(before, n.cluster, name)
	}
	if err := errors.Join(err, <-stormed, ctx.Err()); err != nil {
		return observation{}, err
	}
	seen.hostile = h.sum()
	b.log("%s, %s: %s", s.name, phase, seen)
	return seen, nil
}

func (b *bench) prepare(ctx context.Context, s scene, h *hostile, phase string) error {
	ctx, cancel := context.WithTimeout(ctx, preparation)
	defer cancel()
	if err := s.open(ctx, h.testbed, phase); err != nil {
		return err
	}
	err := s.prepare(ctx, h, phase, b.sizes)
	prepared := h.sum()
	b.log("%s, %s: prepared %d objects in %s", s.name, phase, len(h.sizes), bytesText(prepared.stored))
	return err
}

func (o observation) String() string {
	text := fmt.Sprintf("%d bindings, median %s, p99 %s; %.1f processors busy, %.1f with something else", o.samples.count(binding),
		milliseconds(o.samples.percentile(binding, 50)), milliseconds(o.samples.percentile(binding, 99)), o.busy, o.others)
	for _, name := range programs {
		text += fmt.Sprintf("; %s %.2f, %s", strings.TrimPrefix(name, "podsequence-"), o.programs[name], bytesText(o.vitals[name].peak))
	}
	text += fmt.Sprintf("; kube-apiserver %.2f, etcd %.2f", o.programs[controlplane.APIServer], o.programs[controlplane.Etcd])
	if o.hostile.requests > 0 {
		text += fmt.Sprintf("; the other made %d requests with %s", o.hostile.requests, bytesText(o.hostile.sent))
	}
	if o.hostile.refused > 0 {
		text += fmt.Sprintf(", %d were refused, the first: %s", o.hostile.refused, cut(o.hostile.refusal))
	}
	return text
}

// cut shortens what others say to what fits on a line.
func cut(text string) string {
	const enough = 160
	if len(text) > enough {
		return text[:enough] + "..."
	}
	return text
}

func (b *bench) run(ctx context.Context, scenes []scene) error {
	var outcomes []outcome
	var errs []error
	for _, s := range scenes {
		o, err := b.play(ctx, s)
		if err == nil {
			outcomes = append(outcomes, o)
			continue
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break // What was measured so far is reported.
		}
		b.log("%v", err) // The others are played all the same.
	}
	fmt.Fprintln(b.out)
	if missed := report(b.out, outcomes); missed > 0 {
		errs = append(errs, fmt.Errorf("%w: %d", errMissed, missed))
	}
	return errors.Join(errs...)
}
