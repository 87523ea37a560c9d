// Package nodes tests the real nodes of the sandbox themselves: what they leave behind, and that they are like those of a cluster. It needs
// a machine that can have them.
package nodes

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"example.com/podsequence/tools/sandbox/childprocess"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// patience bounds every wait: a loaded machine may need many times the usual few seconds.
const patience = 3 * time.Minute

// sandbox is a cluster that the program of that name runs in a directory.
type sandbox struct {
	t       *testing.T
	program string
	dir     string
	// foreground is the program, unless it is detached.
	foreground *exec.Cmd
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(t, err)
	s := &sandbox{t: t, program: filepath.Join(bin, "sandbox"), dir: t.TempDir()}
	s.run("node", "check") // or the test fails, and says what this machine lacks
	t.Cleanup(func() { _ = s.command("down").Run() })
	return s
}

func (s *sandbox) command(args ...string) *exec.Cmd {
	return exec.Command(s.program, append([]string{"--dir", s.dir}, args...)...)
}

func (s *sandbox) run(args ...string) string {
	s.t.Helper()
	output, err := s.command(args...).CombinedOutput()
	require.NoError(s.t, err, "sandbox %v: %s", args, output)
	return string(output)
}

// upArgs start real nodes and the components of a plain cluster.
func upArgs(nodes string) []string {
	return []string{
		"up", "--nodes=0", "--real-nodes=" + nodes,
		"--without=" + controlplane.PodSequenceScheduler + "," + controlplane.PodSequenceController,
	}
}

// up starts a cluster that outlives the program.
func (s *sandbox) up(nodes string) {
	s.t.Helper()
	s.run(append(upArgs(nodes), "--detach")...)
}

// upInForeground starts a cluster that ends with the program.
func (s *sandbox) upInForeground(nodes string) {
	s.t.Helper()
	output := &lockedBuffer{}
	s.foreground = s.command(upArgs(nodes)...)
	s.foreground.Stdout, s.foreground.Stderr = output, output
	s.foreground.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	require.NoError(s.t, childprocess.Start(s.foreground))
	s.eventually("the cluster is up", func(context.Context) bool {
		return bytes.Contains(output.bytes(), []byte("Ctrl-C stops it."))
	})
}

func (s *sandbox) eventually(what string, condition func(ctx context.Context) bool) {
	s.t.Helper()
	err := wait.PollUntilContextTimeout(s.t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		return condition(ctx), nil
	})
	require.NoError(s.t, err, "wait until %s", what)
}

func (s *sandbox) cluster() *controlplane.Cluster {
	s.t.Helper()
	cluster, err := controlplane.Open(s.dir)
	require.NoError(s.t, err)
	return cluster
}

func (s *sandbox) client() kubernetes.Interface {
	s.t.Helper()
	client, err := kubernetes.NewForConfig(s.cluster().Config())
	require.NoError(s.t, err)
	return client
}

// startPod creates a pod on a node, and returns once it is ready.
func (s *sandbox) startPod(node string) {
	s.t.Helper()
	client := s.client()
	_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(s.t.Context(), podOn(node), metav1.CreateOptions{})
	require.NoError(s.t, err)
	s.waitForPod(node, func(*corev1.Pod) bool { return true })
}

// podOn is a pod that has the name of its node.
func podOn(node string) *corev1.Pod {
	now := int64(0)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: node, Namespace: metav1.NamespaceDefault},
		Spec: corev1.PodSpec{
			NodeName:                      node,
			TerminationGracePeriodSeconds: &now,
			Containers: []corev1.Container{{
				Name: "workload", Image: "localhost/podsequence/workload:1", Args: []string{"serve"},
				ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)},
				}},
			}},
		},
	}
}

// waitForPod returns once the pod of a node is ready and fulfils a condition.
func (s *sandbox) waitForPod(node string, condition func(*corev1.Pod) bool) {
	s.t.Helper()
	client := s.client()
	s.eventually("the pod on "+node+" is ready", func(ctx context.Context) bool {
		pods, err := client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, node).String(),
		})
		if err != nil || len(pods.Items) == 0 {
			return false
		}
		for _, c := range pods.Items[0].Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return condition(&pods.Items[0])
			}
		}
		return false
	})
}
