package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/pkg/sequence/inventory"
)

// A list removes one pod, and has yet to publish another: who is told meanwhile that the other must wait is remembered.
func TestAListThatRemovesAPodForgetsNoOther(t *testing.T) {
	e := newEngine()
	gone := makePod("gone", "5").Obj()
	e.ApplyPod(gone)
	tx := &transaction{version: "20"}
	e.removePod(gone.Namespace, gone.Name, gone.UID, tx)
	e.ReportWhenSeen(makePod("listed", "15").Obj())
	assert.Len(t, e.unseen.versions, 1)
	assert.True(t, e.unseen.take("listed"))
}

// What is gone no event brings any more, so it would be remembered for ever.
func TestAPodThatIsGoneIsNotRemembered(t *testing.T) {
	e := newEngine()
	e.ApplyPod(makePod("p", "5").Obj())
	e.RemovePod(makePod("p", "6").Obj())
	e.ReportWhenSeen(makePod("p", "5").Obj())
	assert.Empty(t, e.unseen.versions)
	e.ReportWhenSeen(makePod("another", "7").Obj())
	assert.Len(t, e.unseen.versions, 1, "an event will bring that one")
}

// A Job that turns out to be a hook has its pods looked at anew. That is no event of pods: others from before it may be still to come.
func TestAJobSaysNothingOfPodsThatAreNotSeenYet(t *testing.T) {
	e := newEngine()
	pod := makePod("test", "5").Obj()
	pod.OwnerReferences = []metav1.OwnerReference{controllerRef("batch/v1", "Job", "test", "test")}
	e.ApplyPod(pod)
	job := makeJob("test", "20", 0, 0, "", nil)
	job.Annotations = map[string]string{"helm.sh/hook": "test"}
	require.True(t, inventory.IsUnorderedHook(job.Annotations))
	e.ApplyWorkload(job)
	assert.Equal(t, "5", e.unseen.newest())
	e.ReportWhenSeen(makePod("late", "15").Obj())
	assert.Len(t, e.ApplyPod(makePod("late", "15").Obj()).Released, 1)
}
