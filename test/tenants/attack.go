package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/time/rate"
)

// attack is one of the ways in which the administrator of a namespace can try to hurt the others. It first prepares, as
// fast as the API server lets it, and then storms at a bounded rate while the well-behaved tenant is measured.
type attack struct {
	name string
	// aims are what it tries to delay, besides bindings.
	aims []measure
	// perNode says that it costs more the more nodes there are.
	perNode bool
	// allow, if set, is what those who run the cluster do to the namespace before.
	allow func(ctx context.Context, t *testbed, namespace string) error
	// prepare creates what is stored all the time.
	prepare func(ctx context.Context, h *hostile, s sizes) error
	// storm makes the i-th request, or a few.
	storm func(ctx context.Context, h *hostile, s sizes, i int) error
}

// sizes say how big the attacks are.
type sizes struct {
	// nodes is how many nodes there are, manyNodes how many where an attack costs more the more there are.
	nodes, manyNodes int
	// pods, sequences, deployments, coordinations and jobs are how many of them an attack that uses them creates.
	pods, sequences, deployments, coordinations, jobs int
	// annotation is how many bytes an invalid annotation has.
	annotation int
}

var attacks = []attack{
	hugeJob, farTimeouts, nodeDomains, crowdedNamespace, invalidSizes, overlappingCoordinations, refusedJobs,
}

// together is the name of all attacks at a time.
const together = "together"

// chooseAttacks returns the scenes to play: each is a list of attacks that are made at a time.
func chooseAttacks(names []string) ([]scene, error) {
	var scenes []scene
	for _, name := range names {
		i := slices.IndexFunc(attacks, func(a attack) bool { return a.name == name })
		switch {
		case name == together:
			scenes = append(scenes, scene{name, attacks})
		case i >= 0:
			scenes = append(scenes, scene{name, attacks[i : i+1]})
		default:
			return nil, fmt.Errorf("no attack is named %q, want some of %s", name, strings.Join(attackNames(), ", "))
		}
	}
	return scenes, nil
}

func attackNames() []string {
	var names []string
	for _, a := range attacks {
		names = append(names, a.name)
	}
	return append(names, together)
}

// scene is what is played on one cluster.
type scene struct {
	name    string
	attacks []attack
}

// aims are what is judged: what any of the attacks tries to delay.
func (s scene) aims() []measure {
	return slices.DeleteFunc(slices.Clone(measures), func(m measure) bool {
		return m != binding && !slices.ContainsFunc(s.attacks, func(a attack) bool { return slices.Contains(a.aims, m) })
	})
}

// nodes is how many nodes its cluster has.
func (s scene) nodes(size sizes) int {
	if slices.ContainsFunc(s.attacks, func(a attack) bool { return a.perNode }) {
		return size.manyNodes
	}
	return size.nodes
}

// open makes the hostile tenant the administrator of a namespace for each attack.
func (s scene) open(ctx context.Context, t *testbed, prefix string) error {
	for _, a := range s.attacks {
		namespace := prefix + "-" + a.name
		if err := t.createNamespace(ctx, namespace); err != nil {
			return err
		}
		if err := t.grantAdmin(ctx, hostileAccount, namespace); err != nil {
			return err
		}
		if t.quota {
			if err := t.limit(ctx, namespace); err != nil {
				return err
			}
		}
		if a.allow != nil {
			if err := a.allow(ctx, t, namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// prepare prepares all attacks.
func (s scene) prepare(ctx context.Context, h *hostile, prefix string, size sizes) error {
	for _, a := range s.attacks {
		if err := a.prepare(ctx, h.in(prefix+"-"+a.name), size); err != nil {
			return fmt.Errorf("prepare %s: %w", a.name, err)
		}
	}
	return nil
}

// storm runs all attacks in turn until the context ends, with no more than this many requests a second altogether.
func (s scene) storm(ctx context.Context, h *hostile, prefix string, size sizes, requests float64) error {
	const clients = 4
	h = h.limited(rate.NewLimiter(rate.Limit(requests), clients))
	var storming sync.WaitGroup
	errs := make(chan error, clients)
	for c := range clients {
		storming.Go(func() {
			for i := c; ctx.Err() == nil; i += clients {
				a := s.attacks[i%len(s.attacks)]
				if err := a.storm(ctx, h.in(prefix+"-"+a.name), size, i/len(s.attacks)); err != nil {
					errs <- fmt.Errorf("storm %s: %w", a.name, err)
					return
				}
			}
		})
	}
	storming.Wait()
	close(errs)
	return <-errs
}
