package sequence

import (
	"strings"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// overridden returns a sequence with what its annotations add to the spec for the moment.
func (o *oracle) overridden(ps *v1alpha1.PodSequence) *v1alpha1.PodSequence {
	until := ps.Annotations["podsequence.example.com/override-until"]
	if end, err := time.Parse(time.RFC3339, until); until != "" && (err != nil || !end.After(o.now)) {
		return ps
	}
	ps = ps.DeepCopy()
	if ps.Annotations["podsequence.example.com/suspend"] == "true" {
		ps.Spec.Suspend = true
	}
	skip := strings.Split(ps.Annotations["podsequence.example.com/skip"], ",")
	for _, name := range skip {
		known := name == ""
		for _, g := range ps.Spec.PodGroups {
			known = known || g.Name == name
		}
		if !known {
			return ps
		}
	}
	for i, g := range ps.Spec.PodGroups {
		for _, name := range skip {
			if name != "" && g.Name == name {
				ps.Spec.PodGroups[i].Skip = true
			}
		}
	}
	return ps
}

func (o *oracle) countOverride(v *view, see func(what string, is bool)) {
	until, err := time.Parse(time.RFC3339, v.Annotations["podsequence.example.com/override-until"])
	ends := err == nil && len(v.Annotations) > 1
	see("an annotation suspends", v.Annotations["podsequence.example.com/suspend"] == "true" && v.Spec.Suspend)
	see("an annotation overrides for a time", ends && until.After(o.now))
	see("what an annotation overrode is over", ends && !until.After(o.now))
}

// override changes the annotations that override the spec of a sequence. That is no new generation.
func (w *randomWorld) override(ps *v1alpha1.PodSequence) {
	ps.Annotations = nil
	if w.oneIn(4) {
		return
	}
	annotations := map[string]string{}
	if w.oneIn(2) {
		annotations[v1alpha1.SuspendAnnotation] = pick(w, "true", "true", "true", "false", "yes")
	}
	if w.oneIn(2) {
		names := []string{ps.Spec.PodGroups[w.IntN(len(ps.Spec.PodGroups))].Name}
		if w.oneIn(4) {
			names = append(names, pick(w, "", "nobody", ps.Spec.PodGroups[0].Name))
		}
		annotations[v1alpha1.SkipAnnotation] = strings.Join(names, ",")
	}
	if w.waits && !w.oneIn(3) {
		end := w.clock.Add(pick(w, -time.Second, 3*time.Second, 20*time.Second, time.Minute, time.Hour))
		annotations[v1alpha1.OverrideUntilAnnotation] = end.UTC().Format(time.RFC3339)
		if w.oneIn(8) {
			annotations[v1alpha1.OverrideUntilAnnotation] = "soon"
		}
	}
	ps.Annotations = annotations
}
