// tenants measures what a hostile tenant can do to a well-behaved one: how much longer that one waits for us, and how much
// memory our programs take. It runs our real programs under their own ServiceAccounts on a real control plane.
//
// Each attack is played on a cluster of its own, in three phases in which the well-behaved tenant does the same: alone;
// beside one who makes the requests of the attack to objects that our programs do not care about, which shows what the API
// server's work costs; and beside the hostile one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// errMissed says that the benchmark was run, and that not all bounds were kept.
var errMissed = errors.New("bounds were missed")

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		cancel()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	// What clients complain of when a phase ends in the middle of their requests is no news.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	log.SetLogger(klog.Background())
	b := &bench{out: os.Stdout, began: time.Now()}
	flags := flag.NewFlagSet("tenants", flag.ContinueOnError)
	names := flags.String("attacks", strings.Join(attackNames(), ","), "attacks to play, in this order; \"together\" is all at a time")
	limit := flags.Int64("memory-limit", 4096, "MiB of data that each process may have, as a limit of its container would; 0 for no limit")
	flags.Float64Var(&b.requests, "requests", 10, "requests a second of the hostile tenant, after he has prepared")
	flags.BoolVar(&b.quota, "quota", true, "limit the hostile tenant's namespaces by manifests/samples/resourcequota.yaml")
	flags.IntVar(&b.applications, "applications", 40, "applications that the well-behaved tenant starts in each phase: 6.5 samples each")
	flags.Float64Var(&b.rate, "rate", 1.5, "applications that he starts a second")
	flags.DurationVar(&b.patience, "patience", 15*time.Second, "how long he waits for the last of them")
	flags.StringVar(&b.logs, "logs", "", "directory to keep our programs' logs in")
	s := &b.sizes
	flags.IntVar(&s.nodes, "nodes", 100, "nodes of each cluster")
	flags.IntVar(&s.manyNodes, "many-nodes", 1000, "nodes of a cluster whose nodes are what is attacked")
	flags.IntVar(&s.pods, "pods", 1000, "pods of the crowded namespace")
	flags.IntVar(&s.sequences, "sequences", 300, "PodSequences of the crowded namespace; a tenth as many of Node scope")
	flags.IntVar(&s.deployments, "deployments", 200, "Deployments that are coordinated")
	flags.IntVar(&s.coordinations, "coordinations", 500, "DeploymentCoordinations that select all of them")
	flags.IntVar(&s.jobs, "jobs", 200, "SequentialJobs that the quota refuses")
	flags.IntVar(&s.annotation, "annotation", 200<<10, "bytes of an invalid annotation")
	if err := flags.Parse(args); err != nil {
		return err
	}
	scenes, err := chooseAttacks(strings.Split(*names, ","))
	if err != nil {
		return err
	}
	if err := limitMemory(*limit << 20); err != nil {
		return err
	}
	return b.run(ctx, scenes)
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

// limitMemory bounds what each process that is started from now on may allocate. A program that asks for all memory there
// is then ends, as it would in a container, and leaves the machine to the others.
func limitMemory(bytes int64) error {
	if bytes == 0 {
		return nil
	}
	limit := &syscall.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, limit); err != nil {
		return fmt.Errorf("limit memory: %w", err)
	}
	return nil
}
