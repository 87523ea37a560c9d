package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchapi "example.com/podsequence/apis/batch/v1alpha1"
)

const (
	// coordinated is how many Deployments of the tenant's roll out in turn.
	coordinated = 3
	// stepsOfJob is how many steps each of his SequentialJobs has.
	stepsOfJob = 3
	// roundAnnotation of a pod template says for which of the rollouts it was changed.
	roundAnnotation = "bench.podsequence.example.com/round"
)

// rolloutWatch counts the Deployments that have been given their turn in a round, and those that have ended it.
type rolloutWatch struct {
	lock      sync.Mutex
	round     int // the newest that has begun
	begun     map[string]int
	finished  map[string]int
	nBegun    map[int]int
	nFinished map[int]int
}

func newRolloutWatch() rolloutWatch {
	return rolloutWatch{begun: map[string]int{}, finished: map[string]int{}, nBegun: map[int]int{}, nFinished: map[int]int{}}
}

// The names of what is seen of a round: its i-th Deployment has its turn, or has rolled out.
func begun(round, i int) string    { return fmt.Sprintf("round %d: begun %d", round, i) }
func finished(round, i int) string { return fmt.Sprintf("round %d: finished %d", round, i) }

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

func rolledOut(d *appsv1.Deployment) bool {
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == *d.Spec.Replicas &&
		s.Replicas == s.UpdatedReplicas && s.AvailableReplicas == s.UpdatedReplicas
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

// The names of what is seen of a step of a SequentialJob.
func exists(job, index string) string    { return "exists " + job + " " + index }
func completed(job, index string) string { return "completed " + job + " " + index }

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

// encode is the JSON of what is known to have one.
func encode(object any) []byte {
	content, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return content
}
