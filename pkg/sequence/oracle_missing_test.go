package sequence

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lacks reports whether the pod asks for a sequence that is not there: by name, or because its namespace wants every pod to have one.
func (o *oracle) lacks(p *corev1.Pod) bool {
	if o.uninstalled || isOurs(p.Namespace, p.Labels) || o.isOnTheSide(p) {
		return false
	}
	ours := p.Spec.SchedulerName == oracleScheduler
	if name, asks := p.Labels["podsequence.example.com/sequence"]; asks && (ours || len(p.Spec.SchedulingGates) > 0) {
		there := false
		for _, ps := range o.objects["PodSequence"] {
			there = there || (ps.GetNamespace() == p.Namespace && ps.GetName() == name)
		}
		if !there {
			return true
		}
	}
	namespace := o.objects["Namespace"][p.Namespace]
	if !ours || namespace == nil || namespace.GetAnnotations()["podsequence.example.com/require-sequence"] != "true" {
		return false
	}
	for _, v := range o.views {
		if groupOf(v, p) >= 0 {
			return false
		}
	}
	return true
}

// asksByName reports whether the pod names a sequence.
func asksByName(p *corev1.Pod) bool { return p.Labels["podsequence.example.com/sequence"] != "" }

// addRequirement makes a namespace require sequences, or not.
func (w *randomWorld) addRequirement(namespace *metav1.ObjectMeta) {
	if namespace.Annotations == nil {
		namespace.Annotations = map[string]string{}
	}
	delete(namespace.Annotations, "podsequence.example.com/require-sequence")
	if w.oneIn(4) {
		namespace.Annotations["podsequence.example.com/require-sequence"] = pick(w, "true", "true", "false")
	}
}

// countMissing counts what pods ask for.
func (c *comparison) countMissing() {
	for _, p := range c.oracle.pods {
		switch {
		case p.Spec.NodeName != "":
		case c.oracle.lacks(p) && asksByName(p):
			c.seen["pod that names a sequence which is not there"]++
		case c.oracle.lacks(p):
			c.seen["pod of a namespace that requires a sequence, without one"]++
		case asksByName(p):
			c.seen["pod that names a sequence which is there"]++
		}
	}
}
