package controlplane_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	readyAfter    = "sandbox.podsequence.example.com/ready-after"
	completeAfter = "sandbox.podsequence.example.com/complete-after"
	failAfter     = "sandbox.podsequence.example.com/fail-after"
	crashAfter    = "sandbox.podsequence.example.com/crash-after"
	restartAfter  = "sandbox.podsequence.example.com/restart-after"
	rejected      = "sandbox.podsequence.example.com/rejected"
	clock         = "sandbox.podsequence.example.com/clock"
)

// never is the value of readyAfter that keeps a pod unready.
const never = "never"

// clusterTimeout is far more than everything takes together.
const clusterTimeout = 3 * time.Minute

// TestCluster uses one cluster for everything and ends it last.
func TestCluster(t *testing.T) {
	slow.Test(t)
	ctx, cancel := context.WithTimeout(t.Context(), clusterTimeout)
	defer cancel()
	options := controlplane.Options{
		Dir:        filepath.Join(t.TempDir(), "cluster"),
		Nodes:      3,
		Components: controlplane.UpstreamComponents(),
		AuditLog:   true,
		Progress:   func(step controlplane.Step) { t.Logf("%s %s after %s", step.Name, step.State, step.Took) },
	}
	cluster, err := controlplane.Start(ctx, options)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Stop(context.Background())) })
	client, err := kubernetes.NewForConfig(cluster.Config())
	require.NoError(t, err)

	t.Run("serves the version it is built from", func(t *testing.T) {
		version, err := client.Discovery().ServerVersion()
		require.NoError(t, err)
		assert.Equal(t, "v1.37.1", version.GitVersion)
	})
	t.Run("has nodes in three zones", func(t *testing.T) { testNodes(ctx, t, client) })
	t.Run("refuses to be started twice", func(t *testing.T) {
		_, err := controlplane.Start(ctx, options)
		require.ErrorContains(t, err, "a sandbox is running in "+options.Dir)
	})
	t.Run("runs the pods of a Deployment", func(t *testing.T) { testDeployment(ctx, t, client) })
	t.Run("lets annotations decide about pods", func(t *testing.T) { testAnnotations(ctx, t, client) })
	t.Run("plays what kubelets report of containers that crash", func(t *testing.T) { testCrashes(ctx, t, client) })
	t.Run("survives the end of its API server", func(t *testing.T) { testRestart(ctx, t, cluster, client) })
	t.Run("keeps an audit log", func(t *testing.T) {
		log, err := os.ReadFile(cluster.AuditLog())
		require.NoError(t, err)
		assert.Contains(t, string(log), `"subresource":"binding"`)
	})
	t.Run("leaves nothing behind but logs", func(t *testing.T) { testStop(ctx, t, cluster, options.Dir) })
}

func TestFailedStartLeavesNothingButItsLogs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), clusterTimeout)
	defer cancel()
	dir := t.TempDir()
	_, err := controlplane.Start(ctx, controlplane.Options{
		Dir:        dir,
		Components: controlplane.UpstreamComponents(),
		ExtraArgs:  map[string][]string{controlplane.Etcd: {"--data-dir=/dev/null/data"}},
	})
	require.ErrorContains(t, err, "wait for etcd: process ended")
	require.ErrorContains(t, err, "/dev/null/data", "the end of the log says why")
	assert.NoDirExists(t, filepath.Join(dir, "state"))
	assert.FileExists(t, filepath.Join(dir, "logs", "etcd.log"))
	_, err = controlplane.Open(dir)
	require.ErrorIs(t, err, controlplane.ErrNoCluster)
}

func testNodes(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	zones := map[string]string{}
	for _, node := range nodes.Items {
		assert.Equal(t, node.Name, node.Labels[corev1.LabelHostname])
		assert.Empty(t, node.Spec.Taints)
		zones[node.Name] = node.Labels[corev1.LabelTopologyZone]
	}
	assert.Equal(t, map[string]string{"node-0": "zone-a", "node-1": "zone-b", "node-2": "zone-c"}, zones)
}

