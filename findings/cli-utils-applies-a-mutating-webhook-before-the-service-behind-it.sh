#!/usr/bin/env bash
# cli-utils 0.37.2: of one set, a MutatingWebhookConfiguration is applied before the Service and the Deployment behind it, a validating one last.
#
# From the moment it exists, a webhook with failurePolicy Fail has all matching requests refused until its pods answer. So Helm puts both kinds of
# webhook configurations behind the workloads, and Flux and the legacy order of kustomize put them last of all. One would guess the same of
# cli-utils, with which kpt applies packages, and which sorts by kind what it applies without waiting. But its list has the mutating kind near
# the front, next to CustomResourceDefinition, and only the validating kind at the end. Whoever ships a mutating webhook and its program in one
# package has to order them himself, with config.kubernetes.io/depends-on.
#
# Seen: CustomResourceDefinition, MutatingWebhookConfiguration, Secret, Service, Deployment, ValidatingWebhookConfiguration.
#
# Needs Go and a network. Prints the order in which the applier takes the objects, and fails if it changes.
set -euo pipefail

version=0.37.2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

go mod init finding >/dev/null 2>&1
go mod edit "-require=sigs.k8s.io/cli-utils@v$version"

cat >order_test.go <<'GO'
package finding

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/object"
	"sigs.k8s.io/cli-utils/pkg/object/graph"
)

func TestAMutatingWebhookComesEarly(t *testing.T) {
	var objects object.UnstructuredSet
	for _, kind := range [][2]string{
		{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"},
		{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"},
		{"apps/v1", "Deployment"},
		{"v1", "Service"},
		{"v1", "Secret"},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition"},
	} {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion(kind[0])
		u.SetKind(kind[1])
		u.SetName("app")
		objects = append(objects, u)
	}
	sets, err := graph.SortObjs(objects)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, set := range sets {
		for _, u := range set {
			kinds = append(kinds, u.GetKind())
		}
	}
	order := strings.Join(kinds, ", ")
	fmt.Printf("applied in this order, in %d step: %s\n", len(sets), order)
	if order != "CustomResourceDefinition, MutatingWebhookConfiguration, Secret, Service, Deployment, ValidatingWebhookConfiguration" {
		t.Fatal("cli-utils has changed")
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { tail -5 out.log; exit 1; }
grep "^applied in this order" out.log
echo "cli-utils $version: seen as described"
