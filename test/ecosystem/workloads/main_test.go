package workloads

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/tools/sandbox/childprocess"
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
	cluster.Main(m, parallel, controlplane.Options{}, func(c *cluster.Cluster) error {
		etcd, err := c.EtcdConfig()
		if err != nil {
			return err
		}
		shared = &environment{Cluster: c}
		if shared.referee, err = ordercheck.Start(context.Background(), etcd, ordercheck.Options{}); err != nil {
			return err
		}
		c.AtStop(func() error { shared.referee.Stop(); return nil })
		if err := shared.kubectl(definitions()+"---"+readers, "apply", "--server-side", "-f", "-"); err != nil {
			return err
		}
		return shared.runRollouts()
	})
}

// runRollouts installs the kinds of Argo Rollouts, and runs its controller until the cluster stops.
func (e *environment) runRollouts() error {
	bin, err := controlplane.FindBin()
	if err != nil {
		return err
	}
	program := filepath.Join(bin, "ecosystem", "argo-rollouts")
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("no Argo Rollouts: run make build-ecosystem: %w", err)
	}
	module, err := exec.Command("go", "-C", "../programs/argo-rollouts", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-rollouts").Output()
	if err != nil {
		return fmt.Errorf("find the module of Argo Rollouts: %w", err)
	}
	if err := e.kubectl("", "apply", "--server-side", "-k", filepath.Join(strings.TrimSpace(string(module)), "manifests", "crds")); err != nil {
		return err
	}
	if err := e.kubectl("", "wait", "--for=condition=Established", "--timeout=5m", "crd", "--all"); err != nil {
		return err
	}
	log, err := os.Create(e.Log("argo-rollouts"))
	if err != nil {
		return fmt.Errorf("make log: %w", err)
	}
	defer log.Close()           //nolint:errcheck // the child has it
	const noPort = "--%s=65536" // it listens on all addresses, and goes on without a port that does not exist
	command := exec.Command(program, "--leader-elect=false", fmt.Sprintf(noPort, "metricsPort"), fmt.Sprintf(noPort, "healthzPort"))
	command.Env = append(os.Environ(), "KUBECONFIG="+e.Kubeconfig())
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := childprocess.Start(command); err != nil {
		return fmt.Errorf("start Argo Rollouts: %w", err)
	}
	e.AtStop(func() error {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
		return nil
	})
	return nil
}

// kubectl runs kubectl with a text on its standard input.
func (e *environment) kubectl(input string, args ...string) error {
	command := exec.Command(filepath.Join(e.Dir, "path", "kubectl"), args...)
	command.Stdin = strings.NewReader(input)
	_, err := command.Output()
	if failed := (&exec.ExitError{}); errors.As(err, &failed) {
		return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, failed.Stderr)
	} else if err != nil {
		return fmt.Errorf("run kubectl: %w", err)
	}
	return nil
}

// story is a namespace whose sequences the referee judges.
type story struct {
	*cluster.Story
	count int // see unique
}

func newStory(t *testing.T) *story {
	t.Parallel()
	s := &story{Story: cluster.NewStory(t, shared.Cluster)}
	t.Cleanup(func() {
		verdict := shared.referee.VerdictFor(s.Ctx, s.Namespace)
		assert.Empty(t, verdict.Violations)
		assert.Empty(t, verdict.Incomplete)
	})
	return s
}

// object reads an object of the story's namespace.
func (s *story) object(manifest string) *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		s.Fatal(err)
	}
	object.SetNamespace(s.Namespace)
	return object
}
