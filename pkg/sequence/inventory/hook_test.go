package inventory

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/manifests"
)

func TestWhichHooksNoOrderConcerns(t *testing.T) {
	helm := func(hooks string) map[string]string { return map[string]string{"helm.sh/hook": hooks} }
	argo := func(hooks string) map[string]string { return map[string]string{"argocd.argoproj.io/hook": hooks} }
	for name, test := range map[string]struct {
		annotations map[string]string
		want        bool
	}{
		"no hook":                                   {nil, false},
		"Helm deletes":                              {helm("pre-delete"), true},
		"Helm has deleted":                          {helm("post-delete"), true},
		"Helm rolls back":                           {helm("pre-rollback,post-rollback"), true},
		"Helm tests":                                {helm("test"), true},
		"Helm 2 tests":                              {helm("test-success"), true},
		"Helm ignores case and spaces":              {helm(" Pre-Delete , TEST "), true},
		"Helm installs":                             {helm("post-install"), false},
		"Helm upgrades":                             {helm("pre-upgrade"), false},
		"Helm also installs":                        {helm("pre-delete,post-install"), false},
		"a migration for both ways":                 {helm("pre-upgrade,pre-rollback"), false},
		"Helm does not know the hook":               {helm("after-lunch"), false},
		"an empty list":                             {helm(""), false},
		"Argo CD has deleted":                       {argo("PostDelete"), true},
		"Argo CD deletes":                           {argo("PreDelete"), true},
		"Argo CD fails":                             {argo("SyncFail"), true},
		"Argo CD distinguishes case":                {argo("syncfail"), false},
		"Argo CD syncs":                             {argo("PostSync"), false},
		"Argo CD also syncs":                        {argo("PostSync,SyncFail"), false},
		"both tools, for deletion":                  {map[string]string{"helm.sh/hook": "post-delete", "argocd.argoproj.io/hook": "PostDelete"}, true},
		"both tools, one of them for installations": {map[string]string{"helm.sh/hook": "post-install", "argocd.argoproj.io/hook": "PostDelete"}, false},
	} {
		assert.Equal(t, test.want, IsUnorderedHook(test.annotations), name)
	}
}

// The policy that refuses pods that nobody would hold cannot ask IsUnorderedHook: it has lists of its own.
func TestThePolicyThatRefusesKnowsTheSameHooks(t *testing.T) {
	policy, err := manifests.FS.ReadFile("options/refuse-unheld-pods/policy.yaml")
	require.NoError(t, err)
	lists := regexp.MustCompile(`hook.trim\(\) in \[(.*?)\]`).FindAllSubmatch(policy, -1)
	require.Len(t, lists, 2, "a list of the hooks of Helm, and one of those of Argo CD")
	all := [][]string{
		{"pre-install", "post-install", "pre-upgrade", "post-upgrade", "pre-delete", "post-delete", "pre-rollback", "post-rollback", "test",
			"test-success", "test-failure", "crd-install"},
		{"PreSync", "Sync", "PostSync", "Skip", "SyncFail", "PreDelete", "PostDelete"},
	}
	for i, annotation := range []string{helmHookAnnotation, argoHookAnnotation} {
		var listed, unordered []string
		for _, name := range regexp.MustCompile(`'(.*?)'`).FindAllSubmatch(lists[i][1], -1) {
			listed = append(listed, string(name[1]))
		}
		for _, name := range slices.Concat(all[i], listed) {
			if IsUnorderedHook(map[string]string{annotation: name}) && !slices.Contains(unordered, name) {
				unordered = append(unordered, name)
			}
		}
		assert.ElementsMatch(t, unordered, listed, annotation)
	}
}
