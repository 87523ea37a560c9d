package sequence

import (
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/controller/daemon"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// node is what the engine keeps of a node.
type node struct {
	name            string
	resourceVersion string
	object          *corev1.Node // with nothing but what decides who may run there
}

func viewNode(object *corev1.Node) *node {
	return &node{
		name: object.Name, resourceVersion: object.ResourceVersion,
		object: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: object.Name, UID: object.UID, Labels: object.Labels, CreationTimestamp: object.CreationTimestamp,
			},
			Spec: corev1.NodeSpec{Taints: object.Spec.Taints, Unschedulable: object.Spec.Unschedulable},
		},
	}
}

// same tells whether a version of the node differs in nothing that matters. Most updates of nodes are heartbeats.
func (n *node) same(other *node) bool {
	return n.object.UID == other.object.UID && equality.Semantic.DeepEqual(n.object.Labels, other.object.Labels) &&
		equality.Semantic.DeepEqual(n.object.Spec, other.object.Spec)
}

func (n *node) hostname() string { return n.object.Labels[corev1.LabelHostname] }

// ApplyNode tells the engine of a node that was added or changed. A version older than the one it has is ignored.
func (e *Engine) ApplyNode(object *corev1.Node) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	b := e.at(object.ResourceVersion)
	e.applyNode(object, b)
	return e.settle(b)
}

// RemoveNode tells the engine that a node is gone.
func (e *Engine) RemoveNode(name string) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	b := batch{}
	e.removeNode(name, &b)
	return e.settle(&b)
}

// ReplaceNodes tells the engine of all nodes there are at a version, in one step.
func (e *Engine) ReplaceNodes(objects []*corev1.Node, version string) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	b := e.relistedAt(version)
	present := make(map[string]struct{}, len(objects))
	for _, object := range objects {
		present[object.Name] = struct{}{}
		e.applyNode(object, b)
	}
	for name := range e.nodes {
		if _, ok := present[name]; !ok {
			e.removeNode(name, b)
		}
	}
	return e.settle(b)
}

func (e *Engine) applyNode(object *corev1.Node, b *batch) {
	view, old := viewNode(object), e.nodes[object.Name]
	if old != nil {
		if !newer(view.resourceVersion, old.resourceVersion) {
			return
		}
		if old.same(view) {
			old.resourceVersion = view.resourceVersion
			return
		}
		e.unlistHost(old)
		b.pins = append(b.pins, pin{host: old.hostname()})
	}
	e.nodes[view.name] = view
	insert(e.hosts, view.hostname(), view.name)
	for w := range e.daemons {
		w.setDue(view.name, shouldRun(view, w))
	}
	for s := range e.perNode {
		l := s.lanes[view.name]
		if l == nil {
			l = s.newLane(view.name)
		} else if l.node == nil || l.node.object.UID != view.object.UID {
			l.begin()
		}
		l.setNode(view)
		for i := range l.tallies {
			b.touchGroup(l, i)
		}
	}
	for r := range e.requirements.all() {
		e.matchNode(r, view, b)
	}
	b.pins = append(b.pins, pin{host: view.hostname()})
}

func (e *Engine) removeNode(name string, b *batch) {
	n := e.nodes[name]
	if n == nil {
		return
	}
	delete(e.nodes, name)
	e.unlistHost(n)
	b.pins = append(b.pins, pin{host: n.hostname()})
	for w := range e.daemons {
		w.setDue(name, false)
	}
	for r := range e.requirements.all() {
		e.unmatchNode(r, name, b)
	}
	for s := range e.perNode {
		l := s.lanes[name]
		l.setNode(nil)
		for i := range l.tallies {
			b.touchGroup(l, i)
		}
	}
}

// setNode makes the node that of the lane, or none. Which members count as done may depend on when it was made.
func (l *lane) setNode(n *node) {
	l.node = n
	for i := range l.tallies {
		t := l.tally(i)
		t.ready, t.stale = 0, 0
		for p := range t.members {
			switch g := l.sequence.groups[i]; {
			case p.failed && p.owner.uid != "":
			case l.isDone(p, g):
				t.ready++
			case p.done(g.required):
				t.stale++
			}
		}
	}
}

func (e *Engine) unlistHost(n *node) { remove(e.hosts, n.hostname(), n.name) }

// shouldRun is Kubernetes' own rule on whether a DaemonSet should have a pod on a node.
func shouldRun(n *node, w *workload) bool {
	should, _ := daemon.NodeShouldRunDaemonPod(logr.Discard(), n.object, w.object.(*appsv1.DaemonSet))
	return should
}
