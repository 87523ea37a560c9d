package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// IsForeign reports whether the sequence points to another namespace than its own. Then it holds pods only while that
// namespace allows it.
func (s *Sequence) IsForeign() bool { return s.Namespace != s.Key.Namespace }

// Refusal says why the target namespace of the sequence does not allow it, and how to have it allowed; it is empty if the
// namespace does. list is the target's annotation, exists reports whether there is such a namespace, and uid is the UID of the
// sequence's own namespace; empty while it is not known.
func (s *Sequence) Refusal(list string, exists bool, uid types.UID) string {
	own, target := s.Key.Namespace, s.Namespace
	if !s.IsForeign() {
		return ""
	}
	allowed, earlier := consentIn(list, own, uid)
	switch {
	case allowed:
		return ""
	case len(validation.IsDNS1123Label(target)) > 0:
		return fmt.Sprintf("spec.namespace %q is not the name of a namespace, so nothing is held or released: correct it, or leave it out", target)
	case !exists:
		return fmt.Sprintf("spec.namespace: namespace %s does not exist, so nothing is held or released: create it, and allow "+
			"PodSequences of namespace %s there with: %s", target, own, grantCommand(list, own, target, uid))
	case earlier:
		return fmt.Sprintf("spec.namespace: namespace %s allows PodSequences of a namespace %s with another UID, which was deleted, so nothing "+
			"is held or released: allow those of the present one with: %s", target, own, grantCommand(list, own, target, uid))
	}
	return fmt.Sprintf("spec.namespace: namespace %s does not allow PodSequences of namespace %s, so nothing is held or released: "+
		"allow them with: %s", target, own, grantCommand(list, own, target, uid))
}

// entriesOf returns the entries of an annotation, with spaces removed.
func entriesOf(list string) []string {
	entries := strings.Split(list, ",")
	for i := range entries {
		entries[i] = strings.TrimSpace(entries[i])
	}
	return entries
}

// consentIn reports whether an annotation lists a namespace, or all. An entry "name:UID" is for the namespace with that UID alone, and not
// for one that somebody creates under the name of a deleted one. earlier reports whether there are only such entries, of others.
func consentIn(list, namespace string, uid types.UID) (allowed, earlier bool) {
	for _, entry := range entriesOf(list) {
		name, pinned, isPinned := strings.Cut(entry, ":")
		switch {
		case entry == "*", entry == namespace:
			return true, false
		case !isPinned || name != namespace:
		case types.UID(pinned) == uid && uid != "":
			return true, false
		default:
			earlier = uid != ""
		}
	}
	return false, earlier
}

// maxGrantedNames bounds the length of a list in a command, so that a condition's message has room for all of it.
const maxGrantedNames = 400

// pinnedEntry matches an entry with a UID.
var pinnedEntry = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?:[-0-9a-zA-Z]{1,64}$`)

// grantCommand returns the command with which a namespace allows one more namespace than its annotation lists: by its UID, so that
// consent does not pass to another namespace of the name. It repeats only what can be entries: whoever runs the command must not
// run what somebody wrote into an annotation.
func grantCommand(list, own, target string, uid types.UID) string {
	grant := own
	if uid != "" {
		grant += ":" + string(uid)
	}
	var entries []string
	for _, entry := range append(entriesOf(list), grant) {
		isEntry := len(validation.IsDNS1123Label(entry)) == 0 || pinnedEntry.MatchString(entry)
		isEarlier := entry != grant && strings.HasPrefix(entry, own+":")
		if isEntry && !isEarlier && !slices.Contains(entries, entry) {
			entries = append(entries, entry)
		}
	}
	value := strings.Join(entries, ",")
	if len(value) > maxGrantedNames {
		path := strings.ReplaceAll(v1alpha1.AllowSequencesFromAnnotation, ".", `\.`)
		value = fmt.Sprintf(`"$(kubectl get namespace %s -o jsonpath='{.metadata.annotations.%s}'),%s"`, target, path, grant)
	}
	return fmt.Sprintf("kubectl annotate --overwrite namespace %s %s=%s", target, v1alpha1.AllowSequencesFromAnnotation, value)
}
