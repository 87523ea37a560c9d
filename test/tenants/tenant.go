package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/pkg/controllers/podgroup"
)

const (
	// neighbour is the namespace of the well-behaved tenant.
	neighbour = "neighbour"
	// settling is how long a container of his takes from its start until it is ready.
	settling = 300 * time.Millisecond
	// betweenJobs is how often he starts a SequentialJob.
	betweenJobs = time.Second
	// stepsOfJob is how many steps each of his SequentialJobs has.
	stepsOfJob = 3
)

// tenant is the well-behaved one. He starts small applications in order, rolls out three Deployments in turn again and
// again, and runs SequentialJobs, and notes how long he waits for us each time.
type tenant struct {
	*testbed
	// rate is how many applications he starts a second, patience how long he waits for the last of them.
	rate     float64
	patience time.Duration

	seen     *sights
	rollouts rolloutWatch
}

// newTenant moves into a cluster: his namespace, his Deployments, and the watches that he measures with.
func newTenant(ctx context.Context, t *testbed, rate float64, patience time.Duration) (*tenant, error) {
	n := &tenant{testbed: t, rate: rate, patience: patience, seen: newSights(), rollouts: newRolloutWatch()}
	if err := t.createNamespace(ctx, neighbour); err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(t.core, 0, informers.WithNamespace(neighbour))
	for informer, see := range map[cache.SharedIndexInformer]func(any){
		factory.Core().V1().Pods().Informer():        func(object any) { n.seePod(ctx, object) },
		factory.Apps().V1().Deployments().Informer(): n.seeDeployment,
		factory.Batch().V1().Jobs().Informer():       n.seeJob,
	} {
		handler := cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, object any) { see(object) }}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, fmt.Errorf("watch the well-behaved tenant's objects: %w", err)
		}
	}
	factory.StartWithContext(ctx)
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("watch the well-behaved tenant's objects: %v never synced", kind)
		}
	}
	return n, n.createDeployments(ctx)
}

// live makes the tenant start this many applications at the tenant's rate, and measures the other aims beside them. It returns
// when all are up, or when the tenant's patience is over.
func (n *tenant) live(ctx context.Context, phase string, applications int, aims []measure) (*samples, error) {
	ctx, cancel := context.WithTimeout(ctx, n.startingTakes(applications)+n.patience)
	defer cancel()
	p := &period{tenant: n, name: phase, samples: newSamples()}
	var others sync.WaitGroup
	started := make(chan struct{}) // closed when no more is to be begun
	if slices.Contains(aims, turn) {
		others.Go(func() { p.rollOut(ctx, started) })
	}
	if slices.Contains(aims, step) {
		others.Go(func() { p.runJobs(ctx, started) })
	}

	var running sync.WaitGroup
	ticks := time.NewTicker(time.Duration(float64(time.Second) / n.rate))
	defer ticks.Stop()
	for i := range applications {
		running.Go(func() { p.startApplication(ctx, i) })
		if i%2 == 0 {
			running.Go(func() { p.startOnNode(ctx, i) })
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
		}
	}
	running.Wait()
	close(started)
	others.Wait()
	return p.samples, errors.Join(p.errs...)
}

func (n *tenant) startingTakes(applications int) time.Duration {
	return time.Duration(float64(applications) / n.rate * float64(time.Second))
}

