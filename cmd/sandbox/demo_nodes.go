package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/sandbox/controlplane"
	"example.com/podsequence/tools/sandbox/retrywatch"
)

// nodeDemo is an act in which applications follow a driver node by node.
type nodeDemo struct {
	kustomization string // below our manifests
	sequence      types.NamespacedName
	driver        types.NamespacedName // the DaemonSet, whose pods have the label app with its name
	applications  []string             // the namespaces of the applications
	replicas      int                  // of all applications
}

// The second act, and the third, whose ClusterPodSequence spans namespaces.
var (
	nodesDemo = nodeDemo{
		kustomization: "demo-nodes", sequence: types.NamespacedName{Namespace: "storage", Name: "storage"},
		driver: types.NamespacedName{Namespace: "storage", Name: "csi-driver"}, applications: []string{"storage"}, replicas: 10,
	}
	acrossDemo = nodeDemo{
		kustomization: "demo-across", sequence: types.NamespacedName{Name: "csi-storage"},
		driver:       types.NamespacedName{Namespace: "kube-system", Name: "csi-storage"},
		applications: []string{"orders", "billing"}, replicas: 12,
	}
)

const demoNodes = 5

// play applies the act and shows how it comes along.
func (d nodeDemo) play(ctx context.Context, out io.Writer, cluster *controlplane.Cluster) error {
	if err := cluster.Apply(ctx, d.kustomization); err != nil {
		return err
	}
	if err := d.paceDrivers(ctx, cluster.Config()); err != nil {
		return err
	}
	return followAct(ctx, newScreen(out), cluster.Config(), d.sequence, d.table)
}

var errWatchEnded = errors.New("the watch has ended")

// driverSpeeds says how long the driver takes on each node to turn ready. On the last it never does.
var driverSpeeds = map[string]string{"node-0": "4s", "node-1": "1s", "node-2": "6s", "node-3": "2s"}

// paceDrivers gives the driver of each node its speed.
func (d nodeDemo) paceDrivers(ctx context.Context, config *rest.Config) error {
	api, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	var placed corev1.PodList
	pods, err := retrywatch.Start(ctx, api, &placed, client.InNamespace(d.driver.Namespace), client.MatchingLabels{"app": d.driver.Name})
	if err != nil {
		return fmt.Errorf("follow the drivers: %w", err)
	}
	defer pods.Stop()
	left := maps.Clone(driverSpeeds)
	pace := func(pod *corev1.Pod) error {
		speed, ok := left[pod.Spec.NodeName]
		if !ok {
			return nil
		}
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"sandbox.podsequence.example.com/ready-after":%q}}}`, speed)
		if err := api.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			return fmt.Errorf("set when a driver turns ready: %w", err)
		}
		delete(left, pod.Spec.NodeName)
		return nil
	}
	for i := range placed.Items {
		if err := pace(&placed.Items[i]); err != nil {
			return err
		}
	}
	for len(left) > 0 {
		event, open := <-pods.ResultChan()
		if !open {
			return fmt.Errorf("wait for the drivers to be placed: %w", cmp.Or(ctx.Err(), errWatchEnded))
		}
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return fmt.Errorf("follow the drivers: %v", event.Object)
		}
		if err := pace(pod); err != nil {
			return err
		}
	}
	return nil
}

// table has a row for each node, and one for the pods that are on no node yet. It reads pods alone, so that all of it is from one
// moment. It is done when all pods of the applications are ready, and status counts every node with a driver as completed.
func (d nodeDemo) table(sequence *v1alpha1.PodSequence, pods []corev1.Pod) frame {
	drivers, applications := map[string]string{}, map[string]map[string]int{}
	for name := range demoNodes {
		drivers[fmt.Sprintf("node-%d", name)] = ""
	}
	ready := 0
	for i := range pods {
		pod, state := &pods[i], podState(&pods[i])
		if pod.Namespace == d.driver.Namespace && pod.Labels["app"] == d.driver.Name {
			if _, starts := driverSpeeds[pod.Spec.NodeName]; !starts {
				state = "never ready"
			}
			drivers[pod.Spec.NodeName] = state
			continue
		}
		if !slices.Contains(d.applications, pod.Namespace) {
			continue
		}
		if applications[pod.Spec.NodeName] == nil {
			applications[pod.Spec.NodeName] = map[string]int{}
		}
		if applications[pod.Spec.NodeName][state]++; state == "ready" {
			ready++
		}
	}
	delete(drivers, "")

	table := nodeRows(drivers, applications, "PODS IN "+strings.ToUpper(strings.Join(d.applications, ", ")))
	summary := sequence.Status.NodeSummary
	current := frame{table: table, done: ready == d.replicas && summary != nil && int(summary.Completed) == len(driverSpeeds)}
	// Where drivers of other nodes still start, this shows both: pods that run, and pods that wait.
	if ready > 0 {
		current.chapter = "the first pods are ready"
	}
	return current
}

// nodeRows are the rows of the table: the state of the driver of each node, and how many pods are in which state there.
func nodeRows(drivers map[string]string, applications map[string]map[string]int, title string) string {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "  NODE\tDRIVER\t%s\n", title)
	for _, node := range append(slices.Sorted(maps.Keys(drivers)), "") {
		var states []string
		for _, state := range []string{"held", "starting", "ready"} {
			if n := applications[node][state]; n > 0 {
				states = append(states, fmt.Sprintf("%d %s", n, state))
			}
		}
		name := node
		if name == "" {
			if len(states) == 0 {
				continue
			}
			name = "(none yet)"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", name, drivers[node], strings.Join(states, ", "))
	}
	_ = w.Flush() // a bytes.Buffer takes everything
	return out.String()
}
