package lint

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// Hooks of deployment tools are created before or after the other objects of their release. A sequence must not ask for another order.

// moment is when a tool creates a hook.
type moment int

const (
	within moment = iota // with the other objects of the release, or it is no hook
	first                // before the other objects, which the tool creates when the hook has succeeded
	last                 // after the other objects are ready
)

// hooksAt are the hooks that run before and after the other objects of a release, by annotation and tool.
var hooksAt = []struct {
	annotation, tool string
	first, last      []string
}{
	{"helm.sh/hook", "Helm", []string{"pre-install", "pre-upgrade"}, []string{"post-install", "post-upgrade"}},
	{"argocd.argoproj.io/hook", "Argo CD", []string{"PreSync"}, []string{"PostSync"}},
}

// hookOf returns when a tool creates an object, with the name of the hook that says so and of the tool.
func hookOf(object metav1.Object) (at moment, hook, tool string) {
	for _, by := range hooksAt {
		for name := range strings.SplitSeq(object.GetAnnotations()[by.annotation], ",") {
			switch name = strings.TrimSpace(name); {
			case slices.Contains(by.first, name):
				return first, name, by.tool
			case slices.Contains(by.last, name) && at == within:
				at, hook, tool = last, name, by.tool
			}
		}
	}
	return at, hook, tool
}

// hook looks at whether a hook waits for what its tool creates after it, or is waited for by what must be ready before it.
func (l *linter) hook(t *template) {
	at, name, tool := hookOf(t.object)
	if at == within {
		return
	}
	for _, place := range t.places[0] {
		s := l.Snapshot.Sequence(place.Sequence)
		if s.Spec.DryRun {
			continue
		}
		if at == last && l.isAwaited(s, place.Group) && l.hasLater(s, place.Group) {
			l.addTo(t, Warning, "HookAwaited", "groups wait for %s of %s, which has this %s hook, but %s: then both wait until the time-out; "+
				"remove the annotation, so that the order of the sequence alone decides", s.Where(place.Group), s, name, waitsBefore(tool))
		}
		if at == first && place.Governed {
			if earlier := l.earlierIn(s, place.Group, t); earlier != nil {
				l.addTo(t, Error, "HookWaits", "this %s hook is in %s of %s and waits for %s, which %s creates only when the hook has succeeded: "+
					"both wait permanently; remove the annotation, so that the order of the sequence alone decides, or take the hook out of the sequence",
					name, s.Where(place.Group), s, earlier, tool)
				return
			}
		}
	}
	if at == first {
		l.hookBeforeSequence(t, name, tool)
	}
}

// hookBeforeSequence looks at a hook that waits for a PodSequence of its own release.
func (l *linter) hookBeforeSequence(t *template, name, tool string) {
	named := t.pods[0].Labels[v1alpha1.SequenceLabel]
	for _, s := range l.Sequences {
		if named != "" && l.offline && s.Key().Namespace == t.object.GetNamespace() && s.Key().Name == named {
			l.addTo(t, Error, "HookWaits", "its label makes this %s hook wait for %s, which %s creates only when the hook has succeeded: "+
				"both wait permanently; remove the label from %s", name, s, tool, t.path("metadata.labels"))
		}
	}
}

// waitsBefore says when a tool runs its last hooks.
func waitsBefore(tool string) string {
	if tool == "Helm" {
		return "with --wait Helm creates it only when the pods of the later groups are ready"
	}
	return tool + " creates it only when the pods of the later groups are ready"
}

// hasLater reports whether some template makes pods that wait for a group.
func (l *linter) hasLater(s *snapshot.Sequence, group int) bool {
	return slices.ContainsFunc(l.templates, func(t *template) bool {
		in, ok := placeIn(t.places, s)
		return ok && slices.Contains(l.Predecessors(s, in), group)
	})
}

// earlierIn returns a template that makes members of a group for which a hook waits, and that is no hook itself; nil if there is none.
func (l *linter) earlierIn(s *snapshot.Sequence, group int, hook *template) *template {
	for _, t := range l.templates {
		in, ok := placeIn(t.places, s)
		if at, _, _ := hookOf(t.object); ok && t != hook && at != first && slices.Contains(l.Predecessors(s, group), in) {
			return t
		}
	}
	return nil
}

// notSelected looks at pods that wait for a sequence that selects them, because their namespace requires one.
func (l *linter) notSelected(t *template) {
	pod, namespace := t.pods[0], t.object.GetNamespace()
	if len(t.places[0]) > 0 || !isOurs(pod, &l.Config) || pod.Spec.NodeName != "" || l.Config.IsOwn(pod) || !l.requiresSequence(namespace) {
		return
	}
	if !l.offline && namespace != l.namespace {
		return // somebody else's sequence may select it
	}
	severity, where := Error, ""
	if l.offline {
		where = " of the files"
		if !slices.ContainsFunc(l.Sequences, func(s *snapshot.Sequence) bool { return s.Target == namespace }) {
			severity = Warning
		}
	}
	l.addTo(t, severity, "NotSelected", "namespace %s requires a sequence, and no group%s selects these pods: they wait permanently; "+
		"%s, or add a last group with podSelector: {}", namespace, where, fmt.Sprintf("correct a podSelector or the labels in %s", t.path("metadata.labels")))
}
