#!/usr/bin/env bash
# Helm 4.3.1: an object whose annotation helm.sh/hook is empty is in the release neither as a hook nor as an object: it is never created.
#
# Charts take the value of this annotation from a parameter, so that a Job can be a hook or not: helm.sh/hook: {{ .Values.hook | quote }}. One
# would guess that an empty value means no hook, so that the Job is created with everything else, or else that Helm refuses it. But Helm looks
# for the event named "", knows none, and goes on without the manifest. It logs "skipping unknown hooks" at level info; the installation
# succeeds.
#
# Seen: of three Jobs, one plain, one with the event pre-install and one with an empty annotation, the last is missing without an error.
#
# Needs Go and a network. Prints where the three Jobs are, and fails if the third is anywhere.
set -euo pipefail

version=4.3.1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

go mod init finding >/dev/null 2>&1
go mod edit "-require=helm.sh/helm/v4@v$version"

cat >hooks_test.go <<'GO'
package finding

import (
	"fmt"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
)

func TestAnObjectIsMissing(t *testing.T) {
	const job = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: %s\n"
	const annotated = job + "  annotations:\n    helm.sh/hook: %q\n"
	hooks, manifests, err := releaseutil.SortManifests(map[string]string{
		"app/templates/plain.yaml": fmt.Sprintf(job, "plain"),
		"app/templates/hook.yaml":  fmt.Sprintf(annotated, "hook", "pre-install"),
		"app/templates/empty.yaml": fmt.Sprintf(annotated, "empty", ""),
	}, common.VersionSet{"batch/v1"}, releaseutil.InstallOrder)
	if err != nil {
		t.Fatal("Helm has changed: ", err)
	}
	var asHooks, asObjects []string
	for _, h := range hooks {
		asHooks = append(asHooks, h.Name)
	}
	for _, m := range manifests {
		asObjects = append(asObjects, m.Head.Metadata.Name)
	}
	fmt.Printf("of the Jobs plain, hook and empty, hooks are %v, objects are %v, error %v\n", asHooks, asObjects, err)
	if fmt.Sprint(asHooks, asObjects) != "[hook] [plain]" {
		t.Fatal("Helm has changed")
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { tail -5 out.log; exit 1; }
grep "^of the Jobs" out.log
echo "Helm $version: seen as described"
