// prove plays random worlds under random faults on a real control plane, and judges them by what users were promised.
// Each world comes from a seed: what there is, what becomes of it, and what fails meanwhile (package world). The referee says
// whether any pod was bound too early (test/ordercheck), and the judge whether at the end everything is as it must be
// (package judge).
//
//	go run ./test/prove -seed 7            # plays one world
//	go run ./test/prove -seeds 200         # plays many; started again it goes on where it was
//	go run ./test/prove -seed 7 -print     # prints its plan
//	go run ./test/prove -writes            # kills our programs around each kind of write
//	go run ./test/prove -plan FILE         # plays a plan that was printed, and perhaps changed
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/podsequence/test/prove/plan"
	"example.com/podsequence/test/prove/site"
	"example.com/podsequence/test/prove/world"
)

// errViolated says that a promise was broken.
var errViolated = errors.New("promises were broken")

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		cancel()
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	only         []uint64
	first        uint64
	seeds, sites int
	realNodes    int
	planFile     string
	print        bool
	calm         bool
	writes       bool
	kills        int
	shrink       time.Duration
	patience     time.Duration
	dir          string
	page         string
	commit       string
}

const usage = `prove plays random worlds on a cluster under random faults, and judges whether all promises were kept.

Examples:
  prove -seeds 10                   play the seeds 1 to 10
  prove -seed 42                    play one seed again
  prove -seed 42 -shrink 30m        if it fails, look half an hour for a shorter plan that fails too
  prove -plan failed.json           play a plan from a file

Flags:
`

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("prove", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.Func("seed", "play only this `seed`, or several with commas between them, such as 3,17", o.parseSeeds)
	flags.Uint64Var(&o.first, "first", 1, "first `seed` of those that -seeds plays")
	flags.IntVar(&o.seeds, "seeds", 0, "`number` of seeds to play; seeds that already have a result in -dir are left out")
	flags.IntVar(&o.sites, "sites", 1, "`number` of control planes to play on side by side")
	flags.IntVar(&o.realNodes, "real-nodes", 0, "`number` of nodes with kubelets and containers in each world, beside simulated ones; they reboot")
	flags.StringVar(&o.planFile, "plan", "", "play the plan in this `file` instead of the plan of a seed")
	flags.BoolVar(&o.print, "print", false, "only print the plan of the seed")
	flags.BoolVar(&o.calm, "without-faults", false, "kill no programs and break no connections")
	flags.BoolVar(&o.writes, "writes", false, "kill our programs around each kind of write they make, instead of playing seeds")
	flags.IntVar(&o.kills, "kills", 20, "with -writes, `number` of kills just before each kind of write, and as many just after it")
	flags.DurationVar(&o.shrink, "shrink", 0, "longest time to search for a shorter plan that fails too, such as 30m; 0 for no search")
	flags.DurationVar(&o.patience, "patience", 30*time.Second, "time after the last fault until everything must be right, such as 30s")
	flags.StringVar(&o.dir, "dir", "", "`directory` for results, and for the plans, traces and logs of seeds that failed")
	flags.StringVar(&o.page, "page", "", "page, such as docs/proof/long-runs.md, in which to rewrite the part about the runs")
	flags.StringVar(&o.commit, "commit", "unknown", "commit of the code under test; the page counts only results of this commit")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.realNodes > 0 && o.page != "" {
		return o, errors.New("write -page from seeds without -real-nodes: it counts the worlds that every machine can play")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	// What clients complain of while an API server is killed is no news.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	log.SetLogger(klog.Background())
	o, err := parse(args)
	if err != nil {
		return err
	}
	plans, err := o.plans()
	if err != nil {
		return err
	}
	if o.print {
		for _, p := range plans {
			fmt.Fprint(out, p)
		}
		return nil
	}
	return prove(ctx, o, plans, out)
}

func (o *options) parseSeeds(text string) error {
	for number := range strings.SplitSeq(text, ",") {
		seed, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return err
		}
		o.only = append(o.only, seed)
	}
	return nil
}

// plans are those to play.
func (o *options) plans() ([]*plan.Plan, error) {
	if o.planFile != "" {
		text, err := os.ReadFile(o.planFile)
		if err != nil {
			return nil, fmt.Errorf("read plan: %w", err)
		}
		p, err := plan.Parse(string(text))
		return []*plan.Plan{p}, err
	}
	seeds := o.only
	if len(seeds) == 0 {
		for i := range uint64(o.seeds) {
			seeds = append(seeds, o.first+i)
		}
	}
	var plans []*plan.Plan
	for _, seed := range seeds {
		plans = append(plans, world.Invent(seed, world.Options{WithoutFaults: o.calm, RealNodes: site.RealNodeNames(o.realNodes)}))
	}
	return plans, nil
}
