package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/manifests"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	gangSize = 8
	// deadlockTime is how long the demo watches gangs that will never complete.
	deadlockTime = 10 * time.Second
	// The labels and the annotation of pod groups.
	gangName  = "podgroup.jhwagner.github.io/name"
	gangReady = "podgroup.jhwagner.github.io/ready"
	gangSizes = "podgroup.jhwagner.github.io/size"
	// completeAfter keeps the sandbox from completing the pods of a Job one by one.
	completeAfter = "sandbox.podsequence.example.com/complete-after"
)

var gangNames = []string{"gang-a", "gang-b", "gang-c", "gang-d"}

func newGangDemoCommand(s *settings) *cobra.Command {
	deadlock := false
	command := &cobra.Command{
		Use:   "demo-gang",
		Short: "Run four gangs of eight pods on nodes that hold two, on a fresh cluster",
		Long: `Run four gangs of eight pods on nodes that hold two, on a fresh cluster.

Each gang is a Job of eight pods. When all eight run, podsequence-controller labels them with
podgroup.jhwagner.github.io/ready. A KWOK stage, one of the samples, then completes the pods. The Jobs are created one
after another.

With --deadlock the pods of all gangs are created at once, in turn. The scheduler then starts a part of each gang, no gang
is ever whole, and nothing completes. After ten seconds the demo does the same again with PodGroups and the gang
scheduling of Kubernetes.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demoGang(cmd.Context(), cmd.OutOrStdout(), s, deadlock)
		},
	}
	command.Flags().BoolVar(&deadlock, "deadlock", false, "first show the deadlock without gang scheduling, then gang scheduling")
	return command
}

func demoGang(ctx context.Context, out io.Writer, s *settings, deadlock bool) (err error) {
	flags := &upFlags{nodes: 4, without: []string{controlplane.PodSequenceScheduler}}
	if deadlock {
		flags.featureGates = []string{"GenericWorkload=true"}
		flags.runtimeConfig = []string{schedulingv1beta1.SchemeGroupVersion.String() + "=true"}
	}
	options, err := flags.options(s.dir)
	if err != nil {
		return err
	}
	stage, err := fs.ReadFile(manifests.FS, "samples/podgroup-kwok-stage.yaml")
	if err != nil {
		return fmt.Errorf("read stage: %w", err)
	}
	options.Stages = []string{string(stage)}
	options.NodeCapacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	fmt.Fprintln(out, "Starting a Kubernetes cluster with podsequence-controller on this machine: 4 nodes of 4 CPUs")
	cluster, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop(context.WithoutCancel(ctx))) }()
	api, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	job, err := sampleJob()
	if err != nil {
		return err
	}
	demo := &gangDemo{api: api, out: out, job: job}
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	if deadlock {
		return demo.deadlock(ctx)
	}
	return demo.jobs(ctx)
}

// sampleJob is a gang of the samples.
func sampleJob() (*batchv1.Job, error) {
	content, err := fs.ReadFile(manifests.FS, "samples/podgroup-job.yaml")
	if err != nil {
		return nil, fmt.Errorf("read sample: %w", err)
	}
	job := &batchv1.Job{}
	if err := yaml.UnmarshalStrict(content, job); err != nil {
		return nil, fmt.Errorf("decode sample: %w", err)
	}
	job.Spec.Template.Annotations = map[string]string{completeAfter: "never"}
	return job, nil
}

// gangDemo makes gangs of the pods of one Job.
type gangDemo struct {
	api client.WithWatch
	out io.Writer
	job *batchv1.Job
}

// jobs creates the gangs as Jobs, each when the one before has all its pods, so that the first two get all the room.
func (d *gangDemo) jobs(ctx context.Context) error {
	fmt.Fprintln(d.out, "Creating four Jobs of eight pods, one after another. There is room for sixteen pods.")
	g, err := d.begin(ctx, "gangs")
	if err != nil {
		return err
	}
	defer g.stop()
	for i, name := range gangNames {
		job := d.job.DeepCopy()
		job.Namespace, job.Name = g.namespace, name
		job.Spec.Template.Labels[gangName] = name
		if err := d.api.Create(ctx, job); err != nil {
			return fmt.Errorf("create Job: %w", err)
		}
		if err := g.follow(ctx, func() bool { return len(g.pods) == (i+1)*gangSize }); err != nil {
			return err
		}
	}
	if err := g.follow(ctx, g.completed); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nFour gangs completed after %s, with room for two.\n", seconds(time.Since(g.began)))
	return nil
}

// deadlock runs the gangs twice: without gang scheduling, and with it.
func (d *gangDemo) deadlock(ctx context.Context) error {
	fmt.Fprintln(d.out, "\nWithout gang scheduling: one pod of each gang in turn, as Jobs that start together create them")
	stuck, err := d.begin(ctx, "without")
	if err != nil {
		return err
	}
	defer stuck.stop()
	if err := d.inTurn(ctx, stuck.namespace, false); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, deadlockTime)
	defer cancel()
	switch err := stuck.follow(bounded, stuck.completed); {
	case err == nil:
		return errors.New("all gangs completed: there was no deadlock to show")
	case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
		return err
	}
	fmt.Fprintf(d.out, "\nDeadlock: after %s every gang has a part of its pods running, and none has all. None will ever complete.\n",
		seconds(time.Since(stuck.began)))
	if err := d.api.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(stuck.namespace), client.GracePeriodSeconds(0)); err != nil {
		return fmt.Errorf("delete pods: %w", err)
	}
	if err := stuck.await(ctx, func() bool { return len(stuck.pods) == 0 }, func() error { return nil }); err != nil {
		return err
	}

	fmt.Fprintln(d.out, "\nThe same with a PodGroup for each gang, which the scheduler places as a whole or not at all")
	g, err := d.begin(ctx, "with")
	if err != nil {
		return err
	}
	defer g.stop()
	for _, name := range gangNames {
		group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: name}}
		group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: gangSize}
		if err := d.api.Create(ctx, group); err != nil {
			return fmt.Errorf("create PodGroup: %w", err)
		}
	}
	if err := d.inTurn(ctx, g.namespace, true); err != nil {
		return err
	}
	if err := g.follow(ctx, g.completed); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nFour gangs completed after %s.\n", seconds(time.Since(g.began)))
	return nil
}

// inTurn creates one pod of each gang in turn, members of PodGroups or not.
func (d *gangDemo) inTurn(ctx context.Context, namespace string, grouped bool) error {
	for i := range gangSize {
		for _, name := range gangNames {
			template := d.job.Spec.Template.DeepCopy()
			pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
			pod.Namespace, pod.Name = namespace, fmt.Sprintf("%s-%d", name, i)
			pod.Labels[gangName] = name
			pod.Annotations = map[string]string{gangSizes: fmt.Sprint(gangSize)}
			if grouped {
				pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
			}
			if err := d.api.Create(ctx, pod); err != nil {
				return fmt.Errorf("create pod: %w", err)
			}
		}
	}
	return nil
}
