package order

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

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
