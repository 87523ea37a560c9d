package inventory

import "strings"

// Deployment tools run hooks beside the objects of a release. A hook that runs when a release is installed or upgraded takes part in its
// start. A hook that runs when somebody deletes, rolls back or tests the release, or when a sync fails, does not: nothing may wait for it,
// and whoever deletes a release must not wait for pods that the release does not start any more.
const (
	helmHookAnnotation = "helm.sh/hook"
	argoHookAnnotation = "argocd.argoproj.io/hook"
)

// IsUnorderedHook reports whether these are the annotations of a hook that no start order concerns: one that Helm runs only for delete,
// rollback and test, and Argo CD only before or after it deletes an application, and when a sync fails. A hook that also runs at another
// time is ordered, because an object does not say for which of its times it was created.
func IsUnorderedHook(annotations map[string]string) bool {
	helm, isHelm := annotations[helmHookAnnotation]
	argo, isArgo := annotations[argoHookAnnotation]
	return (isHelm || isArgo) && (!isHelm || allOf(helm, isUnorderedInHelm)) && (!isArgo || allOf(argo, isUnorderedInArgo))
}

// allOf reports whether every name in a comma-separated list is such a name.
func allOf(list string, is func(string) bool) bool {
	for name := range strings.SplitSeq(list, ",") {
		if !is(strings.TrimSpace(name)) {
			return false
		}
	}
	return true
}

// isUnorderedInHelm reads a name as Helm does, in any case. test-success is what Helm 2 called test.
func isUnorderedInHelm(hook string) bool {
	switch strings.ToLower(hook) {
	case "pre-delete", "post-delete", "pre-rollback", "post-rollback", "test", "test-success":
		return true
	}
	return false
}

func isUnorderedInArgo(hook string) bool {
	switch hook {
	case "PreDelete", "PostDelete", "SyncFail":
		return true
	}
	return false
}
