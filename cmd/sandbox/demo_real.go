package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"
	"time"

	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/tools/sandbox/containerlogs"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// errNotInOrder says that containers contradict the order of their pods.
var errNotInOrder = errors.New("containers did not start in order")

// playContainers plays the shop on the real nodes of the sandbox in dir, and makes its containers say in which order they
// started.
func playContainers(ctx context.Context, out io.Writer, cluster *controlplane.Cluster, referee *ordercheck.Referee, dir string) error {
	fmt.Fprintln(out, "Kubelets run the containers of a shop: database, application and frontend, and then the PodSequence")
	logs := containerlogs.Collect(filepath.Join(dir, "real-nodes"))
	defer logs.Stop()
	if err := playShop(ctx, out, cluster, "demo-real"); err != nil {
		return err
	}
	lines, err := awaitWords(ctx, logs, "frontend")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "\nWhat the containers said themselves, by their own clocks:")
	if err := printWords(out, lines); err != nil {
		return err
	}
	database, application, frontend := containerlogs.Of("db-"), containerlogs.Of("application-"), containerlogs.Of("frontend")
	early := containerlogs.TooEarly(lines.Where(database), lines.Where(application))
	early = append(early, containerlogs.TooEarly(lines.Where(application), lines.Where(frontend))...)
	if len(early) > 0 {
		return fmt.Errorf("%w: %v", errNotInOrder, early)
	}
	return judgeDemo(ctx, out, referee, shopDemo)
}

// awaitWords returns what the containers of the shop said, once a pod of the last tier has said that it is ready.
func awaitWords(ctx context.Context, logs *containerlogs.Collector, last string) (containerlogs.Lines, error) {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	for {
		lines := logs.Lines(shopDemo.Namespace)
		if len(lines.Where(containerlogs.Of(last), containerlogs.Saying(containerlogs.Ready))) > 0 {
			return lines, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("read the log of %s: %w", last, ctx.Err())
		}
	}
}

const pause = 100 * time.Millisecond

func printWords(out io.Writer, lines containerlogs.Lines) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  TIME\tNODE\tPOD\tSAYS")
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", line.Time.UTC().Format("15:04:05.000"), line.Node, line.Pod, line.Text)
	}
	return w.Flush()
}
