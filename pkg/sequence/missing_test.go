package sequence

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// requiring is the namespace of the tests, which requires that sequences have its pods, or does not.
func requiring(required, version string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: oracleNamespace, ResourceVersion: version, Annotations: map[string]string{v1alpha1.RequireSequenceAnnotation: required},
	}}
}

func TestAPodThatTheEngineDoesNotKnowWaitsForItsSequence(t *testing.T) {
	shop := MakeSequence(oracleNamespace, "shop").UID("shop").Pods("Only", "one").Obj()
	named := makePod("named", "5").SchedulerName(oracleScheduler).Label(v1alpha1.SequenceLabel, "shop").Obj()
	plain := makePod("plain", "6").SchedulerName(oracleScheduler).Obj()
	e := newEngine()
	assert.False(t, e.Verdict(plain).Held)
	assert.True(t, e.Verdict(named).Held)
	e.ApplySequence(shop)
	assert.False(t, e.Verdict(named).Held)
	e.ApplyNamespace(requiring("true", "7"))
	assert.True(t, e.Verdict(plain).Held)
	assert.True(t, e.Verdict(named).Held, "the sequence exists, but does not select the pod")
	assert.Len(t, e.ApplyNamespace(requiring("false", "8")).Released, 0, "the engine does not know the pods yet")
	assert.Len(t, e.ApplyPod(plain).Released, 1, "it was held, so its release is reported")
}

func TestAPodIsReportedWhenItWaitsForASequenceAndWhenItDoesNot(t *testing.T) {
	e := newEngine()
	assert.Len(t, e.ApplyPod(makePod("named", "5").SchedulerName(oracleScheduler).Label(v1alpha1.SequenceLabel, "shop").Obj()).Held, 1)
	assert.Len(t, e.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("Only", "one").Obj()).Released, 1)
	assert.Len(t, e.RemoveSequence(shopKey, "6").Held, 1)
	assert.Len(t, e.KindInstalled(false).Released, 1)
	assert.Empty(t, e.KindInstalled(false).Released)
	assert.Len(t, e.KindInstalled(true).Held, 1)
}

// A namespace that no longer requires a sequence may be selected by one from the same moment on. Readers see the former first.
func TestAHeldPodIsHeldUntilItsReleaseIsPublished(t *testing.T) {
	e := newEngine()
	plain := makePod("plain", "6").SchedulerName(oracleScheduler).Obj()
	e.ApplyPod(plain)
	e.ApplyNamespace(requiring("true", "7"))
	e.published.existing.setNamespace(oracleNamespace, false)
	assert.True(t, e.Verdict(plain).Held)
	assert.Len(t, e.ApplyNamespace(requiring("true", "8")).Held, 0, "it was held all the time")
}

// A pod that names a sequence is held while the sequence is not there, and by the sequence while it is. A reader must never see a moment
// at which neither holds it.
func TestNoReaderSeesAMomentBetweenASequenceAndNone(t *testing.T) {
	shop := MakeSequence(oracleNamespace, "shop").UID("shop").Pods("First", "never").Label("Second", "tier", "web").Obj()
	named := makePod("web", "5").SchedulerName(oracleScheduler).Label(v1alpha1.SequenceLabel, "shop").Label("tier", "web").Obj()
	e := newEngine()
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if !assert.True(t, e.Verdict(named).Held) {
					return
				}
			}
		})
	}
	for range 3000 {
		e.ApplySequence(shop)
		e.RemoveSequence(shopKey, "")
	}
	close(done)
	readers.Wait()
}
