#!/usr/bin/env bash
# Argo CD (gitops-engine c9c369efcc5b): a pod whose init container is in CrashLoopBackOff is Progressing; were it the main container, Degraded.
#
# A sync wave goes on when its objects are healthy and gives up when one is degraded, and a pod is degraded when a container waits with a reason
# that ends in BackOff or Error. One would guess that this holds for init containers as well, which is where a pod waits for others, and for
# sidecars, which are init containers too. But the health check reads status.containerStatuses alone, where the main container waits with the
# reason PodInitializing. So the wave of such a pod does not fail: it waits until somebody ends the sync.
#
# Seen: CrashLoopBackOff and ImagePullBackOff make a pod Degraded in a container, and leave it Progressing in an init container.
#
# Needs Go and a network. Prints the health of the four pods, and fails if it changes.
set -euo pipefail

engine=v0.0.0-20260914071520-c9c369efcc5b
kubernetes=1.36.4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

module=github.com/argoproj/argo-cd/gitops-engine
go mod init finding >/dev/null 2>&1
mod=$(go mod download -json "$module@$engine" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
edits=("-require=$module@$engine" "-require=k8s.io/kubernetes@v$kubernetes")
for staging in $(sed -n 's/^[[:space:]]*\(k8s\.io\/[a-z-]*\) => .*/\1/p' "$mod" | sort -u); do
  edits+=("-replace=$staging=$staging@v0.${kubernetes#1.}")
done
go mod edit "${edits[@]}"

cat >health_test.go <<'GO'
package finding

import (
	"fmt"
	"testing"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func waiting(name, reason string) []v1.ContainerStatus {
	return []v1.ContainerStatus{{Name: name, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}}}
}

func healthOf(t *testing.T, status v1.PodStatus) health.HealthStatusCode {
	status.Phase = v1.PodPending
	pod := &v1.Pod{
		Spec: v1.PodSpec{
			RestartPolicy:  v1.RestartPolicyAlways,
			InitContainers: []v1.Container{{Name: "init"}},
			Containers:     []v1.Container{{Name: "app"}},
		},
		Status: status,
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		t.Fatal(err)
	}
	object["apiVersion"], object["kind"] = "v1", "Pod"
	h, err := health.GetResourceHealth(&unstructured.Unstructured{Object: object}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h.Status
}

func TestInitContainersAreNotLookedAt(t *testing.T) {
	for _, reason := range []string{"CrashLoopBackOff", "ImagePullBackOff"} {
		app := healthOf(t, v1.PodStatus{ContainerStatuses: waiting("app", reason)})
		init := healthOf(t, v1.PodStatus{
			InitContainerStatuses: waiting("init", reason), ContainerStatuses: waiting("app", "PodInitializing"),
		})
		fmt.Printf("%s: in a container %s, in an init container %s\n", reason, app, init)
		if app != health.HealthStatusDegraded || init != health.HealthStatusProgressing {
			t.Fatal("gitops-engine has changed")
		}
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { tail -5 out.log; exit 1; }
grep "in an init container" out.log
echo "gitops-engine ${engine##*-}: seen as described"
