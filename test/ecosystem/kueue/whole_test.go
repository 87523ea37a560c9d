package kueue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	. "example.com/podsequence/test/harness/builders"
)

// stop stops the queue, or starts it again. Nobody but the owner of a Workload gives back quota that was taken from it, and those of these
// stories have none.
func (s *story) stop(policy string) {
	s.Helper()
	s.Patch(s.object("ClusterQueue", s.queue), map[string]any{"spec": map[string]any{"stopPolicy": policy}})
}

// whole creates a Workload that is admitted as a whole, with pods of two labels.
func (s *story) whole(name, app, other string) {
	s.Helper()
	set := func(app string) string {
		return fmt.Sprintf(`
  - name: %[1]s
    count: 1
    template:
      metadata: {labels: {app: %[1]s}}
      spec:
        schedulerName: podsequence-scheduler
        restartPolicy: Never
        containers: [{name: main, image: registry.k8s.io/pause, resources: {requests: {cpu: 500m}}}]`, app)
	}
	s.apply(`
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: ` + name + `}
spec:
  queueName: queue
  podSets:` + set(app) + set(other))
}

// A head and its workers are admitted together, when it is the turn of the head.
func TestAWorkloadDoesNotWaitForItsOwnPods(t *testing.T) {
	s := newStory(t, bestEffort, ours)
	s.Create(MakeSequence(s.Namespace, "shop").
		Label("Database", "app", "db").Complete().Label("Head", "app", "head").Label("Workers", "app", "worker").Obj())
	s.stop("Hold")
	s.whole("ray", "worker", "head")
	s.awaitWorkload("ray", "held", checkSays("Retry"))
	s.stop("None")
	s.job("db")
	s.awaitComplete("db")
	s.awaitWorkload("ray", "admitted", admitted)
}

func TestWorkloadsThatWaitForEachOtherAreReported(t *testing.T) {
	s := newStory(t, bestEffort, ours)
	s.Create(
		MakeSequence(s.Namespace, "one").Label("A", "app", "a").Label("B", "app", "b").Obj(),
		MakeSequence(s.Namespace, "two").Label("C", "app", "c").Label("D", "app", "d").Obj(),
	)
	s.stop("Hold")
	s.whole("left", "b", "c")
	held := s.awaitWorkload("left", "held", checkSays("Retry"))
	assert.NotContains(t, held.check().Message, "in turn")
	s.whole("right", "d", "a")
	for name, other := range map[string]string{"left": "right", "right": "left"} {
		w := s.awaitWorkload(name, "reported", func(w *workload) bool { return strings.Contains(w.check().Message, "in turn") })
		assert.Equal(t, "Retry", w.check().State)
		assert.Contains(t, w.check().Message, "as a whole: "+other+".")
	}
	s.Await("an event", func() bool {
		for _, event := range s.Events("left") {
			if event.Reason == "WorkloadsWaitForEachOther" {
				return true
			}
		}
		return false
	})
}
