package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/builders"
)

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

// startApplication starts an application of three groups: a pod; then pods of our scheduler, and one of the cluster's own
// that waits by its gate; then a pod group of such pods. Each of the six pods that wait is a sample.
func (p *period) startApplication(ctx context.Context, i int) {
	name := func(role string) string { return fmt.Sprintf("%s-%d-%s", p.name, i, role) }
	database, group := name("db"), name("group")
	middle := []string{name("ours-0"), name("ours-1"), name("theirs")}
	last := []string{name("last-ours"), name("last-gated"), name("last-theirs")}
	sequence := builders.MakeSequence(neighbour, name("app")).
		Pods("Database", database).Pods("Application", middle...).Pods("Frontend", last...).Obj()
	pods := []*corev1.Pod{
		pod(database), pod(middle[0]), pod(middle[1]), withGate(ofOthers(pod(middle[2]))),
		pod(last[0]), withGate(pod(last[1])), withGate(ofOthers(pod(last[2]))),
	}
	for _, pod := range pods[4:] {
		joinGroup(pod, group, len(last))
	}
	if p.failed(ctx, p.create(ctx, sequence)) || !p.createAndBindFirst(ctx, pods) ||
		!p.makeReadyAndMeasure(ctx, []string{database}, middle) || !p.makeReadyAndMeasure(ctx, middle, last) {
		return
	}
	running, err := p.setRunning(ctx, last...)
	if p.failed(ctx, err) {
		return
	}
	for _, member := range last {
		p.measure(ctx, labelling, running, labelled(member))
	}
	p.removeApplication(ctx, sequence, pods)
}

// startOnNode starts a driver on one node, and a pod that waits for it there.
func (p *period) startOnNode(ctx context.Context, i int) {
	name := func(role string) string { return fmt.Sprintf("%s-%d-%s", p.name, i, role) }
	driver, user := name("driver"), name("user")
	sequence := builders.MakeSequence(neighbour, name("node")).NodeScope().Pods("Driver", driver).Pods("User", user).Obj()
	pods := []*corev1.Pod{onNode(pod(driver), i%p.nodes), onNode(pod(user), i%p.nodes)}
	if p.failed(ctx, p.create(ctx, sequence)) || !p.createAndBindFirst(ctx, pods) {
		return
	}
	if p.makeReadyAndMeasure(ctx, []string{driver}, []string{user}) {
		p.removeApplication(ctx, sequence, pods)
	}
}

// createAndBindFirst creates pods of which the first may start at once, and waits until its container would be ready.
func (p *period) createAndBindFirst(ctx context.Context, pods []*corev1.Pod) bool {
	var created time.Time
	for i, pod := range pods {
		if p.failed(ctx, p.create(ctx, pod)) {
			return false
		}
		if i == 0 {
			created = time.Now()
		}
	}
	return p.measure(ctx, creation, created, bound(pods[0].Name))
}

// makeReadyAndMeasure makes a group ready and measures until each pod of the next one is bound.
func (p *period) makeReadyAndMeasure(ctx context.Context, group, next []string) (all bool) {
	select {
	case <-time.After(settling):
	case <-ctx.Done():
		return false
	}
	ready, err := p.setReady(ctx, group...)
	if p.failed(ctx, err) {
		return false
	}
	all = true
	for _, pod := range next {
		all = p.measure(ctx, binding, ready, bound(pod)) && all
	}
	return all
}

func (p *period) removeApplication(ctx context.Context, sequence *v1alpha1.PodSequence, pods []*corev1.Pod) {
	for _, pod := range pods {
		p.failed(ctx, p.remove(ctx, pod))
	}
	p.failed(ctx, p.remove(ctx, sequence))
}

// rollOut changes all three Deployments at once, measures until each has its turn, and begins again until told to stop.
func (p *period) rollOut(ctx context.Context, stop <-chan struct{}) {
	for !over(ctx, stop) {
		p.rollouts.lock.Lock()
		p.rollouts.round++
		round := p.rollouts.round
		p.rollouts.lock.Unlock()
		mayRoll, err := p.changeTemplates(ctx, round)
		if p.failed(ctx, err) {
			return
		}
		for i := range coordinated {
			if !p.measure(ctx, turn, mayRoll, begun(round, i)) {
				return
			}
			seen := false
			if mayRoll, seen = p.seen.await(ctx.Done(), finished(round, i)); !seen {
				return
			}
		}
		if p.failed(ctx, p.awaitNoTurn(ctx)) {
			return
		}
	}
}

// changeTemplates returns the time at which the first of the Deployments was changed, and could roll out.
func (p *period) changeTemplates(ctx context.Context, round int) (first time.Time, err error) {
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:"%d"}}}}}`, roundAnnotation, round)
	for i := range coordinated {
		name := fmt.Sprintf("shop-%d", i)
		_, err := p.core.AppsV1().Deployments(neighbour).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil {
			return first, fmt.Errorf("change Deployment %s: %w", name, err)
		}
		if i == 0 {
			first = time.Now()
		}
	}
	return first, nil
}

// awaitNoTurn returns when no Deployment is active any more: a change of the active one would go at once.
func (p *period) awaitNoTurn(ctx context.Context) error {
	const often = 50 * time.Millisecond
	for {
		c := &appsapi.DeploymentCoordination{}
		if err := p.api.Get(ctx, types.NamespacedName{Namespace: neighbour, Name: "shop"}, c); err != nil {
			return fmt.Errorf("read DeploymentCoordination: %w", err)
		}
		if c.Status.ActiveDeployment == "" {
			return nil
		}
		select {
		case <-time.After(often):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// runJobs begins a SequentialJob every so often, until told to stop, and returns when all have ended.
func (p *period) runJobs(ctx context.Context, stop <-chan struct{}) {
	var running sync.WaitGroup
	for i := 0; !over(ctx, stop); i++ {
		running.Go(func() { p.runJob(ctx, fmt.Sprintf("%s-steps-%d", p.name, i)) })
		select {
		case <-time.After(betweenJobs):
		case <-stop:
		case <-ctx.Done():
		}
	}
	running.Wait()
}

// runJob measures from the end of each step to the beginning of the next.
func (p *period) runJob(ctx context.Context, name string) {
	job := &batchapi.SequentialJob{ObjectMeta: meta(name, nil)}
	job.Spec.Template.Labels = map[string]string{becomes: becomesComplete}
	job.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(0))
	for i := range stepsOfJob {
		container := corev1.Container{Name: fmt.Sprintf("step-%d", i), Image: "example.com/step"}
		job.Spec.Containers = append(job.Spec.Containers, container)
	}
	if p.failed(ctx, p.create(ctx, job)) {
		return
	}
	mayStart := time.Now()
	for i := range stepsOfJob {
		if !p.measure(ctx, step, mayStart, exists(name, strconv.Itoa(i))) {
			return
		}
		seen := false
		if mayStart, seen = p.seen.await(ctx.Done(), completed(name, strconv.Itoa(i))); !seen {
			return
		}
	}
	p.failed(ctx, p.remove(ctx, job))
}

// over reports whether a channel or the context is done.
func over(ctx context.Context, stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	case <-ctx.Done():
		return true
	default:
		return false
	}
}
