package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	// startTimeout is how long a cluster may take until its nodes take pods.
	startTimeout = 3 * time.Minute
	// pollEvery is how often the benchmark asks for what it waits for while it measures nothing.
	pollEvery = 100 * time.Millisecond
	// manyAtATime is how many requests the benchmark makes at a time where it measures nothing.
	manyAtATime = 8
	// calm is how many processors the cluster may keep busy before a phase begins, on average over a second.
	calm = 0.25
	// calmTimeout is how long the cluster may take to calm down.
	calmTimeout = 20 * time.Second
)

// noNodeCare keeps the cluster from writing to its nodes, which takes long if there are many and tells nothing about us.
var noNodeCare = map[string][]string{
	controlplane.APIServer:         {"--disable-admission-plugins=TaintNodesByCondition"},
	controlplane.ControllerManager: {"--controllers=*,-node-lifecycle-controller,-ttl-controller"},
}

// testbed is a cluster with our real programs under their own ServiceAccounts, and nodes whose kubelets we play.
type testbed struct {
	cluster *controlplane.Cluster
	core    kubernetes.Interface
	api     client.Client
	monitor monitor
	nodes   int
	quota   bool // whether the sample quota limits namespaces of the hostile tenant
	dir     string

	components []string
}

// startTestbed brings up a cluster with so many nodes.
func startTestbed(ctx context.Context, nodes int, quota bool) (_ *testbed, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	// There is no KWOK: it would make pods ready when it gets round to it.
	t := &testbed{nodes: nodes, quota: quota, components: slices.DeleteFunc(controlplane.Components(), func(name string) bool {
		return name == controlplane.Kwok
	})}
	if t.dir, err = os.MkdirTemp("", "podsequence-tenants-"); err != nil {
		return nil, fmt.Errorf("make directory of the cluster: %w", err)
	}
	t.cluster, err = controlplane.Start(ctx, controlplane.Options{Dir: t.dir, Components: t.components, ExtraArgs: noNodeCare, UnprobedReadySeconds: new(int32)})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.stop())
		}
	}()
	if t.core, err = kubernetes.NewForConfig(t.cluster.Config()); err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	if t.api, err = client.New(t.cluster.Config(), client.Options{Scheme: cluster.Scheme}); err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	if t.monitor, err = newMonitor(ctx, t.api); err != nil {
		return nil, err
	}
	if err = t.createDecoys(ctx); err != nil {
		return nil, err
	}
	if err = t.createNodes(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

// stop takes the cluster down. Its logs stay where saveLogs has put them.
func (t *testbed) stop() error {
	return errors.Join(t.cluster.Stop(context.Background()), os.RemoveAll(t.dir))
}

// saveLogs copies the logs of our programs to a directory.
func (t *testbed) saveLogs(dir, attack string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make directory for logs: %w", err)
	}
	for _, name := range programs {
		content, err := os.ReadFile(t.cluster.Log(name))
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, attack+"-"+name+".log"), content, 0o600); err != nil {
			return fmt.Errorf("save log: %w", err)
		}
	}
	return nil
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// createNodes creates nodes that are ready.
func (t *testbed) createNodes(ctx context.Context) error {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods: resource.MustParse("1000"),
	}
	err := eachAtOnce(ctx, t.nodes, func(ctx context.Context, i int) error {
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: map[string]string{
				corev1.LabelHostname: nodeName(i), corev1.LabelOSStable: "linux",
			}},
			Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity, Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue,
				LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			}}},
		}
		_, err := t.core.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("create nodes: %w", err)
	}
	return nil
}

// createNamespace creates a namespace in which pods can be created.
func (t *testbed) createNamespace(ctx context.Context, name string) error {
	if err := t.api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return fmt.Errorf("create namespace %s: %w", name, err)
	}
	return t.await(ctx, "the account that pods need", func(ctx context.Context) (bool, error) {
		_, err := t.core.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, client.IgnoreNotFound(err)
	})
}

// grantAdmin makes somebody the administrator of a namespace, of our kinds there, too.
func (t *testbed) grantAdmin(ctx context.Context, user, namespace string) error {
	ours := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "bench-our-kinds"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{
			sequenceKind.group(), coordinationKind.group(), stepsKind.group(),
			sequenceKind.decoy().group(), coordinationKind.decoy().group(), stepsKind.decoy().group(),
		},
		Resources: []string{"podsequences", "deploymentcoordinations", "sequentialjobs"},
		Verbs:     []string{"get", "list", "watch", "create", "update", "patch", "delete"},
	}}}
	if err := t.api.Create(ctx, ours); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create role: %w", err)
	}
	for _, role := range []string{"admin", ours.Name} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}
		if err := t.api.Create(ctx, binding); err != nil {
			return fmt.Errorf("grant role: %w", err)
		}
	}
	return nil
}

func (t *testbed) await(ctx context.Context, what string, happened wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextCancel(ctx, pollEvery, true, happened); err != nil {
		return fmt.Errorf("wait for %s: %w", what, err)
	}
	return nil
}

// patchStatus writes what a kubelet would.
func (t *testbed) patchStatus(ctx context.Context, namespace, pod string, status corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("encode status of pod %s: %w", pod, err)
	}
	_, err = t.core.CoreV1().Pods(namespace).Patch(ctx, pod, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("write status of pod %s: %w", pod, err)
	}
	return nil
}

// completeJob plays the kubelet of the only pod of a Job, and waits until the Job is Complete.
func (t *testbed) completeJob(ctx context.Context, namespace, name string) error {
	return t.await(ctx, "Job "+name+" to be complete", func(ctx context.Context) (bool, error) {
		job, err := t.core.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil || job.Status.CompletionTime != nil {
			return err == nil, err
		}
		pods, err := t.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for i := range pods.Items {
			if pod := &pods.Items[i]; pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending {
				return false, t.patchStatus(ctx, namespace, pod.Name, corev1.PodStatus{Phase: corev1.PodSucceeded})
			}
		}
		return false, nil
	})
}

// awaitCalm returns when the cluster has done what came before, but it does not insist.
func (t *testbed) awaitCalm(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, calmTimeout)
	defer cancel()
	for before := usageNow(t.cluster, t.components); ; {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
		now := usageNow(t.cluster, t.components)
		if all, others := now.busy(before); all-others < calm {
			return
		}
		before = now
	}
}

// eachAtOnce does something so many times, some at a time.
func eachAtOnce(ctx context.Context, count int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(manyAtATime)
	for i := range count {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
