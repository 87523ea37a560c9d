#!/usr/bin/env bash
# kube-scheduler 1.37.1: whenever a pod is bound, the scheduling queue asks of each unschedulable pod whether that helps it, while it is locked.
#
# One would guess that a binding costs the queue nothing for pods that it cannot help: their plugin, here NodeAffinity, has not asked for events
# of bound pods. But the queue compares the event with all events that any plugin of the profile asks for, anew for each of these pods (see
# isPodWorthRequeuing in pkg/scheduler/backend/queue/scheduling_queue.go). So 10,000 pods that fit on no node hold up each binding of another
# pod. Pods with a scheduling gate are passed over.
#
# Seen on two processors: 1.3 ms beside 1,000 unschedulable pods, 50 ms beside 10,000, and 1 ms beside 10,000 with a gate. So a scheduler beside
# which 10,000 pods wait for a taint to go binds 20 pods a second.
#
# Needs Go and a network. Prints what it measures, and fails if a binding costs less than five times as much beside ten times as many
# unschedulable pods, or beside as many with a gate.
set -euo pipefail

version=1.37.1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

go mod init finding >/dev/null 2>&1
mod=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
edits=("-require=k8s.io/kubernetes@v$version")
for module in $(sed -n 's/^[[:space:]]*\(k8s\.io\/[a-z-]*\) v0\.0\.0$/\1/p' "$mod" | sort -u); do
  edits+=("-replace=$module=$module@v0.${version#1.}")
done
go mod edit "${edits[@]}"

cat >queue_test.go <<'GO'
package finding

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

func pod(name string, change func(*v1.PodSpec)) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec:       v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Containers: []v1.Container{{Name: "app", Image: "app"}}},
	}
	change(&p.Spec)
	return p
}

// eventTakes returns how long the queue takes for a pod that was bound, at best, while so many others wait in it.
func eventTakes(t *testing.T, waiting int, change func(*v1.PodSpec), attempts int) time.Duration {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset()
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	s, err := scheduler.New(ctx, client, informers.NewSharedInformerFactory(client, 0), nil, profile.NewRecorderFactory(broadcaster))
	if err != nil {
		t.Fatal(err)
	}
	logger := klog.FromContext(ctx)
	s.Cache.AddNode(logger, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
	s.FailureHandler = func(ctx context.Context, _ framework.Framework, p *framework.QueuedPodInfo, status *fwk.Status, _ *fwk.NominatingInfo, _ time.Time) {
		if fit, ok := status.AsError().(*framework.FitError); ok {
			p.UnschedulablePlugins = fit.Diagnosis.UnschedulablePlugins
		}
		if err := s.SchedulingQueue.AddUnschedulablePodIfNotPresent(logger, p, s.SchedulingQueue.SchedulingCycle()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range waiting {
		s.SchedulingQueue.Add(ctx, pod(fmt.Sprint("waiting-", i), change))
	}
	for range attempts {
		s.ScheduleOne(ctx)
	}
	if pending, summary := s.SchedulingQueue.PendingPods(); len(pending) != waiting {
		t.Fatal(summary)
	}
	best := time.Hour
	for range 20 {
		begin := time.Now()
		s.SchedulingQueue.MoveAllToActiveOrBackoffQueue(logger, framework.EventAssignedPodAdd, nil, pod("bound", func(*v1.PodSpec) {}), nil)
		best = min(best, time.Since(begin))
	}
	return best
}

func TestABindingCostsForEachUnschedulablePod(t *testing.T) {
	nowhere := func(s *v1.PodSpec) { s.NodeSelector = map[string]string{"disk": "none"} }
	gated := func(s *v1.PodSpec) { s.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/gate"}} }
	few, many := eventTakes(t, 1000, nowhere, 1000), eventTakes(t, 10000, nowhere, 10000)
	held := eventTakes(t, 10000, gated, 0)
	fmt.Printf("one bound pod takes the queue %v beside 1,000 unschedulable pods, %v beside 10,000, and %v beside 10,000 with a gate\n", few, many, held)
	if many < 5*few || many < 5*held {
		t.Fatal("kube-scheduler has changed")
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v -timeout 20m ./... >out.log 2>&1 || { tail -5 out.log; exit 1; }
grep "^one bound pod" out.log
echo "kube-scheduler $version: seen as described"
