package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

// The scheduler writes to a pod that it cannot place. Were the pod let go at that update, it would be tried again at
// once, and so for ever.
func TestAPodThatNothingHasChangedForIsNotLetGoAgain(t *testing.T) {
	engine := fleet(3)
	update := func(version string) Changes {
		return engine.ApplyPod(makePod("app-0", version).Label("tier", "app").Condition(corev1.PodScheduled, corev1.ConditionFalse, version).Obj())
	}
	assert.Empty(t, update("2").Released)
	assert.Empty(t, update("3").Released)

	moved := makePod("app-0", "4").Label("tier", "app").Toleration("anything").Obj()
	assert.Len(t, engine.ApplyPod(moved).Released, 1, "now other nodes may suit it")
}
