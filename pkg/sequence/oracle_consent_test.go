package sequence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
)

// To the oracle a sequence without consent does not exist, and one that gets it is made then.

// consented are the sequences that their target namespaces allow.
func (o *oracle) consented() []*v1alpha1.PodSequence {
	var consented []*v1alpha1.PodSequence
	refused, allowed := sets.New[types.UID](), map[types.UID]time.Time{}
	for _, ps := range all[*v1alpha1.PodSequence](o, "PodSequence") {
		at, known := o.allowed[ps.UID]
		switch before := o.refused.Has(ps.UID); {
		case !o.consents(ps):
			refused.Insert(ps.UID)
			allowed[ps.UID] = at
			continue
		case before, !known && saysRefused(ps):
			at = o.second()
		}
		allowed[ps.UID] = at
		consented = append(consented, ps)
	}
	o.refused, o.allowed = refused, allowed
	return consented
}

func (o *oracle) consents(ps *v1alpha1.PodSequence) bool {
	if targetOf(ps) == ps.Namespace {
		return true
	}
	namespace, _ := o.objects["Namespace"][targetOf(ps)].(*corev1.Namespace)
	if namespace == nil {
		return false
	}
	list := strings.Split(strings.ReplaceAll(namespace.Annotations["podsequence.example.com/allow-sequences-from"], " ", ""), ",")
	return slices.Contains(list, ps.Namespace) || slices.Contains(list, "*")
}

func saysRefused(ps *v1alpha1.PodSequence) bool {
	return slices.ContainsFunc(ps.Status.Conditions, func(c metav1.Condition) bool { return c.Reason == "NamespaceNotAllowed" })
}

// checkConsent sees that the engine reports exactly those sequences as refused that have no consent, and nothing more of them
// than passes on record.
func (c *comparison) checkConsent() error {
	for _, ps := range all[*v1alpha1.PodSequence](c.oracle, "PodSequence") {
		report, ok := c.engine.Report(types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name})
		want := !c.oracle.consents(ps)
		if !ok || report.Refused != want {
			return fmt.Errorf("%s: there is a report is %t, refused is %t, want %t", ps.Name, ok, report.Refused, want)
		}
		told := slices.ContainsFunc(report.Problems, func(p order.Problem) bool { return p.Reason == v1alpha1.ReasonNamespaceNotAllowed })
		if told != want {
			return fmt.Errorf("%s: refused is %t, and its problems are %v", ps.Name, want, report.Problems)
		}
		for i, g := range report.Groups {
			if want && (g.Released || g.Satisfied || len(g.Members) > 0 || (g.Passed && !isOnRecord(ps, g.Hash))) {
				return fmt.Errorf("%s is refused, and its group %d is %+v", ps.Name, i, g)
			}
		}
		if want {
			c.seen["sequence without consent"]++
		}
	}
	return nil
}

// isOnRecord reports whether status says that the group was passed.
func isOnRecord(ps *v1alpha1.PodSequence, hash string) bool {
	for i := range ps.Status.Groups {
		if ps.Status.Groups[i].PassedAt != nil && hashIn(&ps.Status, i) == hash {
			return true
		}
	}
	return false
}

// stepConsent changes what the namespace of the pods allows, or deletes or restores that namespace, or the namespace of the
// sequence.
func (w *randomWorld) stepConsent() []event {
	namespace := &corev1.Namespace{}
	if w.oneIn(3) {
		namespace.Name = "operations"
		home, there := w.objects["Namespace"]["operations"].(*corev1.Namespace)
		if there {
			w.drop("Namespace", home)
		}
		if !there || w.oneIn(2) {
			w.put("Namespace", namespace)
		}
		return nil
	}
	if old, there := w.objects["Namespace"][oracleNamespace].(*corev1.Namespace); there {
		namespace = old.DeepCopy()
		if w.oneIn(10) {
			w.drop("Namespace", namespace)
			return nil
		}
	}
	namespace.Name = oracleNamespace
	if namespace.Labels == nil {
		namespace.Labels = w.namespaceLabels()
	}
	namespace.Annotations = map[string]string{v1alpha1.AllowSequencesFromAnnotation: pick(w,
		"operations", "*", "dev, operations", " operations ,dev", "operations,operations", "", "dev", "operation", "* dev", "operations:")}
	w.addRequirement(&namespace.ObjectMeta)
	w.put("Namespace", namespace)
	return nil
}
