#!/usr/bin/env bash
# apimachinery 0.37.1: the label selector "app in ()" is valid, and selects the objects whose label app is there and empty.
#
# A script that builds the set from a list builds this one when the list is empty: kubectl delete pods -l "app in ($apps)". One would guess that
# it is refused, as a LabelSelector with the operator In and no values is ("values set can't be empty"), or that it selects nothing, as a
# membership in the empty set should. But the parser reads an empty set as a set of the empty value, and so does "app in (web,)". And
# "app notin ()" does not select everything: it passes over what has an empty label.
#
# Seen: "app in ()" selects app= and neither app=web nor an object without the label; "app notin ()" the opposite.
#
# Needs Go and a network. Prints what is selected, and fails if it changes.
set -euo pipefail

version=0.37.1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

go mod init finding >/dev/null 2>&1
go mod edit "-require=k8s.io/apimachinery@v$version"

cat >labels_test.go <<'GO'
package finding

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// selected tells whether the selector, as kubectl and the API server read it, selects app=, app=web and an object without labels.
func selected(t *testing.T, text string) [3]bool {
	selector, err := labels.Parse(text)
	if err != nil {
		t.Fatal("apimachinery has changed: ", err)
	}
	return [3]bool{selector.Matches(labels.Set{"app": ""}), selector.Matches(labels.Set{"app": "web"}), selector.Matches(labels.Set{})}
}

func TestAnEmptySetHoldsTheEmptyValue(t *testing.T) {
	in, notIn, comma := selected(t, "app in ()"), selected(t, "app notin ()"), selected(t, "app in (web,)")
	_, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn}},
	})
	fmt.Printf("selects app=, app=web, no label: in () %v, notin () %v, in (web,) %v; the same as a LabelSelector is refused: %v\n",
		in, notIn, comma, err != nil)
	if in != [3]bool{true, false, false} || notIn != [3]bool{false, true, true} || comma != [3]bool{true, true, false} || err == nil {
		t.Fatal("apimachinery has changed")
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { tail -5 out.log; exit 1; }
grep "^selects app=" out.log
echo "apimachinery $version: seen as described"
