package kueue

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// environment is the cluster of all stories.
type environment struct {
	*cluster.Cluster
	referee *ordercheck.Referee
}

var shared *environment

func TestMain(m *testing.M) {
	const parallel = 6
	options := controlplane.Options{ExtraArgs: map[string][]string{controlplane.PodSequenceController: {"--kueue-admission-check"}}}
	cluster.Main(m, parallel, options, func(c *cluster.Cluster) error {
		etcd, err := c.EtcdConfig()
		if err != nil {
			return err
		}
		shared = &environment{Cluster: c}
		if shared.referee, err = ordercheck.Start(context.Background(), etcd, ordercheck.Options{}); err != nil {
			return err
		}
		c.AtStop(func() error { shared.referee.Stop(); return nil })
		if err := shared.kubectl("", "apply", "--server-side", "-k", "../../../manifests/parts/kueue"); err != nil {
			return err
		}
		if err := shared.installKueue(); err != nil {
			return err
		}
		return shared.kubectl(common, "apply", "--server-side", "-f", "-")
	})
}

// kubectl runs kubectl with a text on its standard input.
func (e *environment) kubectl(input string, args ...string) error {
	_, err := e.output(input, args...)
	return err
}

func (e *environment) output(input string, args ...string) (string, error) {
	command := exec.Command(filepath.Join(e.Dir, "path", "kubectl"), args...)
	command.Stdin = strings.NewReader(input)
	output, err := command.Output()
	if failed := (&exec.ExitError{}); errors.As(err, &failed) {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, failed.Stderr)
	} else if err != nil {
		return "", fmt.Errorf("run kubectl: %w", err)
	}
	return string(output), nil
}

// awaitReady waits until Kueue serves its webhooks.
func awaitReady(ctx context.Context, port int) error {
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/readyz", port), nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil // it does not listen yet
		}
		defer response.Body.Close() //nolint:errcheck // only its status is read
		return response.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("wait for Kueue: %w", err)
	}
	return nil
}
