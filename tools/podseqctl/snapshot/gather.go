package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/podgroups"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/inventory"
)

// clusterPodSequences is what messages call them.
const clusterPodSequences = "ClusterPodSequences"

// Reader reads from the API server.
type Reader struct {
	core    kubernetes.Interface
	dynamic dynamic.Interface
}

// NewReader returns a Reader that uses these clients.
func NewReader(core kubernetes.Interface, dynamic dynamic.Interface) *Reader {
	return &Reader{core: core, dynamic: dynamic}
}

// Gather reads what has to do with the pods of a namespace: the sequences that order them, and the pods and workloads of all
// namespaces that these order. all reads every sequence that there is, and what it orders.
func (r *Reader) Gather(ctx context.Context, namespace string, all bool) (*Objects, error) {
	g := gatherer{Reader: r, Objects: &Objects{Workloads: map[inventory.Kind][]metav1.Object{}, Complete: map[string]bool{}}}
	if err := g.sequences(ctx, namespace); err != nil {
		return nil, err
	}
	if err := g.namespaces(ctx, namespace); err != nil {
		return nil, err
	}
	names := g.relevant(namespace, all)
	if err := g.nodes(ctx); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := g.podsAndWorkloads(ctx, name); err != nil {
			return nil, err
		}
	}
	g.nodesOfPods(ctx)
	return g.Objects, nil
}

// Served returns a NotInstalledError if err came about because the API server does not serve the resource, else err. The API server
// answers both "not found" and "forbidden" then: it checks permissions first.
func (r *Reader) Served(ctx context.Context, resource schema.GroupVersionResource, err error) error {
	if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return err
	}
	served := &metav1.APIResourceList{}
	asked := r.core.Discovery().RESTClient().Get().AbsPath("/apis", resource.Group, resource.Version).Do(ctx).Into(served)
	switch {
	case apierrors.IsNotFound(asked): // neither kind is there
		return &NotInstalledError{v1alpha1.PodSequenceResource}
	case asked != nil: // the first error says more
		return err
	}
	if !slices.ContainsFunc(served.APIResources, func(each metav1.APIResource) bool { return each.Name == resource.Resource }) {
		return &NotInstalledError{resource}
	}
	return err
}

type gatherer struct {
	*Reader
	*Objects
}

// sequences reads those of all namespaces if they may be read, else those of one.
func (g *gatherer) sequences(ctx context.Context, namespace string) error {
	resource := g.dynamic.Resource(v1alpha1.PodSequenceResource)
	list, err := resource.List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		g.unread("you may not read PodSequences of other namespaces: those with spec.namespace: %s are not shown", namespace)
		list, err = resource.Namespace(namespace).List(ctx, metav1.ListOptions{})
	}
	err = g.Served(ctx, v1alpha1.PodSequenceResource, err)
	if _, missing := errors.AsType[*NotInstalledError](err); missing {
		g.Unread = nil // there is nothing to read
	}
	if err := g.add(list, err, "PodSequences"); err != nil || len(g.NotInstalled) > 0 {
		return err
	}
	list, err = g.dynamic.Resource(v1alpha1.ClusterPodSequenceResource).List(ctx, metav1.ListOptions{})
	return g.add(list, g.Served(ctx, v1alpha1.ClusterPodSequenceResource, err), clusterPodSequences)
}

func (g *gatherer) add(list *unstructured.UnstructuredList, err error, what string) error {
	missing, notInstalled := errors.AsType[*NotInstalledError](err)
	switch {
	case notInstalled:
		g.NotInstalled = append(g.NotInstalled, missing.Error())
		return nil
	case apierrors.IsForbidden(err):
		ask := ""
		if what == clusterPodSequences {
			ask = "; " + AskFor(ClusterViewRole, "")
		}
		g.unread("you may not read %s: what they hold is known only from the conditions of the pods%s", what, ask)
		return nil
	case err != nil:
		return fmt.Errorf("list %s: %w", what, err)
	}
	for i := range list.Items {
		each, err := NewSequence(&list.Items[i])
		if err != nil {
			g.unread("%v", err)
			continue
		}
		g.Sequences = append(g.Sequences, each)
	}
	return nil
}

// namespaces reads all of them if they may be read, else those that matter by their names.
func (g *gatherer) namespaces(ctx context.Context, namespace string) error {
	list, err := g.core.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	switch {
	case err == nil:
		g.NamespacesRead = true
		for i := range list.Items {
			g.Namespaces = append(g.Namespaces, &list.Items[i])
		}
		return nil
	case !apierrors.IsForbidden(err):
		return fmt.Errorf("list namespaces: %w", err)
	}
	names := []string{namespace}
	for _, each := range g.Sequences {
		byName, _ := each.namespacesByName()
		names = append(names, byName...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		found, err := g.core.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			g.Namespaces = append(g.Namespaces, found)
		} else if !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("get namespace %s: %w", name, err)
		}
	}
	return nil
}

