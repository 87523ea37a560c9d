#!/usr/bin/env bash
# kubectl (cli-runtime 0.37.1) and kustomize (api 0.21.1): an object behind a line of three dots is left out without an error.
#
# Three dots end a YAML document, and in YAML 1.2 another one may follow at once. So it is when a file that ends in them and one that does not
# begin with three dashes are put one behind the other: cat first.yaml second.yaml | kubectl apply -f -. One would guess that both objects are
# read, or that the stream is refused, as go-yaml, a reader of YAML 1.1, does. But kubectl and kustomize split it at lines of three dashes only,
# and take the first document of each piece. The second object is neither applied nor complained about.
#
# Seen: of a ConfigMap, three dots and a Service, kubectl and kustomize find the ConfigMap alone, and go-yaml finds an error.
#
# Needs Go and a network. Prints what each finds, and fails if that changes.
set -euo pipefail

kubectl=0.37.1
kustomize=0.21.1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

go mod init finding >/dev/null 2>&1
go mod edit "-require=k8s.io/cli-runtime@v$kubectl" "-require=sigs.k8s.io/kustomize/api@v$kustomize"

cat >dots_test.go <<'GO'
package finding

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const objects = `apiVersion: v1
kind: ConfigMap
metadata:
  name: first
...
apiVersion: v1
kind: Service
metadata:
  name: second
`

// refused tells whether go-yaml, which the others read pieces with, refuses the stream.
func refused() bool {
	decoder := yaml.NewDecoder(strings.NewReader(objects))
	for {
		var object map[string]any
		if err := decoder.Decode(&object); err != nil {
			return !errors.Is(err, io.EOF)
		}
	}
}

func byKubectl(t *testing.T) (kinds []string) {
	infos, err := resource.NewLocalBuilder().Unstructured().Stream(strings.NewReader(objects), "file").Do().Infos()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		kinds = append(kinds, info.Object.GetObjectKind().GroupVersionKind().Kind)
	}
	return kinds
}

func byKustomize(t *testing.T) (kinds []string) {
	files := filesys.MakeFsInMemory()
	for name, content := range map[string]string{"kustomization.yaml": "resources: [objects.yaml]\n", "objects.yaml": objects} {
		if err := files.WriteFile(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range resources.Resources() {
		kinds = append(kinds, r.GetKind())
	}
	return kinds
}

func TestThreeDotsHideAnObject(t *testing.T) {
	kubectl, kustomize := byKubectl(t), byKustomize(t)
	fmt.Printf("objects found by kubectl: %v, by kustomize: %v; refused by go-yaml: %v\n", kubectl, kustomize, refused())
	if len(kubectl) != 1 || len(kustomize) != 1 || !refused() {
		t.Fatal("kubectl or kustomize has changed")
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { tail -5 out.log; exit 1; }
grep "^objects found" out.log
echo "cli-runtime $kubectl, kustomize $kustomize: seen as described"
