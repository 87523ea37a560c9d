package main

import (
	"bytes"
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/tools/sandbox/retrywatch"
)

// redraw is how long changes are gathered before the table is drawn again.
const redraw = 200 * time.Millisecond

// gangs are the pods of a namespace, as a watch tells of them.
type gangs struct {
	namespace string
	screen    *screen
	began     time.Time
	events    watch.Interface
	pods      map[string]*corev1.Pod
}

// begin makes a namespace and watches its pods.
func (d *gangDemo) begin(ctx context.Context, namespace string) (*gangs, error) {
	if err := d.api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return nil, fmt.Errorf("create namespace: %w", err)
	}
	var there corev1.ServiceAccountList
	accounts, err := retrywatch.Start(ctx, d.api, &there, client.InNamespace(namespace))
	if err != nil {
		return nil, fmt.Errorf("follow the service accounts: %w", err)
	}
	defer accounts.Stop()
	if len(there.Items) == 0 {
		<-accounts.ResultChan() // the default one: pods are refused before it is there
	}
	events, err := retrywatch.Start(ctx, d.api, &corev1.PodList{}, client.InNamespace(namespace))
	if err != nil {
		return nil, fmt.Errorf("follow the pods: %w", err)
	}
	return &gangs{
		namespace: namespace, screen: newScreen(d.out), began: time.Now(), events: events, pods: map[string]*corev1.Pod{},
	}, nil
}

func (g *gangs) stop() { g.events.Stop() }

// follow draws the table whenever it has changed, until it is done.
func (g *gangs) follow(ctx context.Context, done func() bool) error {
	return g.await(ctx, done, func() error { return g.screen.show(g.table(), time.Since(g.began)) })
}

// await enters changes until it is done. It draws some time after a change, and at the end.
func (g *gangs) await(ctx context.Context, done func() bool, draw func() error) error {
	var due <-chan time.Time
	for !done() {
		select {
		case event, open := <-g.events.ResultChan():
			if !open {
				return fmt.Errorf("follow the gangs: %w", errWatchEnded)
			}
			if pod, ok := event.Object.(*corev1.Pod); ok {
				g.pods[pod.Name] = pod
				if event.Type == watch.Deleted {
					delete(g.pods, pod.Name)
				}
			}
			if due == nil {
				due = time.After(redraw)
			}
		case <-due:
			due = nil
			if err := draw(); err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("the gangs have not completed: %w", ctx.Err())
		}
	}
	return draw()
}

// completed reports whether all gangs are there and every pod has succeeded.
func (g *gangs) completed() bool {
	for _, name := range gangNames {
		if g.count(name, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded }) < gangSize {
			return false
		}
	}
	return true
}

func (g *gangs) count(gang string, is func(*corev1.Pod) bool) int {
	n := 0
	for _, pod := range g.pods {
		if pod.Labels[gangName] == gang && is(pod) {
			n++
		}
	}
	return n
}

func (g *gangs) table() string {
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  GANG\tPODS\tRUNNING\tREADY\tCOMPLETED\tSTATE")
	for _, name := range gangNames {
		pods := g.count(name, func(*corev1.Pod) bool { return true })
		running := g.count(name, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
		ready := g.count(name, func(p *corev1.Pod) bool { return p.Labels[gangReady] == "true" })
		completed := g.count(name, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
		fmt.Fprintf(w, "  %s\t%d\t%d\t%d\t%d\t%s\n", name, pods, running, ready, completed, gangState(pods, running, ready, completed))
	}
	_ = w.Flush() // a bytes.Buffer takes everything
	return table.String()
}

func gangState(pods, running, ready, completed int) string {
	switch {
	case completed == gangSize:
		return "completed"
	case completed > 0:
		return "completing"
	case ready == gangSize:
		return "ready"
	case running == gangSize:
		return "all run"
	case running > 0:
		return fmt.Sprintf("waits for %d more of its own", gangSize-running)
	case pods == 0:
		return "not there yet"
	}
	return "waits for room"
}
