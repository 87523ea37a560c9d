#!/usr/bin/env bash
# Flux (fluxcd/pkg/ssa 0.70.0): of one set, an admission policy comes after Deployments, StatefulSets, CronJobs and bare pods, and before DaemonSets
# and Jobs.
#
# Webhook configurations come last, so that they do not refuse what the set itself brings. One would guess that admission policies, which came
# later and need no program, are either with them or in front. But they are in no list. Nor are bare pods, DaemonSets and Jobs. What is in no
# list is sorted by its group as text, between the listed kinds and the last ones: "" before "admissionregistration.k8s.io" before "apps" and
# "batch". So a MutatingAdmissionPolicy that gives pods a scheduler or a gate, shipped with the workloads, is there for the pods of its DaemonSets and
# Jobs from the beginning, and for those of its Deployments and StatefulSets only if it is quicker than their controllers.
#
# Seen: Namespace, Deployment, StatefulSet, CronJob, Pod, MutatingAdmissionPolicy, ValidatingAdmissionPolicy, DaemonSet, Job,
# MutatingWebhookConfiguration, ValidatingWebhookConfiguration.
#
# Needs Go and a network. Prints the order in which the kinds are applied, and fails if it changes.
set -euo pipefail

version=0.70.0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

go mod init finding >/dev/null 2>&1
go mod edit "-require=github.com/fluxcd/pkg/ssa@v$version"

cat >order_test.go <<'GO'
package finding

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/ssa"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPoliciesAreInTheMiddle(t *testing.T) {
	const want = "Namespace Deployment StatefulSet CronJob Pod MutatingAdmissionPolicy ValidatingAdmissionPolicy DaemonSet Job " +
		"MutatingWebhookConfiguration ValidatingWebhookConfiguration"
	groups := map[string]string{
		"Namespace": "v1", "Pod": "v1", "Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "CronJob": "batch/v1", "Job": "batch/v1",
	}
	var set []*unstructured.Unstructured
	for kind := range strings.FieldsSeq(want) {
		object := &unstructured.Unstructured{}
		if object.SetAPIVersion("admissionregistration.k8s.io/v1"); groups[kind] != "" {
			object.SetAPIVersion(groups[kind])
		}
		object.SetKind(kind)
		object.SetName("shop")
		set = append([]*unstructured.Unstructured{object}, set...) // the other way round
	}
	sort.Sort(ssa.SortableUnstructureds(set))
	var order []string
	for _, object := range set {
		order = append(order, object.GetKind())
	}
	fmt.Println("order:", strings.Join(order, " "))
	if strings.Join(order, " ") != want {
		t.Fatal("Flux has changed")
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { tail -5 out.log; exit 1; }
grep "^order:" out.log
echo "fluxcd/pkg/ssa $version: seen as described"
