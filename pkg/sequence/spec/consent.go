package spec

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// IsForeign reports whether the sequence points to another namespace than its own. Then it holds pods only while that
// namespace allows it.
func (s *Sequence) IsForeign() bool { return s.Namespace != s.Key.Namespace }

// Refusal says why the target namespace of the sequence does not allow it, and how to have it allowed; it is empty if the
// namespace does. list is the target's annotation, and exists reports whether there is such a namespace.
func (s *Sequence) Refusal(list string, exists bool) string {
	own, target := s.Key.Namespace, s.Namespace
	entries := entriesOf(list)
	switch {
	case !s.IsForeign(), slices.Contains(entries, own), slices.Contains(entries, "*"):
		return ""
	case len(validation.IsDNS1123Label(target)) > 0:
		return fmt.Sprintf("spec.namespace %q is not the name of a namespace, so nothing is held or released: correct it, or leave it out", target)
	case !exists:
		return fmt.Sprintf("spec.namespace: namespace %s does not exist, so nothing is held or released: create it, and allow "+
			"PodSequences of namespace %s there with: %s", target, own, grantCommand(entries, own, target))
	}
	return fmt.Sprintf("spec.namespace: namespace %s does not allow PodSequences of namespace %s, so nothing is held or released: "+
		"allow them with: %s", target, own, grantCommand(entries, own, target))
}

// entriesOf returns the entries of an annotation, with spaces removed.
func entriesOf(list string) []string {
	entries := strings.Split(list, ",")
	for i := range entries {
		entries[i] = strings.TrimSpace(entries[i])
	}
	return entries
}

// maxGrantedNames bounds the length of a list in a command, so that a condition's message has room for all of it.
const maxGrantedNames = 400

// grantCommand returns the command with which a namespace allows one more namespace than its annotation lists. It repeats only names of
// namespaces: whoever runs the command must not run what somebody wrote into an annotation.
func grantCommand(entries []string, own, target string) string {
	var names []string
	for _, entry := range append(entries, own) {
		if len(validation.IsDNS1123Label(entry)) == 0 && !slices.Contains(names, entry) {
			names = append(names, entry)
		}
	}
	value := strings.Join(names, ",")
	if len(value) > maxGrantedNames {
		path := strings.ReplaceAll(v1alpha1.AllowSequencesFromAnnotation, ".", `\.`)
		value = fmt.Sprintf(`"$(kubectl get namespace %s -o jsonpath='{.metadata.annotations.%s}'),%s"`, target, path, own)
	}
	return fmt.Sprintf("kubectl annotate --overwrite namespace %s %s=%s", target, v1alpha1.AllowSequencesFromAnnotation, value)
}
