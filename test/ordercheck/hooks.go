package ordercheck

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Deployment tools run hooks when a release is deleted, rolled back or tested, and when a sync fails. Such a hook is no part of the start:
// no group has it by label, and it waits for no sequence. The pod says that it is one, or the Job that owns it does.

// asides are these hooks, by the annotation that names them.
var asides = map[string]sets.Set[string]{
	"helm.sh/hook":            sets.New("pre-delete", "post-delete", "pre-rollback", "post-rollback", "test", "test-success"),
	"argocd.argoproj.io/hook": sets.New("PreDelete", "PostDelete", "SyncFail"),
}

// isAside reports whether an object is such a hook, and is not created at any other time, too.
func isAside(object metav1.Object) bool {
	hooks, others := 0, 0
	for annotation, known := range asides {
		list, is := object.GetAnnotations()[annotation]
		if !is {
			continue
		}
		for _, hook := range strings.Split(list, ",") {
			hooks++
			if !known.Has(strings.TrimSpace(hook)) {
				others++
			}
		}
	}
	return hooks > 0 && others == 0
}
