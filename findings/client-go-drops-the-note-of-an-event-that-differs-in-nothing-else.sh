#!/usr/bin/env bash
# client-go 0.37.1, k8s.io/client-go/tools/events: of events that differ in their note alone, only the first note is ever written.
#
# The recorder of events.k8s.io/v1, which controller-runtime gives to controllers, takes events for one series if type, reason, action, reporter,
# regarding and related are the same. One would guess that the note counts as well, as the message does in the recorder of core/v1
# (k8s.io/client-go/tools/record), or that the series shows the last note. But the second event adds a count of 2 to the first one, and all later
# ones only count in memory, until a refresh some minutes later. So a controller that says "group 1 is released" and "group 2 is released" of the
# same version of an object has told of group 1, twice. An event that names a field (fieldPath of regarding) is another one.
#
# Seen: of three events with the notes "group 1" to "group 3", the recorder of events.k8s.io writes one, "group 1", with a count of 2; with
# different field paths it writes three; the recorder of core/v1 writes three.
#
# Needs Go and a network. Prints what each has written, and fails if that changes.
set -euo pipefail

version=0.37.1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

go mod init finding >/dev/null 2>&1
go mod edit "-require=k8s.io/client-go@v$version" "-require=k8s.io/api@v$version" "-require=k8s.io/apimachinery@v$version"

cat >events_test.go <<'GO'
package finding

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"

	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

func regarding(field string) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "example.com/v1", Kind: "Order", Namespace: "shop", Name: "backend", UID: "1", ResourceVersion: "7", FieldPath: field}
}

// newer returns what the recorder of events.k8s.io has written of three events, some seconds later.
func newer(t *testing.T, field func(i int) string) (notes []string) {
	client := fake.NewClientset()
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	defer broadcaster.Shutdown()
	if err := broadcaster.StartRecordingToSinkWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	recorder := broadcaster.NewRecorder(scheme.Scheme, "finding")
	for i := 1; i <= 3; i++ {
		recorder.Eventf(regarding(field(i)), nil, corev1.EventTypeNormal, "Released", "Release", "group %d", i)
		time.Sleep(time.Second)
	}
	time.Sleep(2 * time.Second)
	list, err := client.EventsV1().Events("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		count := int32(1)
		if e.Series != nil {
			count = e.Series.Count
		}
		notes = append(notes, fmt.Sprintf("%s (%d)", e.Note, count))
	}
	slices.Sort(notes)
	return notes
}

func older(t *testing.T) (notes []string) {
	client := fake.NewClientset()
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "finding"})
	for i := 1; i <= 3; i++ {
		recorder.Eventf(regarding(""), corev1.EventTypeNormal, "Released", "group %d", i)
	}
	time.Sleep(2 * time.Second)
	list, err := client.CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		notes = append(notes, fmt.Sprintf("%s (%d)", e.Message, e.Count))
	}
	slices.Sort(notes)
	return notes
}

func Test(t *testing.T) {
	three := []string{"group 1 (1)", "group 2 (1)", "group 3 (1)"}
	for name, run := range map[string]struct{ got, want []string }{
		"events.k8s.io":                     {newer(t, func(int) string { return "" }), []string{"group 1 (2)"}},
		"events.k8s.io, each about a field": {newer(t, func(i int) string { return fmt.Sprintf("spec.groups[%d]", i) }), three},
		"core/v1":                           {older(t), three},
	} {
		fmt.Printf("%s: %v\n", name, run.got)
		if !slices.Equal(run.got, run.want) {
			t.Errorf("%s: want %v", name, run.want)
		}
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { grep -v '^[IWE][0-9]' out.log | tail -9; exit 1; }
grep '^events.k8s.io\|^core/v1' out.log
echo "client-go $version: seen as described"
