package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/controllers/podgroup"
	"example.com/podsequence/test/harness/builders"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// sizeAnnotation says how many pods a pod group has.
const sizeAnnotation = "podgroup.jhwagner.github.io/size"

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

// pod is one of our scheduler.
func pod(name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: meta(name, nil), Spec: podSpec()}
	pod.Spec.SchedulerName = controlplane.PodSequenceScheduler
	return pod
}

func withGate(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
	return pod
}

// ofOthers gives the pod to a scheduler that is not ours. The controller holds it by its gate.
func ofOthers(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.SchedulerName = controlplane.AnotherScheduler
	return pod
}

func joinGroup(pod *corev1.Pod, group string, size int) {
	pod.Labels = map[string]string{podgroup.DefaultNameLabel: group}
	pod.Annotations = map[string]string{sizeAnnotation: strconv.Itoa(size)}
}

func onNode(pod *corev1.Pod, node int) *corev1.Pod {
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: nodeName(node)}
	return pod
}
