#!/usr/bin/env bash
# kapp 0.64.2: after a change of the template it waits for a StatefulSet or DaemonSet with the update strategy OnDelete until the pods are new.
#
# With OnDelete a controller replaces no pod by itself, so that an operator can do it pod by pod, later. One would guess that kapp deploy is done
# as soon as the controller has seen the change, as it is with a partition that holds all pods back, and as kstatus says of such a StatefulSet.
# But kapp looks at the partition and not at the strategy, and waits for updated pods, which nobody brings about. The deployment of the
# application ends in a time-out (15 minutes by default), and changes that are ordered behind this one are not made.
#
# Seen: 3 of 3 ready and none updated is done with a partition of 3; with OnDelete kapp waits for 3 replicas, or 3 pods, to be updated.
#
# Needs Go and a network. Prints what kapp says of the three, and fails if it stops waiting for the last two.
set -euo pipefail

version=0.64.2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

go mod init finding >/dev/null 2>&1
go mod edit "-require=carvel.dev/kapp@v$version"

cat >wait_test.go <<'GO'
package finding

import (
	"fmt"
	"testing"

	"carvel.dev/kapp/pkg/kapp/resources"
	"carvel.dev/kapp/pkg/kapp/resourcesmisc"
)

// The controllers have seen the new template, all pods are ready, and none has it.
const (
	statefulSet = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: app, generation: 2}
spec: {replicas: 3, updateStrategy: %s}
status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, availableReplicas: 3, updatedReplicas: 0}
`
	daemonSet = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: app, generation: 2}
spec: {updateStrategy: %s}
status: {observedGeneration: 2, desiredNumberScheduled: 3, numberReady: 3, numberAvailable: 3, updatedNumberScheduled: 0}
`
	partition = "{type: RollingUpdate, rollingUpdate: {partition: 3}}"
	onDelete  = "{type: OnDelete}"
)

func object(manifest, strategy string) resources.Resource {
	return resources.MustNewResourceFromBytes(fmt.Appendf(nil, manifest, strategy))
}

func TestOnDeleteIsWaitedFor(t *testing.T) {
	held := resourcesmisc.NewAppsV1StatefulSet(object(statefulSet, partition), nil).IsDoneApplying()
	stateful := resourcesmisc.NewAppsV1StatefulSet(object(statefulSet, onDelete), nil).IsDoneApplying()
	daemon := resourcesmisc.NewAppsV1DaemonSet(object(daemonSet, onDelete)).IsDoneApplying()
	fmt.Printf("StatefulSet with a partition of 3: done %v; with OnDelete: done %v, %q; DaemonSet with OnDelete: done %v, %q\n",
		held.Done, stateful.Done, stateful.Message, daemon.Done, daemon.Message)
	if !held.Done || !held.Successful || stateful.Done || daemon.Done {
		t.Fatal("kapp has changed")
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { tail -5 out.log; exit 1; }
grep "^StatefulSet with" out.log
echo "kapp $version: seen as described"
