package lint

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// priorityOf returns the priority of a template's pods and how they came by it; ok is false if it is not known.
func (l *linter) priorityOf(t *template) (value int32, class string, ok bool) {
	if len(t.pods) == 0 {
		return 0, "", false
	}
	spec := &t.pods[0].Spec
	class = cmp.Or(spec.PriorityClassName, "no PriorityClass")
	if spec.Priority != nil {
		return *spec.Priority, class, true
	}
	value, ok = l.priorities[spec.PriorityClassName]
	return value, class, ok
}

// readPriorities collects what priority each PriorityClass gives: those of Kubernetes, those that were read, and those of pods that exist.
func (l *linter) readPriorities() {
	l.priorities = map[string]int32{"": 0, "system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
	for _, class := range l.PriorityClasses {
		l.priorities[class.Name] = class.Value
		if class.GlobalDefault {
			l.priorities[""] = class.Value
		}
	}
	for _, pod := range l.Pods {
		if pod.Spec.Priority != nil {
			l.priorities[pod.Spec.PriorityClassName] = *pod.Spec.Priority
		}
	}
}

// outranks looks at whether pods have a higher priority than pods that they wait for, and never evict.
func (l *linter) outranks(t *template) {
	value, class, ok := l.priorityOf(t)
	if !ok || t.pods[0].Spec.PreemptionPolicy != nil && *t.pods[0].Spec.PreemptionPolicy == corev1.PreemptNever {
		return
	}
	for _, earlier := range l.templates {
		lower, lowerClass, ok := l.priorityOf(earlier)
		if !ok || lower >= value {
			continue
		}
		if s := l.waits(t, earlier); s != nil && s.Spec.Mode() == v1alpha1.Continuous {
			l.addTo(t, Note, "Priority", "its pods have priority %d (%s) and wait, in %s, for those of %s, which have %d (%s): they never evict those, "+
				"so without room for both they stay Pending; give %[4]s at least the same priority", value, class, s, earlier, lower, lowerClass)
		}
	}
}
