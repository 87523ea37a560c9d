package autoscaler

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/tools/sandbox/childprocess"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// environment is the cluster of all stories.
type environment struct {
	*cluster.Cluster
	referee *ordercheck.Referee
	claims  claims
}

var shared *environment

func TestMain(m *testing.M) {
	const parallel = 6
	cluster.Main(m, parallel, controlplane.Options{}, func(c *cluster.Cluster) error {
		etcd, err := c.EtcdConfig()
		if err != nil {
			return err
		}
		shared = &environment{Cluster: c, claims: claims{made: map[string]map[types.UID]string{}}}
		if shared.referee, err = ordercheck.Start(context.Background(), etcd, ordercheck.Options{}); err != nil {
			return err
		}
		c.AtStop(func() error { shared.referee.Stop(); return nil })
		if err := shared.runKarpenter(); err != nil {
			return err
		}
		if err := shared.createPools(); err != nil {
			return err
		}
		ctx, stop := context.WithCancel(context.Background())
		c.AtStop(func() error { stop(); return nil })
		return shared.claims.follow(ctx, c.API)
	})
}

// runKarpenter installs Karpenter's kinds, and runs it until the cluster stops.
func (e *environment) runKarpenter() error {
	program, err := karpenterProgram()
	if err != nil {
		return err
	}
	definitions, err := exec.Command(program, "crds").Output()
	if err != nil {
		return fmt.Errorf("print Karpenter's kinds: %w", err)
	}
	if err := e.apply(string(definitions)); err != nil {
		return err
	}
	if err := e.apply("", "wait", "--for=condition=Established", "--timeout=5m", "crd", "--all"); err != nil {
		return err
	}
	types := filepath.Join(e.Dir, "instance-types.json")
	if err := os.WriteFile(types, []byte(instanceTypes()), 0o600); err != nil {
		return fmt.Errorf("write instance types: %w", err)
	}
	log, err := os.Create(e.Log("karpenter"))
	if err != nil {
		return fmt.Errorf("make log: %w", err)
	}
	defer log.Close() //nolint:errcheck // the child has it
	// A node that Karpenter has pods in mind for is not removed for twice this time, after which it looks at the pods again. On a busy machine
	// it may come to that late.
	const batchMaxDuration = "-batch-max-duration=30s"
	command := exec.Command(program, "-log-level=debug", "-instance-types-file-path="+types, batchMaxDuration)
	command.Env = append(os.Environ(), "KUBECONFIG="+e.Kubeconfig())
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := childprocess.Start(command); err != nil {
		return fmt.Errorf("start Karpenter: %w", err)
	}
	e.AtStop(func() error {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
		return nil
	})
	return nil
}

func karpenterProgram() (string, error) {
	bin, err := controlplane.FindBin()
	if err != nil {
		return "", err
	}
	program := filepath.Join(bin, "ecosystem", "karpenter")
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("no Karpenter: run make build-ecosystem: %w", err)
	}
	return program, nil
}

// apply runs kubectl with a manifest on its standard input: apply, unless arguments say otherwise.
func (e *environment) apply(manifest string, args ...string) error {
	if len(args) == 0 {
		args = []string{"apply", "--server-side", "-f", "-"}
	}
	command := exec.Command(filepath.Join(e.Dir, "path", "kubectl"), args...)
	command.Stdin = strings.NewReader(manifest)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, output)
	}
	return nil
}