// relevant keeps the sequences that order pods of the namespace, or of a namespace whose pods such a sequence orders, and
// returns the namespaces of all of them.
func (g *gatherer) relevant(namespace string, all bool) []string {
	reached := map[string]bool{}
	if namespace != "" {
		reached[namespace] = true
	}
	kept := map[*Sequence]bool{}
	for changed := true; changed; {
		changed = false
		for _, each := range g.Sequences {
			if kept[each] {
				continue
			}
			targets := g.targets(each, sequence.Config{})
			touches := func(name string) bool { return reached[name] }
			if !all && !slices.ContainsFunc(targets, touches) && each.Key().Namespace != namespace {
				continue
			}
			kept[each], changed = true, true
			for _, target := range targets {
				reached[target] = true
			}
		}
	}
	g.Sequences = slices.DeleteFunc(g.Sequences, func(each *Sequence) bool { return !kept[each] })
	names := make([]string, 0, len(reached))
	for name := range reached {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// nodes reads all nodes: pods on nodes that do not exist count for nothing. Only sequences that hold on each node by itself need them.
func (g *gatherer) nodes(ctx context.Context) error {
	if len(g.Sequences) == 0 {
		g.NodesRead = true // nobody asks for any
		return nil
	}
	needed := slices.ContainsFunc(g.Sequences, (*Sequence).PerNode)
	list, err := g.core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err) && !needed:
		g.NodesRead = true // nobody has to know them
		return nil
	case apierrors.IsForbidden(err):
		g.unread("you may not read nodes: of sequences with scope Node only the status is shown; %s", AskFor(ClusterViewRole, ""))
		return nil
	case err != nil:
		return fmt.Errorf("list nodes: %w", err)
	}
	g.NodesRead, g.AllNodes = true, true
	for i := range list.Items {
		g.Nodes = append(g.Nodes, &list.Items[i])
	}
	return nil
}

// nodesOfPods reads the nodes of pods that are not ready, for what is wrong with them, if not all nodes were read. Whoever may not
// read nodes is not told of it.
func (g *gatherer) nodesOfPods(ctx context.Context) {
	const most = 20
	if g.AllNodes || slices.ContainsFunc(g.Sequences, (*Sequence).PerNode) {
		return
	}
	names := map[string]bool{}
	for _, pod := range g.Pods {
		if node := pod.Spec.NodeName; node != "" && !names[node] && len(names) < most && waitsOnNode(pod) {
			names[node] = true
			found, err := g.core.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
			switch {
			case apierrors.IsForbidden(err):
				return
			case err == nil:
				g.Nodes = append(g.Nodes, found)
			}
		}
	}
}

// waitsOnNode reports whether a pod that has a node is to become ready there.
func waitsOnNode(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	return !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// podsAndWorkloads reads what lives in a namespace.
func (g *gatherer) podsAndWorkloads(ctx context.Context, namespace string) error {
	complete, err := true, error(nil)
	list := func(what string, do func() error) {
		if err != nil {
			return
		}
		switch failed := do(); {
		case apierrors.IsForbidden(failed):
			complete = false
			g.deny(namespace, what, failed)
			g.unread("you may not read %s of namespace %s", what, namespace)
		case failed != nil:
			err = fmt.Errorf("list %s of namespace %s: %w", what, namespace, failed)
		}
	}
	options := metav1.ListOptions{}
	list("pods", func() error {
		found, err := g.core.CoreV1().Pods(namespace).List(ctx, options)
		if err == nil {
			g.Pods = append(g.Pods, pointers(found.Items)...)
		}
		return err
	})
	for _, kind := range inventory.WorkloadKinds {
		list(string(kind.Kind)+"s", func() error { return g.workloads(ctx, namespace, kind) })
	}
	if err != nil {
		return err
	}
	g.Complete[namespace] = complete
	list("events", func() error {
		found, err := g.core.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning})
		if err == nil {
			g.Events = append(g.Events, pointers(found.Items)...)
		}
		return err
	})
	if err != nil {
		return err
	}
	return g.readPodGroups(ctx, namespace)
}

// workloads reads those of one kind.
func (g *gatherer) workloads(ctx context.Context, namespace string, kind inventory.WorkloadKind) error {
	found, err := g.dynamic.Resource(kind.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range found.Items {
		object, err := scheme.Scheme.New(found.Items[i].GroupVersionKind())
		if err == nil {
			err = scheme.Scheme.Convert(&found.Items[i], object, nil)
		}
		if err != nil {
			return err
		}
		g.Workloads[kind.Kind] = append(g.Workloads[kind.Kind], object.(metav1.Object))
	}
	return nil
}

// readPodGroups reads the PodGroups of both kinds that pods of the namespace name. Neither kind need be installed.
func (g *gatherer) readPodGroups(ctx context.Context, namespace string) error {
	named := map[podgroups.Kind]bool{}
	for _, pod := range g.Pods {
		for _, reference := range podgroups.Of(pod) {
			named[reference.Kind] = true
		}
	}
	for kind, resource := range podGroupResources {
		if !named[kind] {
			continue
		}
		list, err := g.dynamic.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case apierrors.IsForbidden(err):
			g.unread("you may not read PodGroups of namespace %s: how many pods they need is not known", namespace)
			continue
		case err != nil:
			return fmt.Errorf("list PodGroups of namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			g.PodGroups = append(g.PodGroups, NewPodGroup(kind, &list.Items[i]))
		}
	}
	return nil
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
