package inventory

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
