#!/usr/bin/env bash
# controller-runtime 0.25.2: an object that is to be reconciled after a while is not, if an event queues it before: the default queue forgets the timer.
#
# A controller asks for a later look by RequeueAfter, or by AddAfter in a handler: when a certificate expires, a wait is over, a lease runs out.
# One would guess that the look comes, whatever happens until then, as with the work queue of client-go, whose interface the queue implements.
# But the priority queue, which controllers have by default, holds one entry for each object with one time, the earliest: an event that queues
# the object at once takes the place of the timer, and an AddAfter for an object that is queued already is dropped. So each reconciliation must
# work out anew when the next one is due, and ask for it again, also if nothing has changed.
#
# Seen: after AddAfter(x, 1 s) and Add(x), and likewise after Add(x) and AddAfter(x, 1 s), the queue of client-go hands x out twice, that of
# controller-runtime once.
#
# Needs Go and a network. Prints how often x was handed out, and fails if that changes.
set -euo pipefail

version=0.25.2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

go mod init finding >/dev/null 2>&1
go mod edit "-require=sigs.k8s.io/controller-runtime@v$version"

cat >queue_test.go <<'GO'
package finding

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// count returns how often the queue hands x out in two seconds.
func count(queue workqueue.TypedRateLimitingInterface[string], add ...func(workqueue.TypedRateLimitingInterface[string])) int32 {
	defer queue.ShutDown()
	for _, add := range add {
		add(queue)
		time.Sleep(100 * time.Millisecond)
	}
	var handedOut atomic.Int32
	go func() {
		for {
			x, shutdown := queue.Get()
			if shutdown {
				return
			}
			handedOut.Add(1)
			queue.Done(x)
		}
	}()
	time.Sleep(2 * time.Second)
	return handedOut.Load()
}

func Test(t *testing.T) {
	now := func(queue workqueue.TypedRateLimitingInterface[string]) { queue.Add("x") }
	later := func(queue workqueue.TypedRateLimitingInterface[string]) { queue.AddAfter("x", time.Second) }
	clientGo := func() workqueue.TypedRateLimitingInterface[string] {
		return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	}
	priority := func() workqueue.TypedRateLimitingInterface[string] { return priorityqueue.New[string]("finding") }

	for _, run := range []struct {
		name string
		got  int32
		want int32
	}{
		{"client-go, later and then now", count(clientGo(), later, now), 2},
		{"client-go, now and then later", count(clientGo(), now, later), 2},
		{"controller-runtime, later and then now", count(priority(), later, now), 1},
		{"controller-runtime, now and then later", count(priority(), now, later), 1},
	} {
		fmt.Printf("%s: handed out %d times\n", run.name, run.got)
		if run.got != run.want {
			t.Errorf("%s: want %d", run.name, run.want)
		}
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { tail -9 out.log; exit 1; }
grep '^client-go\|^controller-runtime' out.log
echo "controller-runtime $version: seen as described"
