// Package programflags reads the flags that a Deployment gives its program.
package programflags

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
)

// Values returns the values, which commas separate, that a Deployment gives a flag of its program, such as "--scheduler-names", and
// whether it gives the flag. Of a flag that is given several times all values count, as those of lists do on our command lines.
func Values(deployment *appsv1.Deployment, flag string) (values []string, given bool) {
	for _, container := range deployment.Spec.Template.Spec.Containers {
		for i, argument := range container.Args {
			value, found := strings.CutPrefix(argument, flag+"=")
			if argument == flag && i+1 < len(container.Args) {
				value, found = container.Args[i+1], true
			}
			if found {
				values, given = append(values, strings.FieldsFunc(value, func(r rune) bool { return r == ',' })...), true
			}
		}
	}
	return values, given
}