func testDeployment(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	// The first pods that come at the same time may get the same address: each makes KWOK's pool of addresses, and one of these is kept
	// (ipPool in pkg/kwok/controllers/pod_controller.go, v0.8.0).
	waitForPod(ctx, t, client, createPod(ctx, t, client, "first", nil), isRunning)

	labels := map[string]string{"app": "web"}
	replicas := int32(5)
	_, err := client.AppsV1().Deployments(metav1.NamespaceDefault).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)

	deployments := cache.NewListWatchFromClient(client.AppsV1().RESTClient(), "deployments", metav1.NamespaceDefault,
		fields.OneTermEqualSelector(metav1.ObjectNameField, "web"))
	_, err = watchtools.UntilWithSync(ctx, deployments, &appsv1.Deployment{}, nil,
		func(event watch.Event) (bool, error) {
			return event.Object.(*appsv1.Deployment).Status.ReadyReplicas == replicas, nil
		})
	require.NoError(t, err)

	pods, err := client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	require.NoError(t, err)
	ips := map[string]bool{}
	for _, pod := range pods.Items {
		assert.Equal(t, corev1.PodRunning, pod.Status.Phase)
		assert.True(t, pod.Status.ContainerStatuses[0].Ready)
		assert.NotNil(t, pod.Status.ContainerStatuses[0].State.Running)
		ips[pod.Status.PodIP] = true
	}
	assert.Len(t, ips, int(replicas), "every pod has an address of its own")
}

func testAnnotations(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	t.Run("ready-after delays readiness", func(t *testing.T) {
		pod := createPod(ctx, t, client, "late", map[string]string{readyAfter: "2s"})
		pod = waitForPod(ctx, t, client, pod, isReady)
		sinceStart := condition(pod, corev1.PodReady).LastTransitionTime.Sub(pod.Status.StartTime.Time)
		assert.GreaterOrEqual(t, sinceStart, 2*time.Second)
		assert.LessOrEqual(t, sinceStart, 20*time.Second, "how exactly is tested where the stages are")
	})
	t.Run("readiness can be given and taken", func(t *testing.T) {
		pod := createPod(ctx, t, client, "switched", map[string]string{readyAfter: never})
		pod = waitForPod(ctx, t, client, pod, isRunning)
		require.False(t, isReady(pod))
		annotate(ctx, t, client, pod, readyAfter, "0s")
		waitForPod(ctx, t, client, pod, isReady)
		annotate(ctx, t, client, pod, readyAfter, never)
		waitForPod(ctx, t, client, pod, func(pod *corev1.Pod) bool { return !isReady(pod) })
	})
	t.Run("complete-after lets a pod succeed", func(t *testing.T) {
		pod := createPod(ctx, t, client, "completes", map[string]string{completeAfter: "5s"})
		waitForPod(ctx, t, client, pod, isReady) // after a second
		pod = waitForPod(ctx, t, client, pod, hasEnded)
		assert.Equal(t, corev1.PodSucceeded, pod.Status.Phase)
		assertTerminated(t, pod, 0)
	})
	t.Run("fail-after lets a pod fail", func(t *testing.T) {
		pod := createPod(ctx, t, client, "fails", map[string]string{failAfter: "500ms", readyAfter: never})
		pod = waitForPod(ctx, t, client, pod, hasEnded)
		assert.Equal(t, corev1.PodFailed, pod.Status.Phase)
		assertTerminated(t, pod, 1)
	})
	t.Run("a deleted pod goes", func(t *testing.T) {
		pod := createPod(ctx, t, client, "deleted", nil)
		pod = waitForPod(ctx, t, client, pod, isRunning)
		require.NoError(t, client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{}))
		gone := func(pods cache.Store) (bool, error) { return len(pods.List()) == 0, nil } // before the watch began
		_, err := watchtools.UntilWithSync(ctx, podNamed(client, pod), &corev1.Pod{}, gone,
			func(event watch.Event) (bool, error) { return event.Type == watch.Deleted, nil })
		require.NoError(t, err)
	})
}

