// Package real runs stories on real nodes: kubelets and containers, with our real programs under their own ServiceAccounts. Every
// story is judged twice: by the referee, from the API server's history, and by what the containers themselves said, and when.
//
// It is a module of its own so that `go test ./...` does not run it on machines that cannot have real nodes. `make test-real` runs it.
package real

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/tools/sandbox/containerlogs"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	// startPatience covers the build of the nodes' programs, the first time.
	startPatience = 40 * time.Minute
	stopPatience  = 2 * time.Minute
	// gracePeriod is the time after which a node whose kubelet is silent is NotReady. Kubelets report every 10 s.
	gracePeriod = 25 * time.Second
	// unprobedReady is the default of both programs.
	unprobedReady = 5 * time.Second
)

// nodes are the real nodes of the cluster.
var nodes = []string{"real-0", "real-1"}

// environment is the cluster of all stories. They run one after the other.
type environment struct {
	*cluster.Cluster
	sandbox *sandbox
	referee *ordercheck.Referee
	logs    *containerlogs.Collector
}

var shared *environment

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runMain(m))
}

func runMain(m *testing.M) (code int) {
	ctx := context.Background()
	if err := begin(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		code = 1
	} else {
		code = m.Run()
	}
	if shared == nil {
		return code
	}
	if err := shared.end(code == 0); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return code
}

// begin starts the cluster, the referee and the collector of logs.
func begin(ctx context.Context) error {
	if err := useBin(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	s, err := newSandbox()
	if err != nil {
		return err
	}
	if output, err := s.run(ctx, "node", "check"); err != nil {
		return fmt.Errorf("this machine cannot run real nodes: %s", output)
	}
	shared = &environment{sandbox: s}
	kubelets, err := s.writeKubeletConfig()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.up(ctx,
		"--nodes", "0", "--real-nodes", fmt.Sprint(len(nodes)), "--node-monitor-grace-period", gracePeriod.String(),
		"--kubelet-config", kubelets,
		"--feature-gates", "GenericWorkload=true", "--runtime-config", "scheduling.k8s.io/v1beta1=true",
	); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d real nodes are up after %s, in %s\n", len(nodes), time.Since(began).Round(100*time.Millisecond), s.dir)
	return shared.attach(ctx, s.dir)
}

// useBin lets everything find the programs of the whole project.
func useBin() error {
	const variable = "PODSEQUENCE_BIN"
	if os.Getenv(variable) != "" {
		return nil
	}
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		return fmt.Errorf("find programs: %w", err)
	}
	return os.Setenv(variable, bin)
}

func (e *environment) attach(ctx context.Context, dir string) error {
	running, err := controlplane.Open(dir)
	if err != nil {
		return err
	}
	api, err := client.NewWithWatch(running.Config(), client.Options{Scheme: cluster.Scheme})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	e.Cluster = &cluster.Cluster{Cluster: running, API: api, Dir: dir}
	etcd, err := running.EtcdConfig()
	if err != nil {
		return err
	}
	if e.referee, err = ordercheck.Start(ctx, etcd, ordercheck.Options{UnprobedReady: unprobedReady}); err != nil {
		return err
	}
	e.logs = containerlogs.Collect(filepath.Join(dir, "real-nodes"))
	return nil
}

// end stops everything, and keeps the directory unless it is clean.
func (e *environment) end(clean bool) error {
	if e.referee != nil {
		e.referee.Stop()
	}
	if e.logs != nil {
		e.logs.Stop()
	}
	err := e.sandbox.stop()
	err = errors.Join(err, os.Remove(e.sandbox.kubeletConfig()))
	if clean && err == nil {
		return os.RemoveAll(e.sandbox.dir)
	}
	fmt.Fprintln(os.Stderr, "the logs of all components and nodes are in", e.sandbox.dir)
	return err
}
