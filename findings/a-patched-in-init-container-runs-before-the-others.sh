#!/usr/bin/env bash
# apimachinery 0.37.1: an init container that a strategic merge patch adds runs before all that were there; one that an apply adds, after all.
#
# Init containers run in the order of their list, so this decides what a new one may rely on. One would guess that kubectl patch, which merges
# the list by name, puts a name that is new at its end, as a server-side apply of another field manager does. But the merge keeps the order of
# the list and the order of the patch, and where neither says which of two comes first, it takes the one of the patch. Whoever wants another
# place has to name the init container before it as well: a patch of b and c, where b is there, leaves c behind b.
#
# Seen: from a, b the patch with c makes c, a, b; the patch with b, c makes a, b, c; and the server-side apply of c makes a, b, c.
#
# Needs Go and a network. Prints the orders, and fails if they change.
set -euo pipefail

version=0.37.1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

go mod init finding >/dev/null 2>&1
go mod edit "-require=k8s.io/api@v$version" "-require=k8s.io/apimachinery@v$version" "-require=k8s.io/client-go@v$version"

cat >order_test.go <<'GO'
package finding

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	applyv1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func order(p *v1.Pod) string {
	var names []string
	for _, c := range p.Spec.InitContainers {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// pod has these init containers, and no other field.
func pod(names ...string) *v1.Pod {
	p := &v1.Pod{}
	for _, name := range names {
		p.Spec.InitContainers = append(p.Spec.InitContainers, v1.Container{Name: name, Image: "app"})
	}
	return p
}

// patched is the order after kubectl patch has sent these init containers.
func patched(t *testing.T, names ...string) string {
	before, err := json.Marshal(pod("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	patch, err := json.Marshal(pod(names...))
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, v1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	p := &v1.Pod{}
	if err := json.Unmarshal(after, p); err != nil {
		t.Fatal(err)
	}
	return order(p)
}

// applied is the order after another field manager has applied these init containers. The fake API server merges as the real one does.
func applied(t *testing.T, names ...string) string {
	pods := fake.NewClientset().CoreV1().Pods("default")
	apply := func(manager string, names ...string) *v1.Pod {
		spec := applyv1.PodSpec()
		for _, name := range names {
			spec.WithInitContainers(applyv1.Container().WithName(name).WithImage("app"))
		}
		p, err := pods.Apply(context.Background(), applyv1.Pod("pod", "default").WithSpec(spec), metav1.ApplyOptions{FieldManager: manager})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	apply("owner", "a", "b")
	return order(apply("other", names...))
}

func TestANewInitContainerComesFirst(t *testing.T) {
	alone, behind, apply := patched(t, "c"), patched(t, "b", "c"), applied(t, "c")
	fmt.Printf("from a, b: patched with c: %s; patched with b, c: %s; c applied: %s\n", alone, behind, apply)
	if alone != "c, a, b" || behind != "a, b, c" || apply != "a, b, c" {
		t.Fatal("apimachinery has changed")
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { tail -5 out.log; exit 1; }
grep "^from a, b" out.log
echo "apimachinery $version: seen as described"
