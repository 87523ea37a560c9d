package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/test/rolloutcheck"
	"example.com/podsequence/tools/sandbox/controlplane"
	"example.com/podsequence/tools/sandbox/retrywatch"
)

// rolloutDemo is what the kustomization "demo-rollout" applies.
var rolloutDemo = types.NamespacedName{Namespace: "addresses", Name: "addresses"}

func newRolloutDemoCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "demo-rollout",
		Short: "Roll out three Deployments one at a time on a fresh cluster, and let a watcher judge the order",
		Long: `Roll out three Deployments one at a time on a fresh cluster, and let a watcher judge the order.

All three get a new image in the same second. A DeploymentCoordination makes them roll out in turn. At the end a watcher,
which shares no code with the controller, says whether two ever rolled out at once.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demoRollout(cmd.Context(), cmd.OutOrStdout(), s)
		},
	}
}

func demoRollout(ctx context.Context, out io.Writer, s *settings) (err error) {
	options, err := (&upFlags{nodes: 3, without: []string{controlplane.PodSequenceScheduler}}).options(s.dir)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "Starting a Kubernetes cluster with podsequence-controller on this machine")
	cluster, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop(context.WithoutCancel(ctx))) }()
	demo, err := newRollout(cluster.Config(), newScreen(out))
	if err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	fmt.Fprintln(out, "Creating a DeploymentCoordination and three Deployments: their first rollout is one too")
	if err := cluster.Apply(ctx, "demo-rollout"); err != nil {
		return err
	}
	if err := demo.follow(ctx); err != nil {
		return err
	}
	etcd, err := cluster.EtcdConfig()
	if err != nil {
		return err
	}
	watcher, err := rolloutcheck.Start(ctx, etcd)
	if err != nil {
		return err
	}
	defer watcher.Stop()
	fmt.Fprintln(out, "\nGiving all three a new image at once, the last first")
	if err := demo.change(ctx); err != nil {
		return err
	}
	if err := demo.follow(ctx); err != nil {
		return err
	}
	verdict, err := watcher.VerdictFor(ctx, rolloutDemo.Namespace)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe watcher %s\n", verdict)
	if len(verdict.Overlaps) > 0 {
		return errors.New("two were rolling at once")
	}
	return nil
}

// rollout is the demo's view of its cluster.
type rollout struct {
	api    client.WithWatch
	screen *screen
	began  time.Time
}

func newRollout(config *rest.Config, screen *screen) (*rollout, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appsapi.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	api, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return &rollout{api: api, screen: screen}, nil
}

// change gives each Deployment another image, in the order that they are not to roll out in.
func (r *rollout) change(ctx context.Context) error {
	for _, name := range []string{"address-c", "address-b", "address-a"} {
		d := &appsv1.Deployment{}
		d.Namespace, d.Name = rolloutDemo.Namespace, name
		patch := client.RawPatch(types.StrategicMergePatchType,
			[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"proxy","image":"registry.example.com/proxy:2"}]}}}}`))
		if err := r.api.Patch(ctx, d, patch); err != nil {
			return fmt.Errorf("change %s: %w", name, err)
		}
	}
	return nil
}

// follow draws a table whenever something changes, until all have rolled out and nobody has the turn any more: the last
// keeps it while it has to be ready for minReadySeconds.
func (r *rollout) follow(ctx context.Context) error {
	r.began = time.Now()
	deployments, err := retrywatch.Start(ctx, r.api, &appsv1.DeploymentList{}, client.InNamespace(rolloutDemo.Namespace))
	if err != nil {
		return fmt.Errorf("follow the Deployments: %w", err)
	}
	defer deployments.Stop()
	coordinations, err := retrywatch.Start(ctx, r.api, &appsapi.DeploymentCoordinationList{}, client.InNamespace(rolloutDemo.Namespace))
	if err != nil {
		return fmt.Errorf("follow the DeploymentCoordinations: %w", err)
	}
	defer coordinations.Stop()
	for {
		done, err := r.draw(ctx)
		if done || err != nil {
			return err
		}
		open := true
		select {
		case _, open = <-deployments.ResultChan():
		case _, open = <-coordinations.ResultChan():
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the Deployments have not rolled out: %w", ctx.Err())
		}
		if !open {
			return fmt.Errorf("follow the Deployments: %w", errWatchEnded)
		}
	}
}

func (r *rollout) draw(ctx context.Context) (done bool, err error) {
	var coordination appsapi.DeploymentCoordination
	if err := r.api.Get(ctx, rolloutDemo, &coordination); err != nil {
		return false, fmt.Errorf("get DeploymentCoordination: %w", err)
	}
	var deployments appsv1.DeploymentList
	if err := r.api.List(ctx, &deployments, client.InNamespace(rolloutDemo.Namespace)); err != nil {
		return false, fmt.Errorf("list Deployments: %w", err)
	}
	if err := r.screen.show(rolloutTable(&coordination, deployments.Items), time.Since(r.began)); err != nil {
		return false, err
	}
	for i := range deployments.Items {
		if rolloutState(&coordination, &deployments.Items[i]) != "rolled out" {
			return false, nil
		}
	}
	return meta.IsStatusConditionTrue(coordination.Status.Conditions, appsapi.ConditionReady), nil
}

func rolloutTable(c *appsapi.DeploymentCoordination, deployments []appsv1.Deployment) string {
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  DEPLOYMENT\tSTATE\tUPDATED\tAVAILABLE")
	for i := range deployments {
		d := &deployments[i]
		fmt.Fprintf(w, "  %s\t%s\t%d/%d\t%d/%d\n", d.Name, rolloutState(c, d),
			d.Status.UpdatedReplicas, *d.Spec.Replicas, d.Status.AvailableReplicas, *d.Spec.Replicas)
	}
	_ = w.Flush() // a bytes.Buffer takes everything
	return table.String()
}

// rolloutState tells by the Deployment alone how far it is, and by its coordination only whose turn it is.
func rolloutState(c *appsapi.DeploymentCoordination, d *appsv1.Deployment) string {
	want, is := *d.Spec.Replicas, d.Status
	switch {
	case d.Spec.Paused:
		return "waits, paused"
	case is.ObservedGeneration >= d.Generation && is.Replicas == want && is.UpdatedReplicas == want && is.AvailableReplicas == want:
		return "rolled out"
	case c.Status.ActiveDeployment == d.Namespace+"/"+d.Name:
		return "rolling out"
	}
	return "unpaused"
}
