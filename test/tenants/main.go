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

const usageText = `tenants measures what a hostile tenant costs a well-behaved one: start-up times, memory and requests, attack by attack.

Examples:
  tenants                           play all attacks
  tenants -attacks huge-job         play one attack

Flags:
`

func run(ctx context.Context, args []string) error {
	// What clients complain of when a phase ends in the middle of their requests is no news.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	log.SetLogger(klog.Background())
	b := &bench{out: os.Stdout, began: time.Now()}
	flags := flag.NewFlagSet("tenants", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usageText)
		flags.PrintDefaults()
	}
	names := flags.String("attacks", strings.Join(attackNames(), ","), "attacks to play, in this order, with commas between them; \"together\" plays all at once")
	limit := flags.Int64("memory-limit", 4096, "memory limit of each process in `MiB`, as a container would have it; 0 for no limit")
	flags.Float64Var(&b.requests, "requests", 10, "requests a second that the hostile tenant makes during an attack")
	flags.BoolVar(&b.quota, "quota", true, "apply manifests/samples/resourcequota.yaml to the namespaces of the hostile tenant")
	flags.IntVar(&b.applications, "applications", 40, "`number` of applications that the well-behaved tenant starts in each phase; each gives about 6.5 samples")
	flags.Float64Var(&b.rate, "rate", 1.5, "applications that the well-behaved tenant starts a second")
	flags.DurationVar(&b.patience, "patience", 15*time.Second, "longest time to wait for the last application of a phase, such as 15s")
	flags.StringVar(&b.logs, "logs", "", "`directory` in which to keep the logs of both programs")
	s := &b.sizes
	flags.IntVar(&s.nodes, "nodes", 100, "`number` of nodes of each cluster")
	flags.IntVar(&s.manyNodes, "many-nodes", 1000, "`number` of nodes of the clusters in attacks that need many nodes")
	flags.IntVar(&s.pods, "pods", 1000, "`number` of pods in the crowded namespace")
	flags.IntVar(&s.sequences, "sequences", 300, "`number` of PodSequences in the crowded namespace; it also has a tenth as many of scope Node")
	flags.IntVar(&s.deployments, "deployments", 200, "`number` of coordinated Deployments")
	flags.IntVar(&s.coordinations, "coordinations", 500, "`number` of DeploymentCoordinations that each select all these Deployments")
	flags.IntVar(&s.jobs, "jobs", 200, "`number` of SequentialJobs whose Jobs the quota refuses")
	flags.IntVar(&s.annotation, "annotation", 200<<10, "size of an invalid annotation, in `bytes`")
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
