package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// refereeStartTimeout is how long the referee waits for an etcd that answers.
const refereeStartTimeout = time.Minute

// refereeOptions are the flags of the referee.
type refereeOptions struct {
	schedulerNames []string
	untilComplete  []string
	duration       time.Duration
	output         string
	timeline       bool

	unprobedReadySeconds int32
}

func newRefereeCommand(s *settings) *cobra.Command {
	o := &refereeOptions{}
	command := &cobra.Command{
		Use:   "referee",
		Short: "Watch the cluster and report any pod that is bound before its turn",
		Long: `Watch the cluster and report any pod that is bound before its turn.

The referee shares no code with the programs that it judges, and writes nothing to the cluster. It reads the cluster's
etcd, and so misses nothing when the API server is killed. It gives its verdict when everything that --until-complete
names is completed, when the time of --for is over, or when you press Ctrl-C.

Exit codes:
  0  it saw everything, and all of it was right
  1  a pod was bound before its turn, or a status records of an object what was never true
  2  it may have missed something, could not judge something, or something did not complete in time`,
		Example: `  # Until Ctrl-C.
  sandbox referee

  # Until a sequence is completed, for at most five minutes; then draw its timeline.
  sandbox referee --until-complete shop/backend --for 5m --timeline`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return withExitCode(ordercheck.ExitIncomplete, o.run(command.Context(), s.dir, command.OutOrStdout()))
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&o.schedulerNames, "scheduler-names", []string{ordercheck.DefaultSchedulerName},
		"`names` of the scheduler profiles that must hold pods")
	flags.Int32Var(&o.unprobedReadySeconds, "unprobed-ready-seconds", shippedUnprobedReadySeconds,
		"how many `seconds` a pod without a readiness probe must be Ready before it counts, as both programs are told")
	flags.StringSliceVar(&o.untilComplete, "until-complete", nil,
		"watch until this `sequence` is completed: namespace/name of a PodSequence, or name of a ClusterPodSequence; may be repeated")
	flags.DurationVar(&o.duration, "for", 0, "longest time to watch, such as 5m; 0 for no limit")
	flags.StringVarP(&o.output, "output", "o", "text", "output `format`: text or json")
	flags.BoolVar(&o.timeline, "timeline", false, "also draw a timeline of the sequences that --until-complete names")
	return command
}

// shippedUnprobedReadySeconds is the default of both programs, which the sandbox and the demos use.
const shippedUnprobedReadySeconds = 5

func (o *refereeOptions) unprobedReady() time.Duration {
	return time.Duration(o.unprobedReadySeconds) * time.Second
}

// exitError is an error for which the program exits with a code of its own.
type exitError struct {
	error
	code int
}

// ExitCode is what main exits with.
func (e exitError) ExitCode() int { return e.code }
func (e exitError) Unwrap() error { return e.error }

// withExitCode leaves alone what has a code already.
func withExitCode(code int, err error) error {
	if err == nil || errors.As(err, new(exitError)) {
		return err
	}
	return exitError{err, code}
}

func (o *refereeOptions) run(ctx context.Context, dir string, out io.Writer) error {
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("read --output: %q is neither text nor json", o.output)
	}
	if o.timeline && len(o.untilComplete) == 0 {
		return errors.New("read --timeline: it draws what --until-complete names, which names nothing")
	}
	sequences, err := parseSequenceNames(o.untilComplete)
	if err != nil {
		return err
	}
	cluster, err := controlplane.Open(dir)
	if err != nil {
		return err
	}
	referee, err := o.start(ctx, cluster)
	if err != nil {
		return err
	}
	defer referee.Stop()
	awaited := o.await(ctx, referee, sequences)

	// An interrupt ends the watch, not the verdict on it.
	history := referee.History(context.WithoutCancel(ctx))
	report := refereeReport{
		Verdict: ordercheck.Judge(history, ordercheck.JudgeOptions{SchedulerNames: o.schedulerNames, UnprobedReady: o.unprobedReady()}),
	}
	if o.timeline {
		var missing error
		report.Timelines, missing = layOut(history, sequences)
		awaited = errors.Join(awaited, missing)
	}
	if err := report.print(out, o.output); err != nil {
		return fmt.Errorf("print the verdict: %w", err)
	}
	if code := report.ExitCode(); code != ordercheck.ExitClean {
		return exitError{errors.New("the verdict is not clean"), code}
	}
	return awaited
}

func (o *refereeOptions) start(ctx context.Context, cluster *controlplane.Cluster) (*ordercheck.Referee, error) {
	etcd, err := cluster.EtcdConfig()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, refereeStartTimeout)
	defer cancel()
	return ordercheck.Start(ctx, etcd, ordercheck.Options{SchedulerNames: o.schedulerNames, UnprobedReady: o.unprobedReady()})
}

// await returns when it is time for the verdict. It fails if it was to wait for sequences and they are not completed.
func (o *refereeOptions) await(ctx context.Context, referee *ordercheck.Referee, sequences []types.NamespacedName) error {
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	if len(sequences) == 0 {
		<-ctx.Done()
		return nil
	}
	for _, sequence := range sequences {
		if err := referee.AwaitCompleted(ctx, sequence); err != nil {
			return err
		}
	}
	return nil
}

// layOut returns the timelines that there are, and an error that tells of the others.
func layOut(history ordercheck.History, sequences []types.NamespacedName) ([]ordercheck.Timeline, error) {
	var timelines []ordercheck.Timeline
	var missing error
	for _, sequence := range sequences {
		timeline, err := ordercheck.NewTimeline(history, sequence)
		if err != nil {
			missing = errors.Join(missing, err)
			continue
		}
		timelines = append(timelines, timeline)
	}
	return timelines, missing
}

// refereeReport is what --output json prints: the verdict's fields, and timelines if asked for.
type refereeReport struct {
	ordercheck.Verdict
	Timelines []ordercheck.Timeline `json:"timelines,omitempty"`
}

func (r refereeReport) print(out io.Writer, format string) error {
	if format == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	for _, timeline := range r.Timelines {
		if _, err := fmt.Fprintf(out, "%s\n\n", timeline); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(out, r.Verdict)
	return err
}

func parseSequenceNames(names []string) ([]types.NamespacedName, error) {
	var parsed []types.NamespacedName
	for _, name := range names {
		namespace, object, ok := strings.Cut(name, "/")
		if !ok {
			namespace, object = "", name
		}
		if ok && namespace == "" || object == "" || strings.Contains(object, "/") {
			return nil, fmt.Errorf("read --until-complete: %q must be namespace/name of a PodSequence, or the name of a ClusterPodSequence", name)
		}
		parsed = append(parsed, types.NamespacedName{Namespace: namespace, Name: object})
	}
	return parsed, nil
}
