#!/usr/bin/env bash
# kstatus of Flux' cli-utils 1.2.3: with the update strategy OnDelete a StatefulSet is Current though none of its pods is ready, and a DaemonSet
# whose pods are all ready is InProgress after a change of its template.
#
# The guess: OnDelete means the same for both, because in both the controller replaces no pod by itself. So either both are Current as soon as the
# controller has seen the change, or both wait for the pods. But the StatefulSet is judged by its strategy before anything else, and the
# DaemonSet's strategy is not looked at. Flux' Kustomizations and all that else waits by kstatus are ready at once in the first
# case, also at the first installation, and end in a time-out in the second.
#
# Seen: "Current" with 0 of 3 ready; "InProgress" with 3 of 3 ready and available, none of them updated.
#
# Needs Go and a network. Prints what kstatus says of both, and fails if that changes.
set -euo pipefail

version=1.2.3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

go mod init finding >/dev/null 2>&1
go mod edit "-require=github.com/fluxcd/cli-utils@v$version"

cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// object is one whose controller has seen the newest generation.
func object(kind string, spec, observed map[string]any) *unstructured.Unstructured {
	observed["observedGeneration"] = int64(2)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"name": "app", "generation": int64(2)},
		"spec": spec, "status": observed,
	}}
}

func main() {
	onDelete := map[string]any{"type": "OnDelete"}
	ok := true
	for _, c := range []struct {
		what   string
		object *unstructured.Unstructured
		want   status.Status
	}{
		{
			"StatefulSet, OnDelete, 0 of 3 ready",
			object("StatefulSet", map[string]any{"replicas": int64(3), "updateStrategy": onDelete}, map[string]any{"replicas": int64(3), "readyReplicas": int64(0)}),
			status.CurrentStatus,
		},
		{
			"DaemonSet, OnDelete, 3 of 3 ready, none updated",
			object("DaemonSet", map[string]any{"updateStrategy": onDelete}, map[string]any{
				"desiredNumberScheduled": int64(3), "currentNumberScheduled": int64(3), "numberReady": int64(3), "numberAvailable": int64(3),
				"updatedNumberScheduled": int64(0),
			}),
			status.InProgressStatus,
		},
	} {
		result, err := status.Compute(c.object)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Printf("%s: %s (%s)\n", c.what, result.Status, result.Message)
		ok = ok && result.Status == c.want
	}
	if !ok {
		fmt.Println("kstatus says something else now")
		os.Exit(1)
	}
}
GO
go mod tidy >/dev/null 2>&1
go run .
