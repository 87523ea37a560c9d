package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/podsequence/test/prove/results"
	"example.com/podsequence/test/prove/site"
	"example.com/podsequence/test/prove/writes"
)

// crash is what to do with one kind of write.
type crash struct {
	writes.Kind
	after bool
}

func (c crash) is(r results.Crash) bool {
	return r.Program == c.Program && r.Method == c.Method && r.Resource == c.Resource && r.What == c.What && r.After == c.after
}

// allCrashes are before and after each kind of write, a story at a time.
func allCrashes() (all []crash) {
	for _, kind := range writes.Kinds() {
		all = append(all, crash{Kind: kind}, crash{Kind: kind, after: true})
	}
	return all
}

// proveWrites kills instances around each kind of write, but for what there is a result of.
func (p *prover) proveWrites(ctx context.Context) error {
	done, err := p.crashes()
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(allCrashes(), func(c crash) bool {
		return slices.ContainsFunc(done, func(r results.Crash) bool { return c.is(r) && r.Kills >= p.kills && len(r.Violations) == 0 })
	})
	began, queue := time.Now(), make(chan crash, len(left))
	for _, c := range left {
		queue <- c
	}
	close(queue)
	troupe := &troupe{prover: p, queue: queue, began: began, total: len(left)}
	group, ctx := errgroup.WithContext(ctx)
	for range min(p.sites, len(left)) {
		group.Go(func() error { return troupe.perform(ctx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := p.writePage(); err != nil {
		return err
	}
	if troupe.violated > 0 {
		return fmt.Errorf("%w around %d of %d writes", errViolated, troupe.violated, len(left))
	}
	return nil
}

// troupe works on a queue of crashes.
type troupe struct {
	*prover
	runner writes.Runner
	queue  chan crash
	began  time.Time
	total  int

	mu             sync.Mutex
	done, violated int
}

// perform takes crashes off the queue, on a site of its own.
func (t *troupe) perform(ctx context.Context) (err error) {
	s, err := site.Start(ctx, site.Options{Instances: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(err == nil)) }()
	if err := writes.Prepare(ctx, s); err != nil {
		return err
	}
	for c := range t.queue {
		began := time.Now()
		outcome, err := t.runner.Run(ctx, s, c.Kind, c.after, t.kills)
		if err != nil {
			return err
		}
		err = t.note(results.Crash{
			Program: c.Program, Method: c.Method, Resource: c.Resource, What: c.What, After: c.after, Commit: t.commit,
			Took: time.Since(began), Kills: outcome.Kills, Rounds: outcome.Rounds, Violations: outcome.Violations,
		})
		if err != nil {
			return err
		}
	}
	for _, w := range writes.Unlisted(s.Writes()) {
		return fmt.Errorf("%s makes %s %s, and is not killed around it: list it in writes.Kinds", w.Program, w.Method, w.Resource)
	}
	return nil
}

// note keeps a result and says what it is.
func (t *troupe) note(r results.Crash) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done++
	if len(r.Violations) > 0 {
		t.violated++
	}
	for _, violation := range r.Violations {
		fmt.Fprintf(t.out, "%s %s %s: %s\n", cmp.Or(r.Program, "any"), r.Method, r.Resource, violation)
	}
	each := time.Since(t.began) / time.Duration(t.done)
	fmt.Fprintf(t.out, "%s [%d of %d, about %s left]\n", r, t.done, t.total, (each * time.Duration(t.total-t.done)).Round(time.Minute))
	return t.crashStore().Add(r)
}
