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

// isAside reports the same of a pod or of its Job.
func (r *requirements) isAside(p *podFacts) bool {
	return p.aside || p.owner.uid != "" && r.asides.Has(p.owner.uid)
}

// putHook takes in whether a Job is such a hook. It reports whether that concerns its pods.
func (r *requirements) putHook(f *workloadFacts, deleted bool) bool {
	was := r.asides.Has(f.uid)
	if r.asides.Delete(f.uid); f.aside && !deleted {
		r.asides.Insert(f.uid)
	}
	return was != r.asides.Has(f.uid)
}

// followHook places the pods of a Job anew.
func (v *version) followHook(f *workloadFacts, w *world) {
	for _, p := range w.in(f.Namespace).owned[f.uid] {
		v.displace(p.NamespacedName)
		v.place(p)
	}
}
