package sequence

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// besideTheStart are the hooks that run when somebody deletes, rolls back or tests a release, or when a sync fails.
var besideTheStart = []string{
	"helm.sh/hook=pre-delete", "helm.sh/hook=post-delete", "helm.sh/hook=pre-rollback", "helm.sh/hook=post-rollback", "helm.sh/hook=test",
	"argocd.argoproj.io/hook=PreDelete", "argocd.argoproj.io/hook=PostDelete", "argocd.argoproj.io/hook=SyncFail",
}

// saysOnTheSide reports whether an object is a hook that runs beside the start of a release, and at no other time.
func saysOnTheSide(object metav1.Object) bool {
	only := false
	for _, tool := range []string{"helm.sh/hook", "argocd.argoproj.io/hook"} {
		list, is := object.GetAnnotations()[tool]
		if !is {
			continue
		}
		only = true
		for _, hook := range strings.Split(list, ",") {
			if !slices.Contains(besideTheStart, tool+"="+hook) {
				return false
			}
		}
	}
	return only
}

// isOnTheSide reports the same of a pod, which is also one if its Job is.
func (o *oracle) isOnTheSide(p *corev1.Pod) bool {
	if saysOnTheSide(p) {
		return true
	}
	owner := metav1.GetControllerOf(p)
	if owner == nil || ownerKind(owner) == "" {
		return false
	}
	for _, object := range o.objects["Job"] {
		if object.GetUID() == owner.UID && object.GetNamespace() == p.Namespace {
			return saysOnTheSide(object) || saysOnTheSide(&object.(*batchv1.Job).Spec.Template)
		}
	}
	return false
}

// changeHook makes an object a hook, or none. Most stay what they are.
func (w *randomWorld) changeHook(object metav1.Object) {
	if !w.oneIn(8) {
		return
	}
	annotations := map[string]string{}
	for key, value := range object.GetAnnotations() {
		if key != "helm.sh/hook" && key != "argocd.argoproj.io/hook" {
			annotations[key] = value
		}
	}
	if w.oneIn(2) {
		key, value, _ := strings.Cut(pick(w, slices.Concat(besideTheStart, []string{"helm.sh/hook=post-install", "argocd.argoproj.io/hook=PostSync"})...), "=")
		annotations[key] = value
		if w.oneIn(4) {
			annotations[key] += pick(w, ",test", ",post-upgrade", ",SyncFail")
		}
	}
	object.SetAnnotations(annotations)
}

// changeHookOf makes a Job a hook, or none.
func (w *randomWorld) changeHookOf(object metav1.Object) {
	if isKind(object, "Job") {
		w.asideBy(9, func() { w.changeHook(object) })
	}
}

// countHooks counts the hooks that no order concerns.
func (c *comparison) countHooks() {
	for _, p := range c.oracle.pods {
		switch {
		case !c.oracle.isOnTheSide(p):
		case saysOnTheSide(p):
			c.seen["pod that is a hook on the side"]++
		default:
			c.seen["pod of a Job that is a hook on the side"]++
		}
	}
}
