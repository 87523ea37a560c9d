package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// view makes a frame of a sequence and the pods of its namespaces. It sees a ClusterPodSequence as a PodSequence.
type view func(sequence *v1alpha1.PodSequence, pods []corev1.Pod) frame

// frame is what a view shows of one moment.
type frame struct {
	table string
	// chapter changes when something happened that is worth a new table where the screen cannot draw over the last one. Frames
	// before the first chapter are not worth one.
	chapter string
	// done says that all has happened that the view waits for.
	done bool
}

// follow draws a view whenever the sequence or one of the pods changes, until all has happened or the context ends.
func follow(ctx context.Context, screen *screen, config *rest.Config, sequence types.NamespacedName, show view) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("register kinds: %w", err)
		}
	}
	options, kind := cache.Options{Scheme: scheme}, client.Object(&v1alpha1.ClusterPodSequence{})
	if sequence.Namespace != "" {
		options.DefaultNamespaces, kind = map[string]cache.Config{sequence.Namespace: {}}, &v1alpha1.PodSequence{}
	}
	world, err := cache.New(config, options)
	if err != nil {
		return fmt.Errorf("make cache: %w", err)
	}

	changed := make(chan struct{}, 1)
	notify := func(any) {
		select {
		case changed <- struct{}{}:
		default: // a drawing is due already
		}
	}
	running := make(chan error, 1)
	go func() { running <- world.Start(ctx) }()
	for _, kind := range []client.Object{&corev1.Pod{}, kind} {
		informer, err := world.GetInformer(ctx, kind)
		if err != nil {
			return fmt.Errorf("watch %T: %w", kind, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: notify, DeleteFunc: notify, UpdateFunc: func(_, current any) { notify(current) },
		}); err != nil {
			return fmt.Errorf("watch %T: %w", kind, err)
		}
	}

	for done := false; !done; {
		select {
		case <-changed:
			if done, err = draw(ctx, screen, world, sequence, show); err != nil && ctx.Err() == nil {
				return err
			}
		case <-ctx.Done():
			return cmp.Or(<-running, ctx.Err())
		}
	}
	stop()
	return <-running
}

func draw(ctx context.Context, screen *screen, world client.Reader, key types.NamespacedName, show view) (done bool, err error) {
	sequence, err := getSequence(ctx, world, key)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	if err := world.List(ctx, &pods); err != nil {
		return false, fmt.Errorf("list pods: %w", err)
	}
	current := show(sequence, pods.Items)
	if !screen.terminal && !current.done && current.chapter == screen.chapter {
		return false, nil
	}
	screen.chapter = current.chapter
	return current.done, screen.show(current.table, time.Since(screen.began))
}

// getSequence gets a PodSequence, or a ClusterPodSequence, which has no namespace, in the shape of one.
func getSequence(ctx context.Context, world client.Reader, key types.NamespacedName) (*v1alpha1.PodSequence, error) {
	sequence := &v1alpha1.PodSequence{}
	if key.Namespace != "" {
		return sequence, world.Get(ctx, key, sequence)
	}
	var across v1alpha1.ClusterPodSequence
	if err := world.Get(ctx, key, &across); err != nil {
		return nil, err
	}
	sequence.ObjectMeta, sequence.Status = across.ObjectMeta, across.Status
	for _, group := range across.Spec.PodGroups {
		sequence.Spec.PodGroups = append(sequence.Spec.PodGroups, group.PodGroup)
	}
	return sequence, nil
}

func podState(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return "ready"
		}
	}
	if p.Spec.NodeName == "" {
		return "held"
	}
	return "starting"
}

// screen shows a table that changes.
type screen struct {
	out      io.Writer
	terminal bool
	began    time.Time
	chapter  string
	last     string
	lines    int
}

// show draws the table if it is another than before: on a terminal over the one before, else below it.
func (s *screen) show(table string, elapsed time.Duration) error {
	if table == s.last {
		return nil
	}
	up := ""
	if s.terminal && s.lines > 0 {
		up = fmt.Sprintf("\x1b[%dA\x1b[J", s.lines)
	}
	text := fmt.Sprintf("\nafter %s\n%s", seconds(elapsed), table)
	s.last, s.lines = table, strings.Count(text, "\n")
	_, err := fmt.Fprint(s.out, up, text)
	return err
}

// keep leaves what is drawn where it is: the next table comes below.
func (s *screen) keep() { s.lines = 0 }
