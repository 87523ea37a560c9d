package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// neighbour is the namespace of the well-behaved tenant.
	neighbour = "neighbour"
	// settling is how long a container of his takes from its start until it is ready.
	settling = 300 * time.Millisecond
	// betweenJobs is how often he starts a SequentialJob.
	betweenJobs = time.Second
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

// period is one phase of the tenant's life.
type period struct {
	*tenant
	name    string
	samples *samples

	lock sync.Mutex
	errs []error
}

// failed reports whether a request has failed, which spoils the phase unless its time is over.
func (p *period) failed(ctx context.Context, err error) bool {
	if err != nil && ctx.Err() == nil {
		p.lock.Lock()
		defer p.lock.Unlock()
		p.errs = append(p.errs, err)
	}
	return err != nil
}

// measure waits until something is seen, and notes how long that took since it could have happened.
func (p *period) measure(ctx context.Context, m measure, since time.Time, sight string) (seen bool) {
	at, seen := p.seen.await(ctx.Done(), sight)
	p.samples.add(m, at.Sub(since), seen)
	return seen
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