// testCrashes lets all pods crash side by side.
func testCrashes(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	// It crashes every two seconds: whoever looks may have missed the first times.
	seen := createPod(ctx, t, client, "crashes", map[string]string{readyAfter: "0s", crashAfter: "500ms", restartAfter: "1s"})
	unseen := createPod(ctx, t, client, "crashes-unseen", map[string]string{readyAfter: "0s", crashAfter: "500ms", restartAfter: "0s"})
	refused := createPod(ctx, t, client, "refused", map[string]string{rejected: "OutOfcpu"})
	ahead := createPod(ctx, t, client, "clock-ahead", map[string]string{readyAfter: "0s", clock: "1h"})

	t.Run("a pod is ready between two crashes", func(t *testing.T) {
		var readiness []bool
		crashed := waitForPod(ctx, t, client, seen, func(pod *corev1.Pod) bool {
			if ready := isReady(pod); len(readiness) == 0 || readiness[len(readiness)-1] != ready {
				readiness = append(readiness, ready)
			}
			return len(readiness) >= 4 && isReady(pod) // it was ready before, and unready in between
		})
		assert.Positive(t, restarts(crashed))
		last := crashed.Status.ContainerStatuses[0].LastTerminationState.Terminated
		require.NotNil(t, last)
		assert.EqualValues(t, 1, last.ExitCode)
		annotate(ctx, t, client, crashed, crashAfter, never)
		waitForPod(ctx, t, client, crashed, isReady)
	})
	t.Run("a restart that nobody saw is a later readiness", func(t *testing.T) {
		var first *corev1.Pod
		again := waitForPod(ctx, t, client, unseen, func(pod *corev1.Pod) bool {
			switch {
			case first == nil && isReady(pod):
				first = pod.DeepCopy()
			case first != nil:
				assert.True(t, isReady(pod))
			}
			return first != nil && condition(pod, corev1.PodReady).LastTransitionTime.After(condition(first, corev1.PodReady).LastTransitionTime.Time)
		})
		assert.Greater(t, restarts(again), restarts(first))
	})
	t.Run("a pod that is rejected loses what others wrote", func(t *testing.T) {
		pod := waitForPod(ctx, t, client, refused, hasEnded)
		assert.Equal(t, corev1.PodFailed, pod.Status.Phase)
		assert.Equal(t, "OutOfcpu", pod.Status.Reason)
		assert.Empty(t, pod.Status.Conditions)
		assert.NotEmpty(t, pod.Spec.NodeName)
	})
	t.Run("times are those of the kubelet's clock", func(t *testing.T) {
		pod := waitForPod(ctx, t, client, ahead, isReady)
		assert.Greater(t, condition(pod, corev1.PodReady).LastTransitionTime.Sub(pod.CreationTimestamp.Time), 59*time.Minute)
	})
}

func testRestart(ctx context.Context, t *testing.T, cluster *controlplane.Cluster, client kubernetes.Interface) {
	before, err := cluster.PID(controlplane.APIServer)
	require.NoError(t, err)
	require.ErrorContains(t, cluster.StartComponent(ctx, controlplane.APIServer), "running already")
	require.NoError(t, cluster.Kill(ctx, controlplane.APIServer))
	_, err = cluster.PID(controlplane.APIServer)
	require.ErrorIs(t, err, os.ErrProcessDone)
	_, err = client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	require.Error(t, err, "the API server was killed")

	require.NoError(t, cluster.StartComponent(ctx, controlplane.APIServer))
	after, err := cluster.PID(controlplane.APIServer)
	require.NoError(t, err)
	assert.NotEqual(t, before, after)
	_, err = client.AppsV1().Deployments(metav1.NamespaceDefault).Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err, "what was stored before is still there")
	pod := createPod(ctx, t, client, "after-restart", nil)
	waitForPod(ctx, t, client, pod, isReady)

	statuses, err := cluster.Status(ctx)
	require.NoError(t, err)
	require.Len(t, statuses, len(controlplane.UpstreamComponents()))
	for _, status := range statuses {
		assert.NoError(t, status.Problem, status.Name)
	}
}

func testStop(ctx context.Context, t *testing.T, cluster *controlplane.Cluster, dir string) {
	var pids []int
	for _, name := range controlplane.UpstreamComponents() {
		pid, err := cluster.PID(name)
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	// A component that hangs must not keep the others from being stopped.
	require.NoError(t, cluster.Signal(controlplane.Scheduler, syscall.SIGSTOP))
	require.NoError(t, cluster.Stop(ctx))
	for _, pid := range pids {
		assert.NotContains(t, commandLine(pid), dir, "process %d is left", pid)
	}
	assert.NoDirExists(t, filepath.Join(dir, "state"))
	assert.NoFileExists(t, cluster.Kubeconfig())
	assert.FileExists(t, cluster.Log(controlplane.APIServer))
	_, err := controlplane.Open(dir)
	require.ErrorIs(t, err, controlplane.ErrNoCluster)
	require.NoError(t, cluster.Stop(ctx), "stopping twice is no error")
}
