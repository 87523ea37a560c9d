package sequence

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
)

// hasTurn reports whether there is room for the pod on the nodes that are coming, beside those like it that come before it.
func (o *oracle) hasTurn(p *corev1.Pod, coming []*corev1.Node) bool {
	for _, node := range coming {
		if node.Status.Allocatable == nil {
			return true
		}
	}
	places, before := 0, 0
	for _, node := range coming {
		on := 0
		for o.fits(p, node, on+1) {
			on++
		}
		places += on
	}
	for _, other := range o.pods {
		if other != p && o.isLike(p, other) && o.comesBefore(other, p) {
			before++
		}
	}
	return before < places
}

// fits reports whether so many pods like this one fit on the node beside those that are there, and those that will go nowhere else.
func (o *oracle) fits(p *corev1.Pod, node *corev1.Node, pods int) bool {
	used := o.usedWithPinned(node.Name)
	have, count := node.Status.Allocatable[corev1.ResourcePods], used[corev1.ResourcePods]
	if have.Value() < count.Value()+int64(pods) {
		return false
	}
	for _, c := range p.Spec.Containers {
		for name, want := range c.Resources.Requests {
			have, listed := node.Status.Allocatable[name]
			sum := used[name]
			for range pods {
				sum.Add(want)
			}
			if chosen, _ := o.driven(p, node); have.IsZero() && (listed || chosen) && v1helper.IsExtendedResourceName(name) {
				continue // the driver may bring any number
			}
			if want.Sign() > 0 && have.Cmp(sum) < 0 {
				return false
			}
		}
	}
	return true
}

func (o *oracle) usedWithPinned(node string) corev1.ResourceList {
	used := corev1.ResourceList{}
	add := func(list corev1.ResourceList) {
		for name, amount := range list {
			sum := used[name]
			sum.Add(amount)
			used[name] = sum
		}
	}
	add(o.used[node])
	for _, p := range o.pods {
		names, pinned := o.pinnedTo(p)
		if !pinned || names == nil || p.Spec.Affinity == nil || names[0] != node || !o.waitsForNodes(p) {
			continue
		}
		add(resourcesOf("pods=1"))
		for _, c := range p.Spec.Containers {
			add(c.Resources.Requests)
		}
	}
	return used
}

// waitsForNodes reports whether the pod has no node yet, and some sequence keeps it from some.
func (o *oracle) waitsForNodes(p *corev1.Pod) bool {
	return p.Spec.NodeName == "" && p.DeletionTimestamp == nil && p.Spec.SchedulerName == oracleScheduler &&
		slices.ContainsFunc(o.nodeViews(p), func(v *view) bool { return !waitsForNone(v.PodSequence, groupOf(v, p)) || v.Spec.Suspend })
}

// isLike reports whether both pods wait for nodes, may use the same ones, and ask for the same there.
func (o *oracle) isLike(p, other *corev1.Pod) bool {
	if other.Spec.NodeName != "" || other.DeletionTimestamp != nil || other.Spec.SchedulerName != oracleScheduler {
		return false
	}
	if _, pinned := o.pinnedTo(other); pinned {
		return false
	}
	return o.inLine(p) == o.inLine(other)
}

// inLine says what pods have in common that wait for the same.
func (o *oracle) inLine(p *corev1.Pod) string {
	type part struct {
		Sequence string
		Group    int
	}
	line := struct {
		Selector    map[string]string
		Affinity    *corev1.Affinity
		Tolerations []corev1.Toleration
		Requests    []corev1.ResourceRequirements
		Parts       []part
	}{Selector: p.Spec.NodeSelector, Affinity: p.Spec.Affinity, Tolerations: p.Spec.Tolerations}
	for _, c := range p.Spec.Containers {
		line.Requests = append(line.Requests, c.Resources)
	}
	for _, v := range o.nodeViews(p) {
		if i := groupOf(v, p); !waitsForNone(v.PodSequence, i) || v.Spec.Suspend {
			line.Parts = append(line.Parts, part{v.Name, i})
		}
	}
	slices.SortFunc(line.Parts, func(a, b part) int { return cmp.Compare(a.Sequence, b.Sequence) })
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// comesBefore reports whether the scheduler would try the one pod before the other.
func (o *oracle) comesBefore(one, other *corev1.Pod) bool {
	priority := func(p *corev1.Pod) int32 {
		if p.Spec.Priority == nil {
			return 0
		}
		return *p.Spec.Priority
	}
	if a, b := priority(one), priority(other); a != b {
		return a > b
	}
	if !one.CreationTimestamp.Equal(&other.CreationTimestamp) {
		return one.CreationTimestamp.Before(&other.CreationTimestamp)
	}
	if one.Namespace != other.Namespace {
		return one.Namespace < other.Namespace
	}
	return one.Name < other.Name
}

// randomRequests are those of a pod, most often of few kinds, so that pods compete.
func (w *randomWorld) randomRequests() []corev1.Container {
	amounts := pick(w, "", "", "cpu=1", "cpu=2", "example.com/gpu=1", "example.com/gpu=1", "example.com/gpu=2")
	if amounts == "" {
		return nil
	}
	return []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: resourcesOf(amounts)}}}
}

// randomRoom is what a node offers, or what is used of it.
func (w *randomWorld) randomRoom() corev1.ResourceList {
	return resourcesOf(pick(w, "", "pods=1", "pods=3", "pods=9 cpu=1", "pods=9 cpu=4500m", "pods=9 cpu=2 example.com/gpu=1", "pods=9 example.com/gpu=2", "pods=3 cpu=2 example.com/gpu=0"))
}

// resourcesOf reads amounts, such as: cpu=1 pods=10.
func resourcesOf(text string) corev1.ResourceList {
	var list corev1.ResourceList
	for pair := range strings.FieldsSeq(text) {
		if list == nil {
			list = corev1.ResourceList{}
		}
		name, amount, _ := strings.Cut(pair, "=")
		list[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	return list
}

// stepUse changes how much of a node is used.
func (w *randomWorld) stepUse() event {
	return event{verb: verbUse, node: pick(w, "node-0", "node-1", "node-2", "node-3"), used: w.randomRoom()}
}
