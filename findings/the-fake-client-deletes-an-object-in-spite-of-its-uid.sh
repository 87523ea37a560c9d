#!/usr/bin/env bash
# controller-runtime 0.25.2, fake client: a deletion with the precondition of another UID succeeds, while one of another version is refused.
#
# Controllers delete a pod or a Job by name with the precondition of its UID, so that they never hit a successor of the same name. One would
# guess that the fake client heeds both preconditions, as an API server does, since it refuses a deletion whose resourceVersion is not the
# stored one with a conflict. It does not look at the UID. So a unit test of such a controller passes whether the precondition is right or
# wrong, and a test that a successor survives fails with a controller that is right.
#
# Seen: Preconditions{ResourceVersion: of another} is a conflict and the pod stays; Preconditions{UID: of another} deletes it.
#
# Needs Go and a network. Prints both answers, and fails if the fake client has come to look at UIDs, or no longer looks at versions.
set -euo pipefail

version=0.25.2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

go mod init finding >/dev/null 2>&1
go mod edit "-require=sigs.k8s.io/controller-runtime@v$version"

cat >delete_test.go <<'GO'
package finding

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// deleted tells whether a pod is gone after its deletion with this precondition, and with which error.
func deleted(precondition client.Preconditions) (bool, error) {
	ctx := context.Background()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod", UID: "second"}}
	c := fake.NewClientBuilder().WithObjects(pod).Build()
	err := c.Delete(ctx, pod, precondition)
	return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(pod), pod)), err
}

func TestUIDsAreNotLookedAt(t *testing.T) {
	uid, resourceVersion := types.UID("first"), "1"
	byUID, uidErr := deleted(client.Preconditions{UID: &uid})
	byVersion, versionErr := deleted(client.Preconditions{ResourceVersion: &resourceVersion})
	fmt.Printf("with another UID: deleted %v, conflict %v; with another version: deleted %v, conflict %v\n",
		byUID, apierrors.IsConflict(uidErr), byVersion, apierrors.IsConflict(versionErr))
	if !byUID || uidErr != nil || byVersion || !apierrors.IsConflict(versionErr) {
		t.Fatal("controller-runtime has changed")
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { tail -5 out.log; exit 1; }
grep "^with another UID" out.log
echo "controller-runtime $version: seen as described"
