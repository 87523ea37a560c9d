package nodes

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func TestRealNodesAreLikeThoseOfACluster(t *testing.T) {
	s := newSandbox(t)
	changes := filepath.Join(t.TempDir(), "kubelet.yaml")
	require.NoError(t, os.WriteFile(changes, []byte("evictionHard: {memory.available: 2Mi}\nmaxPods: 7\n"), 0o600))
	s.run(append(upArgs("2"), "--detach", "--kubelet-config="+changes)...)
	client := s.client()
	s.startPod("real-0")
	s.startPod("real-1")

	t.Run("kubectl reaches containers from the machine", func(t *testing.T) {
		assert.Contains(t, s.run("kubectl", "--", "logs", "real-0"), "STARTED")
		output, err := s.command("kubectl", "--", "exec", "real-1", "--", "/workload", "exit", "-code=3").CombinedOutput()
		require.Error(t, err)
		assert.Contains(t, string(output), "EXIT 3")
	})

	t.Run("what a container prints is in a file of the machine", func(t *testing.T) {
		files, err := filepath.Glob(filepath.Join(s.dir, "real-nodes/real-0/log/pods/default_real-0_*/workload/0.log"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		content, err := os.ReadFile(files[0])
		require.NoError(t, err)
		assert.Contains(t, string(content), "STARTED")
	})

	t.Run("the user's configuration of kubelets is merged over the sandbox's", func(t *testing.T) {
		node, err := client.CoreV1().Nodes().Get(t.Context(), "real-0", metav1.GetOptions{})
		require.NoError(t, err)
		assert.EqualValues(t, 7, node.Status.Capacity.Pods().Value())
		assert.Equal(t, "true", node.Labels["podsequence.example.com/real-node"])
	})

	t.Run("a kubelet may change its own node and no other", func(t *testing.T) {
		kubelet := s.kubelet("real-0")
		patch := []byte(`{"metadata": {"annotations": {"test": "test"}}}`)
		_, err := kubelet.CoreV1().Nodes().Patch(t.Context(), "real-0", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		require.NoError(t, err)
		_, err = kubelet.CoreV1().Nodes().Patch(t.Context(), "real-1", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		_, err = kubelet.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), "real-1", metav1.GetOptions{})
		require.True(t, apierrors.IsForbidden(err), "%v", err)
	})

	t.Run("a node that boots again has another boot ID, its disk and its pods", func(t *testing.T) {
		before, err := client.CoreV1().Nodes().Get(t.Context(), "real-0", metav1.GetOptions{})
		require.NoError(t, err)
		s.run("node", "crash", "real-0")
		assert.Contains(t, s.run("status"), "real-0   off")
		s.run("node", "start", "real-0")
		s.waitForPod("real-0", func(pod *corev1.Pod) bool { return pod.Status.ContainerStatuses[0].RestartCount == 1 })
		var after *corev1.Node
		s.eventually("the node has another boot ID", func(ctx context.Context) bool {
			after, err = client.CoreV1().Nodes().Get(ctx, "real-0", metav1.GetOptions{})
			return err == nil && after.Status.NodeInfo.BootID != before.Status.NodeInfo.BootID
		})
		assert.Equal(t, before.Status.NodeInfo.MachineID, after.Status.NodeInfo.MachineID)
		other, err := client.CoreV1().Nodes().Get(t.Context(), "real-1", metav1.GetOptions{})
		require.NoError(t, err)
		assert.NotEqual(t, other.Status.NodeInfo.BootID, after.Status.NodeInfo.BootID)
		assert.NotEqual(t, other.Status.NodeInfo.MachineID, after.Status.NodeInfo.MachineID)
	})

	t.Run("containers outlive their kubelet", func(t *testing.T) {
		s.run("node", "stop", "real-1")
		s.run("node", "crash", "real-0") // so that the processes of only one node are left
		assert.Contains(t, s.run("status"), "real-1   kubelet stopped")
		assert.True(t, slices.ContainsFunc(s.processesOfNodes(), func(process string) bool {
			return strings.Contains(process, "/workload serve")
		}))
		s.run("node", "start", "real-1")
		s.waitForPod("real-1", func(pod *corev1.Pod) bool { return pod.Status.ContainerStatuses[0].RestartCount == 0 })
	})

	t.Run("a node that ends by itself is off, and can be started", func(t *testing.T) {
		s.run("node", "start", "real-0")
		s.waitForPod("real-0", func(pod *corev1.Pod) bool { return pod.Status.ContainerStatuses[0].RestartCount == 2 })
		killed := 0
		for _, process := range s.processesOfNodes() {
			if pid, command, _ := strings.Cut(process, " "); strings.HasPrefix(command, "containerd --config") {
				id, err := strconv.Atoi(pid)
				require.NoError(t, err)
				require.NoError(t, syscall.Kill(id, syscall.SIGKILL))
				killed++
			}
		}
		require.Equal(t, 2, killed, "containerd, without which a node is of no use, on both nodes")
		s.eventually("the nodes are off", func(context.Context) bool { return strings.Count(s.run("status"), "off") == 2 })
		assert.Empty(t, s.processesOfNodes())
		s.run("node", "start", "real-0")
		s.waitForPod("real-0", func(pod *corev1.Pod) bool { return pod.Status.ContainerStatuses[0].RestartCount > 2 })
	})
}

// kubelet is a client with the identity of a node's kubelet.
func (s *sandbox) kubelet(node string) kubernetes.Interface {
	s.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.dir, "state/config", node+".kubeconfig"))
	require.NoError(s.t, err)
	config.Host = s.cluster().Config().Host // Its own is an address that only nodes have.
	client, err := kubernetes.NewForConfig(config)
	require.NoError(s.t, err)
	return client
}
