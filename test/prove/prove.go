package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/podsequence/test/prove/plan"
	"example.com/podsequence/test/prove/results"
	"example.com/podsequence/test/prove/site"
)

// prover plays plans, on each of its sites one after the other.
type prover struct {
	options
	out   io.Writer
	store results.Store[results.Result]

	mu       sync.Mutex // of what follows, and of out and store
	began    time.Time
	plans    []*plan.Plan
	next     int // of the plans
	played   int
	violated int
	unplayed []string // seeds of worlds that could not be played or judged to their end, which says nothing of the product
}

func prove(ctx context.Context, o options, plans []*plan.Plan, out io.Writer) (err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "podsequence-prove-"); err != nil {
			return fmt.Errorf("make directory for results: %w", err)
		}
	} else if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return fmt.Errorf("make directory for results: %w", err)
	}
	p := &prover{options: o, out: out, store: results.Store[results.Result]{Path: filepath.Join(o.dir, "results.jsonl")}}
	if p.writes {
		return p.proveWrites(ctx)
	}
	if p.planFile == "" {
		if plans, err = p.leaveOutPlayed(plans); err != nil {
			return err
		}
	}
	p.began, p.plans = time.Now(), plans
	group, ctx := errgroup.WithContext(ctx)
	for range min(o.sites, len(plans)) {
		group.Go(func() error { return p.perform(ctx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := p.writePage(); err != nil {
		return err
	}
	if p.violated > 0 {
		err = fmt.Errorf("%w in %d of %d worlds", errViolated, p.violated, len(plans))
	}
	if len(p.unplayed) > 0 {
		err = errors.Join(err, fmt.Errorf("seeds that could not be played: %s", strings.Join(p.unplayed, ", ")))
	}
	return err
}

// perform plays plans until none is left, on a site of its own, and on another one after a world that could not be played.
func (p *prover) perform(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = p.performOnSite(ctx); err != nil {
			return err
		}
	}
	return nil
}

// performOnSite reports whether plans are left.
func (p *prover) performOnSite(ctx context.Context) (more bool, err error) {
	s := &stage{prover: p}
	if s.site, err = site.Start(ctx, site.Options{Instances: 2, RealNodes: p.realNodes}); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.site.Close(err == nil && !more)) }()
	for what := p.take(); what != nil; what = p.take() {
		result, err := s.play(ctx, what)
		if err != nil && ctx.Err() == nil {
			p.reportUnplayed(what, err)
			return true, nil
		}
		if err != nil {
			return false, err
		}
		p.report(result)
		if len(result.Violations) > 0 {
			s.shorten(ctx, what)
		}
	}
	return false, nil
}

// take returns the next plan that nobody plays yet, or nil.
func (p *prover) take() *plan.Plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == len(p.plans) {
		return nil
	}
	p.next++
	return p.plans[p.next-1]
}

// report says what came of a plan, and how long the others will take.
func (p *prover) report(result results.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.played++
	if len(result.Violations) > 0 {
		p.violated++
	}
	left := ""
	if more := len(p.plans) - p.played; more > 0 {
		each := time.Since(p.began) / time.Duration(p.played)
		left = fmt.Sprintf(" [%d of %d, about %s left]", p.played, len(p.plans), (each * time.Duration(more)).Round(time.Minute))
	}
	fmt.Fprintln(p.out, result.String()+left)
}

// reportUnplayed says why a plan could not be played, such as an API server that did not answer in time on a busy machine.
func (p *prover) reportUnplayed(what *plan.Plan, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.played++
	p.unplayed = append(p.unplayed, strconv.FormatUint(what.Seed, 10))
	fmt.Fprintf(p.out, "seed %d: could not be played: %v\n", what.Seed, err)
}

// leaveOutPlayed leaves out the seeds that were played of the same commit.
func (p *prover) leaveOutPlayed(plans []*plan.Plan) ([]*plan.Plan, error) {
	all, err := p.store.Load()
	if err != nil {
		return nil, err
	}
	played := map[uint64]bool{}
	for _, r := range all {
		played[r.Seed] = played[r.Seed] || r.Commit == p.commit && len(r.Violations) == 0
	}
	var left []*plan.Plan
	for _, what := range plans {
		if !played[what.Seed] {
			left = append(left, what)
		}
	}
	if done := len(plans) - len(left); done > 0 {
		fmt.Fprintf(p.out, "%d seeds were played already, see %s\n", done, p.store.Path)
	}
	return left, nil
}

func (p *prover) crashStore() results.Store[results.Crash] {
	return results.Store[results.Crash]{Path: filepath.Join(p.dir, "writes.jsonl")}
}

// crashes are the results of this commit, the newest of each, in the order of allCrashes.
func (p *prover) crashes() (found []results.Crash, err error) {
	all, err := p.crashStore().Load()
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	for _, c := range allCrashes() {
		i := slices.IndexFunc(all, func(r results.Crash) bool { return r.Commit == p.commit && c.is(r) })
		if i >= 0 {
			found = append(found, all[i])
		}
	}
	return found, nil
}
