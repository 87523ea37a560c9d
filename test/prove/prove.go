package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"example.com/podsequence/test/prove/plan"
	"example.com/podsequence/test/prove/results"
	"example.com/podsequence/test/prove/shrink"
	"example.com/podsequence/test/prove/site"
)

// prover plays plans one after the other on one site.
type prover struct {
	options
	out   io.Writer
	site  *site.Site
	store results.Store
}

func prove(ctx context.Context, o options, plans []*plan.Plan, out io.Writer) (err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "podsequence-prove-"); err != nil {
			return fmt.Errorf("make directory for results: %w", err)
		}
	} else if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return fmt.Errorf("make directory for results: %w", err)
	}
	p := &prover{options: o, out: out, store: results.Store{Path: filepath.Join(o.dir, "results.jsonl")}}
	if p.planFile == "" {
		if plans, err = p.leaveOutPlayed(plans); err != nil {
			return err
		}
	}
	if len(plans) > 0 {
		if p.site, err = site.Start(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.site.Close(err == nil)) }()
	}
	violated := 0
	for i, what := range plans {
		began := time.Now()
		result, err := p.play(ctx, what)
		if err != nil {
			return err
		}
		left := ""
		if more := len(plans) - i - 1; more > 0 {
			left = fmt.Sprintf(" [%d of %d, about %s left]", i+1, len(plans), (time.Since(began) * time.Duration(more)).Round(time.Minute))
		}
		fmt.Fprintln(out, result.String()+left)
		if len(result.Violations) > 0 {
			violated++
			p.shorten(ctx, what)
		}
	}
	if err := p.writePage(); err != nil {
		return err
	}
	if violated > 0 {
		return fmt.Errorf("%w in %d of %d worlds", errViolated, violated, len(plans))
	}
	return nil
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

// play plays one plan, and keeps the result, and what helps to understand a violation.
func (p *prover) play(ctx context.Context, what *plan.Plan) (results.Result, error) {
	trace := &bytes.Buffer{}
	result, err := p.playWorld(ctx, what, trace)
	if err != nil {
		return result, fmt.Errorf("play seed %d: %w\n%s", what.Seed, err, trace)
	}
	if len(result.Violations) > 0 {
		for _, violation := range result.Violations {
			fmt.Fprintf(p.out, "seed %d: %s\n", what.Seed, violation)
		}
		if err := p.keep(what, "plan", what.String()); err != nil {
			return result, err
		}
		if err := p.keep(what, "trace", trace.String()); err != nil {
			return result, err
		}
	}
	return result, p.store.Add(result)
}

// keep writes something about a plan to a file.
func (p *prover) keep(what *plan.Plan, kind, content string) error {
	path := filepath.Join(p.dir, fmt.Sprintf("seed-%d.%s", what.Seed, kind))
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		return fmt.Errorf("keep %s: %w", kind, err)
	}
	fmt.Fprintf(p.out, "seed %d: the %s is in %s\n", what.Seed, kind, path)
	return nil
}

// shorten looks for a shorter plan that fails as well, as long as it may.
func (p *prover) shorten(ctx context.Context, what *plan.Plan) {
	if p.shrink == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.shrink)
	defer cancel()
	short := shrink.Shrink(ctx, what, func(ctx context.Context, candidate *plan.Plan) bool {
		result, err := p.playWorld(ctx, candidate, io.Discard)
		failed := err == nil && len(result.Violations) > 0
		fmt.Fprintf(p.out, "seed %d with %d of %d steps: violated is %t\n", what.Seed, len(candidate.Steps), len(what.Steps), failed)
		return failed
	})
	if err := p.keep(short, "short-plan", short.String()); err != nil {
		fmt.Fprintln(p.out, "error:", err)
	}
}