// create creates objects in this order.
func (n *tenant) create(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		if err := n.api.Create(ctx, object); err != nil {
			return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

// remove deletes objects that are not needed any more.
func (n *tenant) remove(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		background := client.PropagationPolicy(metav1.DeletePropagationBackground)
		if err := client.IgnoreNotFound(n.api.Delete(ctx, object, background)); err != nil {
			return fmt.Errorf("delete %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

func meta(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: neighbour, Name: name, Labels: labels}
}

// podSpec is that of a pod which ends at once when it is deleted: there is no kubelet to wait for.
func podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64(0)),
		Containers:                    []corev1.Container{{Name: "app", Image: "example.com/app"}},
	}
}

// seePod notes what has become of a pod, and does the kubelet's part if nobody else does.
func (n *tenant) seePod(ctx context.Context, object any) {
	pod := object.(*corev1.Pod)
	if pod.Spec.NodeName == "" {
		return
	}
	n.seen.mark(bound(pod.Name))
	if pod.Labels[podgroup.DefaultReadyLabel] == "true" {
		n.seen.mark(labelled(pod.Name))
	}
	if pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return
	}
	status := corev1.PodStatus{}
	switch pod.Labels[becomes] {
	case becomesReady:
		status = runningStatus(true)
	case becomesComplete:
		status = corev1.PodStatus{Phase: corev1.PodSucceeded}
	}
	if !equality.Semantic.DeepEqual(status, corev1.PodStatus{}) {
		// If it fails the pod stays as it is, which shows in what waits for it.
		go func() { _ = n.patchStatus(ctx, neighbour, pod.Name, status) }()
	}
}

// setReady makes pods ready and returns the time at which the last of them was.
func (n *tenant) setReady(ctx context.Context, pods ...string) (time.Time, error) {
	return n.setStatus(ctx, runningStatus(true), pods)
}

// setRunning makes pods run, but not ready, and returns the time at which the last of them did.
func (n *tenant) setRunning(ctx context.Context, pods ...string) (time.Time, error) {
	return n.setStatus(ctx, runningStatus(false), pods)
}

func (n *tenant) setStatus(ctx context.Context, status corev1.PodStatus, pods []string) (time.Time, error) {
	for _, pod := range pods {
		if err := n.patchStatus(ctx, neighbour, pod, status); err != nil {
			return time.Time{}, err
		}
	}
	return time.Now(), nil
}

// seeDeployment notes which Deployments have their turn and which have rolled out.
func (n *tenant) seeDeployment(object any) {
	d := object.(*appsv1.Deployment)
	round, err := strconv.Atoi(d.Spec.Template.Annotations[roundAnnotation])
	if err != nil || d.Spec.Paused {
		return
	}
	w := &n.rollouts
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.begun[d.Name] < round {
		w.begun[d.Name] = round
		n.seen.mark(begun(round, w.nBegun[round]))
		w.nBegun[round]++
	}
	if rolledOut(d) && w.finished[d.Name] < round {
		w.finished[d.Name] = round
		n.seen.mark(finished(round, w.nFinished[round]))
		w.nFinished[round]++
	}
}

// createDeployments creates three Deployments and, when they are up, the coordination of their rollouts.
func (n *tenant) createDeployments(ctx context.Context) error {
	labels := map[string]string{"app": "shop"}
	n.rollouts.round = 1
	for i := range coordinated {
		name := fmt.Sprintf("shop-%d", i)
		template := map[string]string{"deployment": name, becomes: becomesReady}
		d := &appsv1.Deployment{ObjectMeta: meta(name, labels), Spec: appsv1.DeploymentSpec{
			RevisionHistoryLimit: new(int32(1)), Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"deployment": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: template, Annotations: map[string]string{roundAnnotation: "1"}},
				Spec:       podSpec(),
			},
		}}
		if err := n.create(ctx, d); err != nil {
			return err
		}
	}
	if _, seen := n.seen.await(ctx.Done(), finished(1, coordinated-1)); !seen {
		return fmt.Errorf("wait for the well-behaved tenant's Deployments: %w", ctx.Err())
	}
	c := &appsapi.DeploymentCoordination{ObjectMeta: meta("shop", nil)}
	c.Spec.LabelSelector = &appsapi.LabelSelector{MatchLabels: map[string]appsapi.LabelValue{"app": "shop"}}
	return n.create(ctx, c)
}

// seeJob notes which steps have begun and which are completed.
func (n *tenant) seeJob(object any) {
	job := object.(*batchv1.Job)
	name, index := job.Labels[batchapi.LabelName], job.Labels[batchapi.LabelStepIndex]
	n.seen.mark(exists(name, index))
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
			n.seen.mark(completed(name, index))
		}
	}
}

// The names of what is seen of a step of a SequentialJob.
func exists(job, index string) string { return "exists " + job + " " + index }

func completed(job, index string) string { return "completed " + job + " " + index }
