#!/usr/bin/env bash
# Helm 4.3.1: hooks of the same weight run in the order of their names, whatever their kind: a Job before the ServiceAccount that it needs.
#
# Helm's documentation says that hooks are sorted by weight, then by kind, then by name, and the objects of a release are created by kind. So
# one would guess that a chart may leave out the weights of a migration Job and of the ConfigMap and ServiceAccount it uses. SortManifests does
# sort hooks by kind, but the action that runs them sorts them again, by weight and name only (see hookByWeight in pkg/action/hooks.go). The
# Job migrate runs before the ConfigMap settings, and Helm waits for its end before it creates that.
#
# Seen: Job/migrate, ServiceAccount/robot, ConfigMap/settings.
#
# Needs Go and a network. Prints the order in which helm install runs the hooks, and fails if kinds count in it.
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
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	kubefake "helm.sh/helm/v4/pkg/kube/fake"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
)

var kindAndName = regexp.MustCompile(`(?s)kind: (\w+).*?name: (\w+)`)

// cluster notes what Helm asks it to build, which for a hook is just before its deletion and its creation.
type cluster struct {
	kubefake.PrintingKubeClient
	built []string
}

func (c *cluster) Build(r io.Reader, _ bool) (kube.ResourceList, error) {
	manifest, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if found := kindAndName.FindStringSubmatch(string(manifest)); found != nil {
		object := found[1] + "/" + found[2]
		if len(c.built) == 0 || c.built[len(c.built)-1] != object {
			c.built = append(c.built, object)
		}
	}
	return kube.ResourceList{}, nil
}

func hook(kind, name string) *common.File {
	const manifest = "apiVersion: v1\nkind: %s\nmetadata:\n  name: %s\n  annotations:\n    helm.sh/hook: pre-install\n"
	return &common.File{Name: "templates/" + name + ".yaml", Data: fmt.Appendf(nil, manifest, kind, name)}
}

func TestHooksRunByName(t *testing.T) {
	c := &cluster{PrintingKubeClient: kubefake.PrintingKubeClient{Out: io.Discard}}
	install := action.NewInstall(&action.Configuration{
		Releases: storage.Init(driver.NewMemory()), KubeClient: c, Capabilities: common.DefaultCapabilities,
	})
	install.ReleaseName, install.Namespace = "release", "default"
	app := &chart.Chart{
		Metadata:  &chart.Metadata{APIVersion: chart.APIVersionV2, Name: "app", Version: "1.0.0"},
		Templates: []*common.File{hook("ConfigMap", "settings"), hook("ServiceAccount", "robot"), hook("Job", "migrate")},
	}
	if _, err := install.RunWithContext(context.Background(), app, nil); err != nil {
		t.Fatal(err)
	}
	order := strings.Join(c.built, ", ")
	fmt.Println("hooks ran in this order:", order)
	if order != "Job/migrate, ServiceAccount/robot, ConfigMap/settings" {
		t.Fatal("Helm has changed")
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { tail -5 out.log; exit 1; }
grep "^hooks ran" out.log
echo "Helm $version: seen as described"
